"""The assistant's own tools."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from google.adk.tools.tool_context import ToolContext

from oda import idempotent

from .arithmetic import evaluate

_NOTES = "user:notes"
"""State key: a user's notes are there in all of their conversations."""

_MAX_NOTES = 100


@idempotent
def current_time(timezone: str = "UTC") -> dict[str, str]:
    """Tell the date and time in a time zone.

    Args:
        timezone: IANA name, such as Asia/Shanghai or Europe/Berlin.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        return {"error": f"There is no time zone {timezone!r}; use an IANA name."}
    now = datetime.now(zone)
    return {"timezone": timezone, "time": now.isoformat(timespec="seconds"), "day": f"{now:%A}"}


@idempotent
def calculate(expression: str) -> dict[str, float | int | str]:
    """Calculate an arithmetic expression exactly.

    Args:
        expression: Numbers, brackets and + - * / // % **, such as "(3 + 4) * 2".
    """
    try:
        return {"expression": expression, "value": evaluate(expression)}
    except (ValueError, ArithmeticError) as error:
        return {"error": str(error)}


@idempotent
def take_note(title: str, text: str, tool_context: ToolContext) -> dict[str, str]:
    """Remember something for the user; a note of the same title is replaced.

    Args:
        title: A few words to find it by.
        text: What to remember.
    """
    notes: dict[str, str] = dict(tool_context.state.get(_NOTES) or {})
    notes[title] = text
    if len(notes) > _MAX_NOTES:
        return {"error": f"There are {_MAX_NOTES} notes already; the user must drop some."}
    tool_context.state[_NOTES] = notes
    return {"noted": title}


@idempotent
def read_notes(tool_context: ToolContext) -> dict[str, dict[str, str]]:
    """Read everything that was noted for the user."""
    return {"notes": dict(tool_context.state.get(_NOTES) or {})}
