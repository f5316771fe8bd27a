"""Restrictions that a process applies to itself before it runs code, if no one else can apply them.

The source is executed inside the process: Landlock restricts its files, a filter its system calls.
Neither can be removed again.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from oda.confinement import Confinement

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 24, 38, 22
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_EVERY_RIGHT = {1: 13, 2: 14, 3: 15, 4: 15}
"""Number of file access rights known to each Landlock version; later versions know 16."""

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_DIR
_OF_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_WRITE |= _REFER | _TRUNCATE
_TCP = 0b11
_SCOPES = 0b11
"""Denies abstract unix sockets and signals to processes outside."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def landlock_version() -> int:
    """Return the kernel's Landlock version; less than 1 if it has none."""
    return int(
        _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    )


def confine(confinement: Confinement) -> None:
    """Apply the confinement to this process, irrevocably.

    Raises:
        OSError: the kernel refuses.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    ruleset = _ruleset(confinement["readable"], confinement["writable"])
    _drop_capabilities()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    os.close(ruleset)
    instructions = confinement["filter"]
    program = _Filter(len(instructions) // 8, instructions)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _ruleset(readable: Sequence[str], writable: Sequence[str]) -> int:
    version = landlock_version()
    handled = (1 << _EVERY_RIGHT.get(version, 16)) - 1
    attributes = _Ruleset(handled, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _syscall(
        _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint(0)
    )
    for paths, rights in ((readable, _READ), (writable, _WRITE)):
        for path in paths:
            _allow(ruleset, path, rights & handled)
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, handle)
        _syscall(
            _ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint(0),
        )
    finally:
        os.close(handle)


def _drop_capabilities() -> None:
    """Drop the capabilities of root: it keeps its own files and nothing else."""
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    if _libc.capset(ctypes.byref(header), ctypes.byref(none)) != 0:
        raise _failure("capset")


def _prctl(option: int, value: int, more: int = 0) -> None:
    arguments = (ctypes.c_ulong(each) for each in (value, more, 0, 0))
    if _libc.prctl(ctypes.c_int(option), *arguments) != 0:
        raise _failure(f"prctl {option}")


def _syscall(number: int, *arguments: object) -> int:
    answer = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if answer < 0:
        raise _failure(f"system call {number}")
    return answer


def _failure(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
