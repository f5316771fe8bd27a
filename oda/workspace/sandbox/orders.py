"""Instructions for a run: plain values in marshal's format."""

import marshal
import resource
from typing import Any, TypedDict, cast

from oda.confinement import Confinement
from oda.workspace.sandbox.sandbox import SandboxLimits

_PENDING_SIGNALS = 1024
"""All processes of the user draw on one stock of them."""

_FORMAT = 2
"""The version of the format that each interpreter of Python 3 reads."""


class Orders(TypedDict):
    """The data passed to `boot.py`."""

    main: str
    modules: dict[str, str]
    arguments: list[str]
    limits: list[tuple[int, int, int]]
    """Kind, soft, hard."""
    environment: dict[str, str]
    files: dict[str, str]
    """To write before the code begins: content by name, in folders that are made."""
    site_packages: list[str]
    bytecode: str | None
    """Directory of the bytecode of installed packages; None if it is next to the sources."""
    font: list[str]
    """A file, and the names under which charts find it; empty for none."""
    confinement: Confinement | None


def resource_limits(limits: SandboxLimits) -> list[tuple[int, int, int]]:
    """Return the kernel limits of a process. At the soft CPU limit it is signalled, then killed."""
    file_bytes = min(limits.file_bytes, limits.quota_bytes)
    return [
        (resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1),
        (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files, limits.open_files),
        (resource.RLIMIT_CORE, 1, 1),  # if dumps go to a program, a limit of 0 does not stop them
        (resource.RLIMIT_SIGPENDING, _PENDING_SIGNALS, _PENDING_SIGNALS),
        (resource.RLIMIT_RTPRIO, 0, 0),
        (resource.RLIMIT_NICE, 0, 0),
    ]


def packed(orders: Orders) -> bytes:
    """As they are sent."""
    return marshal.dumps(cast("dict[str, Any]", orders), _FORMAT)
