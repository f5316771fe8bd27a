"""The clerk behind A2A, in a process of its own, streaming its answers.

`python -m tests.support.a2a_clerk` prints its URL, then serves.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from sys import executable
from typing import Any

import uvicorn
from google.adk.a2a.converters.request_converter import (
    AgentRunRequest,
    convert_a2a_request_to_agent_run_request,
)
from google.adk.a2a.executor.a2a_agent_executor import A2aAgentExecutor
from google.adk.a2a.executor.config import A2aAgentExecutorConfig
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner

from tests.support.clerk import clerk_agent


@contextmanager
def served_clerk() -> Iterator[str]:
    """The URL of a clerk that is served while this is open."""
    with Popen([executable, "-W", "ignore", "-m", __name__], stdout=PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _streaming(request: Any, part_converter: Any) -> AgentRunRequest:
    run = convert_a2a_request_to_agent_run_request(request, part_converter)
    run.run_config = RunConfig(streaming_mode=StreamingMode.SSE)
    return run


def _executor(runner: Runner) -> A2aAgentExecutor:
    config = A2aAgentExecutorConfig(request_converter=_streaming)
    return A2aAgentExecutor(runner=runner, config=config, force_new_version=True)


def _serve() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = to_a2a(clerk_agent(), host="127.0.0.1", port=port, agent_executor_factory=_executor)
    print(f"http://127.0.0.1:{port}", flush=True)
    config = uvicorn.Config(app, log_level="critical")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _serve()
