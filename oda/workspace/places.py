"""Location of a run's workspace below the common directory. Pure."""

import hashlib
import re

Place = str
"""`<session>/<run>`, each as `folder_of` names it."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_HASHED = re.compile(r"~[0-9a-f]{40}")


def place_of(session_id: str, run_id: str) -> Place:
    """The place of a run."""
    return f"{folder_of(session_id)}/{folder_of(run_id)}"


def folder_of(name: str) -> str:
    """The folder of a session or a run: its id where that is a plain word, else a hash of it."""
    if _PLAIN.fullmatch(name):
        return name
    return f"~{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:40]}"


def may_be_ours(folder: str) -> bool:
    """Return whether `folder_of` may have produced this name."""
    return bool(_PLAIN.fullmatch(folder) or _HASHED.fullmatch(folder))
