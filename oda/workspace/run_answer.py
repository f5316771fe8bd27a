"""The message to a model about a run of its code. Pure."""

from collections.abc import Mapping
from typing import Any

from oda.workspace.sandbox.sandbox import Ending, RunResult

_MOST_FILES = 300
_ENDINGS: Mapping[Ending, str] = {
    "exited": "",
    "timed_out": "[stopped: it ran too long]",
    "output_limit": "[stopped: it printed too much]",
    "cpu_limit": "[stopped: it computed too long]",
    "killed": "[killed by the system: it may have used too much memory]",
}


def run_answer(result: RunResult, *, max_chars: int) -> dict[str, Any]:
    """The fields of the specification; `left_behind` only where something was.

    Args:
        result: Of the sandbox.
        max_chars: Most characters of stdout and stderr together.
    """
    stdout, is_stdout_cut = _middle_left_out(result.stdout, max_chars // 2)
    stderr, is_stderr_cut = _middle_left_out(result.stderr, max_chars // 2)
    answer: dict[str, Any] = {
        "exit_code": result.exit_code,
        "stdout": stdout,
        "stderr": _with_note(stderr, _ENDINGS[result.ending]),
        "files": list(result.files[:_MOST_FILES]),
        "timed_out": result.ending in ("timed_out", "cpu_limit"),
        "truncated": result.truncated
        or is_stdout_cut
        or is_stderr_cut
        or len(result.files) > _MOST_FILES,
    }
    if result.left_behind:
        answer["left_behind"] = [
            {"path": one.path, "reason": one.reason} for one in result.left_behind[:_MOST_FILES]
        ]
    return answer


def _with_note(text: str, note: str) -> str:
    separator = "\n" if note and text and not text.endswith("\n") else ""
    return f"{text}{separator}{note}"


def _middle_left_out(text: str, max_chars: int) -> tuple[str, bool]:
    """Return the beginning and the end (with the errors), and whether anything is missing."""
    if len(text) <= max_chars:
        return text, False
    half = max_chars // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… [{left_out} characters left out] …\n{text[-half:]}", True
