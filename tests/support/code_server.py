"""A provider of remote code execution: runs code that is posted to it in a sandbox of its own.

    python -m tests.support.code_server

It prints its URL. `RemoteExecutor` is its ADK code executor.
"""

import asyncio
import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)

from oda.clock import SystemClock
from oda.settings import WorkspaceSettings
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.python_environment import python_environment
from oda.workspace.sandbox.sandbox import Program, SandboxLimits
from oda.workspace.workspaces import Workspaces


class RemoteExecutor(BaseCodeExecutor):
    """Posts code, and files unless it `takes_only_code`."""

    url: str
    takes_only_code: bool = False

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        files = [] if self.takes_only_code else code_execution_input.input_files
        asked = {"code": code_execution_input.code, "files": [asdict(file) for file in files]}
        answer = httpx.post(self.url, json=asked, timeout=30).raise_for_status().json()
        left = [] if self.takes_only_code else answer["files"]
        return CodeExecutionResult(
            stdout=answer["stdout"],
            stderr=answer["stderr"],
            exit_code=answer["exit_code"],
            output_files=[File(**file) for file in left],
        )


@contextmanager
def code_server() -> Iterator[str]:
    """The URL of one that runs in a process of its own."""
    command = [sys.executable, "-m", "tests.support.code_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(asyncio.run(_answer(asked))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


async def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        workspaces = Workspaces(Path(directory), WorkspaceSettings(), SystemClock())
        async with await workspaces.open("session", "run") as workspace:
            for file in asked["files"]:
                await workspace.write(file["name"], base64.b64decode(file["content"]))
            sandbox = BubblewrapSandbox(python_environment())
            result = await sandbox.run(Program(asked["code"]), workspace, SandboxLimits())
            files = [
                {"name": path, "content": base64.b64encode(await workspace.read(path)).decode()}
                for path in result.files
            ]
    told = {"stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code}
    return {**told, "files": files}


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
