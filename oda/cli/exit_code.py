"""Exit codes of the commands."""

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oda.agent.outcome import Outcome


class ExitCode(IntEnum):
    """Exit codes of `oda`, each with its meaning."""

    meaning: str

    OK = 0, "answered, or all is well"
    FAILED = 1, "the turn or a check failed"
    NOT_STARTED = 2, "wrong usage or configuration, or something needed cannot be reached"
    WAITING = 3, "the turn waits for a person (oda chat AGENT --session ID asks)"
    CANCELLED = 4, "the turn was cancelled"
    INTERNAL = 70, "an error that nobody foresaw"
    INTERRUPTED = 130, "interrupted by Ctrl-C"

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    @classmethod
    def of_turn(cls, status: "Outcome") -> "ExitCode":
        """The code for how a turn ended."""
        return _BY_STATUS[status]


_BY_STATUS: dict["Outcome", ExitCode] = {
    "succeeded": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "waiting_input": ExitCode.WAITING,
    "cancelled": ExitCode.CANCELLED,
}

SUMMARY = "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."
"""For `--help`."""
