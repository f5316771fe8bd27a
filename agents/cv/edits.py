"""The edits that can be undone, each under a key of its own.

An edit is stored with the event that makes it, and events are loaded with every turn: if each held
the whole list, a turn would cost the more the more can be undone. So they stand in a ring of slots,
and an event holds one of them.

cv_history   {"begin", "end"}: which edits there are, counted from the session's first
cv_edit_N    the edit whose number leaves N when divided by the number of slots
"""

from collections.abc import Sequence
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from mcp_tools.resume import EditRecord
from mcp_tools.resume.history import HISTORY_LIMIT

HISTORY_KEY = "cv_history"
_SLOT_KEY = "cv_edit_{}"
_EDIT: TypeAdapter[EditRecord] = TypeAdapter(EditRecord)


class State(Protocol):
    """The part of ADK's session state that is used here."""

    def get(self, key: str, /) -> object: ...

    def __setitem__(self, key: str, value: object, /) -> None: ...


def read_edits(state: State) -> list[EditRecord]:
    """The edits, oldest first; none when what is stored is no history."""
    begin, end = _range(state)
    try:
        return [_EDIT.validate_python(state.get(_slot(number))) for number in range(begin, end)]
    except ValidationError:
        return []


def write_edits(state: State, edits: Sequence[EditRecord], *, most: int) -> None:
    """Store edits, at most the `most` latest; what is stored already is not written again."""
    kept, stored = list(edits)[-most:], read_edits(state)
    _, end = _range(state)
    if kept and kept[:-1] == stored[len(stored) - len(kept) + 1 :]:
        state[_slot(end)] = kept[-1]
        end += 1
    elif kept and kept == stored[-len(kept) - 1 : -1]:
        end -= 1
    elif kept and kept[:-1] == stored[-len(kept) : -1]:
        state[_slot(end - 1)] = kept[-1]  # an edit that was added to the last one
    else:
        for number, edit in enumerate(kept, start=end):
            state[_slot(number)] = edit
        end += len(kept)
    state[HISTORY_KEY] = {"begin": end - len(kept), "end": end}


def _range(state: State) -> tuple[int, int]:
    stored = state.get(HISTORY_KEY)
    found = stored if isinstance(stored, dict) else {}
    begin, end = found.get("begin"), found.get("end")
    if isinstance(begin, int) and isinstance(end, int) and 0 <= end - begin <= HISTORY_LIMIT:
        return begin, end
    return 0, 0


def _slot(number: int) -> str:
    return _SLOT_KEY.format(number % HISTORY_LIMIT)
