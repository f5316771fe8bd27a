"""Requests to an ADK code executor and its answers. Pure, except that it reads our own source."""

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from google.adk.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from pydantic import Base64Bytes, BaseModel, ValidationError

from oda.workspace.media_types import media_type
from oda.workspace.sandbox.inside import source_of
from oda.workspace.sandbox.sandbox import Program


@dataclass(frozen=True)
class Outcome:
    """The answer of an executor; untrusted."""

    stdout: str
    stderr: str
    exit_code: int
    """Exit code; if none was reported, output on stderr counts as failure, as in ADK."""
    files: Mapping[str, bytes]


class _Left(BaseModel):
    """The last line of `carrier.py`."""

    files: dict[str, Base64Bytes]
    exit_code: int


def request(
    program: Program, files: Mapping[str, bytes], *, marker: str | None
) -> CodeExecutionInput:
    """The code to execute, with files beside it; in it if there is a marker for those it leaves."""
    if marker is not None:
        return CodeExecutionInput(_carried(program, files, marker))
    plain = not program.modules and not program.arguments
    return CodeExecutionInput(
        program.main if plain else _carried(program, {}, None),
        [
            File(path, b64encode(content).decode(), media_type(path))
            for path, content in files.items()
        ],
    )


def _carried(program: Program, files: Mapping[str, bytes], marker: str | None) -> str:
    given = {
        "main": program.main,
        "modules": dict(program.modules),
        "arguments": list(program.arguments),
        "files": {path: b64encode(content).decode() for path, content in files.items()},
        "marker": marker,
    }
    return f"{source_of('carrier')}\n\nmain(json.loads({json.dumps(given)!r}))\n"


def outcome(result: CodeExecutionResult, *, marker: str | None) -> Outcome:
    """Return the outcome of a request that was made with the same marker."""
    stdout, exit_code = result.stdout, result.exit_code
    files = {file.name: _bytes(file.content) for file in result.output_files}
    if marker is not None:
        printed, _, last = stdout.rpartition(f"\n{marker}")
        try:
            left = _Left.model_validate_json(last)
        except ValidationError:
            pass
        else:
            stdout, exit_code, files = printed, left.exit_code, left.files
    if exit_code is None:
        exit_code = 1 if result.stderr else 0
    return Outcome(stdout, result.stderr, exit_code, files)


def _bytes(content: str | bytes) -> bytes:
    """Return the content of a file: bytes as they are, text decoded from base64 if possible."""
    if isinstance(content, bytes):
        return content
    try:
        return b64decode(content, validate=True)
    except binascii.Error:
        return content.encode()
