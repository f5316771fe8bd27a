"""Which paths may name something in a workspace. Pure: nothing is looked up."""

import re
import unicodedata

from oda.errors import PathRefusedError

RESERVED = ".oda-"
"""How names begin that belong to the workspace itself; they are neither shown nor taken."""

MAX_CHARS = 512
MAX_NAMES = 16
MAX_NAME_BYTES = 200

_REMEDY = "use a path relative to the workspace, such as output/report.html"
_SHOWN_CHARS = 80
_DRIVE = re.compile(r"[A-Za-z]:")


def names_of(path: str) -> tuple[str, ...]:
    """The names of a path, from the workspace down; none for the workspace itself.

    Slashes separate names; empty names and `.` count for nothing.

    Raises:
        PathRefusedError: it leads elsewhere, or has a name that systems may understand differently.
    """
    if not isinstance(path, str):
        raise PathRefusedError("A path must be a text.", remedy=_REMEDY)
    if reason := _fault_of_path(path):
        raise PathRefusedError(f"The path {shown(path)} {reason}.", remedy=_REMEDY)
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    reason = next(filter(None, map(_fault_of_name, names)), None)
    if len(names) > MAX_NAMES:
        reason = f"has more than {MAX_NAMES} names"
    if reason:
        raise PathRefusedError(f"The path {shown(path)} {reason}.", remedy=_REMEDY)
    return names


def shown(path: str) -> str:
    """Return a path for messages: shortened, with invisible characters escaped."""
    cut = path if len(path) <= _SHOWN_CHARS else f"{path[:_SHOWN_CHARS]}…"
    return ascii(cut) if not cut.isprintable() else repr(cut)


def _fault_of_path(path: str) -> str | None:
    if len(path) > MAX_CHARS:
        return f"is longer than {MAX_CHARS} characters"
    if not path.isprintable():
        return "has characters that nobody sees"
    if "\N{REPLACEMENT CHARACTER}" in path:
        return "has a character in the place of one that was lost (U+FFFD)"
    if path.startswith("/"):
        return "is absolute"
    if "\\" in path:
        return "has a backslash"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode's composed form (NFC)"
    return None


def _fault_of_name(name: str) -> str | None:
    if name == "..":
        return "leads out of its folder with '..'"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"has a name of more than {MAX_NAME_BYTES} bytes"
    if name != name.strip() or name.endswith("."):
        return "has a name with a space at an end, or a dot at its end"
    if _DRIVE.match(name):
        return "names a drive"
    if name.casefold().startswith(RESERVED):
        return f"has a name that begins with {RESERVED}"
    plain = unicodedata.normalize("NFKC", name)
    if plain in (".", "..") or "/" in plain or "\\" in plain:
        return "has a name that looks like another path"
    return None
