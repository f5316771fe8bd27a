"""Versions of agents' definitions, which turns record."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

_SHOWN = 12
"""Hexadecimal digits of a hash."""
_CACHES = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True)
class AgentVersion:
    """Version of an agent's definition."""

    name: str
    pinned: bool
    """Whether a turn that began with it waits for a process that has it."""


def hash_of(agent: Path) -> str:
    """Return a hash of an agent's folder, or of its file. Blocking.

    Hidden files and caches do not count. The same files have the same hash on every machine.
    """
    digest = hashlib.sha256()
    for file in _files_of(agent):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(agent.parent).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:_SHOWN]


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = []
    for child in sorted(path.iterdir()):
        if not child.name.startswith(".") and child.name not in _CACHES:
            found += _files_of(child)
    return found
