"""Versions of agents' definitions, which turns record."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
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

    Hidden files, caches and what is no file do not count. The same files have the same hash on
    every machine.
    """
    digest = hashlib.sha256()
    for file in _files_of(agent):
        content = ""
        with suppress(OSError), file.open("rb") as opened:  # one that cannot be read has a name
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        digest.update(f"{file.relative_to(agent.parent).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:_SHOWN]


def _files_of(agent: Path) -> Iterator[Path]:
    if agent.is_file():
        yield agent
    for directory, subdirectories, names in os.walk(agent):
        subdirectories[:] = sorted(filter(_counts, subdirectories))
        for name in sorted(filter(_counts, names)):
            if (file := Path(directory, name)).is_file():
                yield file


def _counts(name: str) -> bool:
    return not name.startswith(".") and name not in _CACHES
