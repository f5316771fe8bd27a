"""What a command tells the program that called it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `oda`."""

    OK = 0
    """The message was answered; the checks found nothing wrong."""
    FAILED = 1
    """The turn failed, or a check did."""
    NOT_STARTED = 2
    """Wrong usage or configuration, or something that is needed cannot be reached."""
    WAITING = 3
    """The turn waits for a person; `oda chat AGENT --session ID` asks."""
    CANCELLED = 4
    """The turn was cancelled."""
    INTERNAL = 70
    """An error in oda or in an agent that nobody foresaw."""
    INTERRUPTED = 130
    """Ctrl-C."""


SUMMARY = (
    "Exit codes: 0 answered or all well, 1 the turn or a check failed, 2 wrong usage or "
    "configuration or something needed cannot be reached, 3 the turn waits for a person, "
    "4 cancelled, 70 internal error, 130 interrupted."
)
"""For `--help`."""
