"""Confinement of a Linux process: its files by Landlock, its system calls by a filter.

The package depends neither on `oda` nor on any domain, so that `oda`'s sandboxes and `mcp_tools`,
which read untrusted files, are confined by the same rules.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypedDict

from oda.confinement import landlock, system
from oda.confinement.seccomp import assemble, rules_among_others, this_machine

_SOURCES = ("/dev/random", "/dev/urandom")
_SINK = "/dev/null"


class Confinement(TypedDict):
    """Restrictions that a process applies with `landlock.confine` before it runs code."""

    source: str
    """The source of `landlock.py`, which the process executes."""
    readable: list[str]
    writable: list[str]
    filter: bytes
    """The system call filter, see `seccomp.assemble`."""


def confinement_among_others(
    pid: int, *, readable: Iterable[Path], writable: Iterable[Path] = ()
) -> Confinement:
    """Return a confinement of a process to these paths and the system's libraries.

    The process gets no network.

    The process shares the host's process ids but cannot access other processes: `/proc` is closed
    to it.

    Raises:
        OSError: there is no filter for this machine's architecture.
    """
    system_paths = (*system.FOLDERS, *system.ROOT_FOLDERS, *system.FILES)
    return {
        "source": _source(),
        "readable": [*_SOURCES, *map(str, (*system_paths, *readable))],
        "writable": [_SINK, *map(str, writable)],
        "filter": assemble(rules_among_others(pid), this_machine()),
    }


@cache
def _source() -> str:
    return Path(landlock.__file__).read_text(encoding="utf-8")
