"""The hard facts that a change of a resume would write down, compared with what is known."""

from collections.abc import Iterable

from mcp_tools.resume.patch import Operation

from .claims import NESTED, unsaid
from .known import Known


def unsaid_by(changes: Iterable[Operation], known: Known) -> list[str]:
    """Return the facts in the new values of a patch that are not known, each once."""
    found = (
        fact
        for change in changes
        for fact in unsaid(*_place(change["path"]), change.get("value"), known)
    )
    return list(dict.fromkeys(found))


def _place(pointer: str) -> tuple[str, str | None]:
    """Return the parent of the value at a JSON pointer and its field name.

    None for whole entries.
    """
    steps = [step for step in pointer.split("/") if step]
    names = [step for step in steps if not step.isdigit()]
    if len(names) < 2:
        return (names or [""])[0], None
    if names[-1] in NESTED:
        return names[-1], None
    return names[-2], names[-1]
