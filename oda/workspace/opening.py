"""Two ways to open paths below an open directory without following links."""

import ctypes
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

Opener = Callable[[int, Sequence[str], int], int]
"""From an open directory: opens names, each in the one before, with flags of `os.open`.

It fails with an `OSError` where one of them is a link, or lies on another file system. No names
mean the directory itself; `..` must not be among them.
"""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
"""Flags that open a directory only."""

_OPENAT2 = 437
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RENAMED_MEANWHILE = 1000
"""How often it is tried again when the kernel sees names change while it looks."""


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@contextmanager
def closing(handle: int) -> Iterator[int]:
    """Close it in the end."""
    try:
        yield handle
    finally:
        os.close(handle)


def open_at_once(directory: int, names: Sequence[str], flags: int) -> int:
    """Let the kernel do it in one call, `openat2` of Linux 5.6."""
    path = os.fsencode("/".join(names) or ".")
    how = _OpenHow(
        flags | os.O_CLOEXEC,
        0,
        _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV,
    )
    failure = 0
    for _ in range(_RENAMED_MEANWHILE):
        handle = _syscall()(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(directory),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if handle >= 0:
            return int(handle)
        failure = ctypes.get_errno()
        if failure not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(failure, os.strerror(failure))


def open_one_by_one(directory: int, names: Sequence[str], flags: int) -> int:
    """Open each folder from the one before; for systems without `openat2`."""
    device = os.fstat(directory).st_dev
    current = os.dup(directory)
    try:
        for name in names[:-1]:
            below = _on(device, os.open(name, FOLDER, dir_fd=current))
            os.close(current)
            current = below
        last = names[-1] if names else "."
        return _on(device, os.open(last, flags | _NO_LINKS, dir_fd=current))
    finally:
        os.close(current)


@cache
def best_opener() -> Opener:
    """`open_at_once` where the system has it and lets us use it."""
    try:
        with closing(os.open("/", FOLDER)) as top:
            os.close(open_at_once(top, (), FOLDER))
    except (OSError, TypeError, AttributeError):  # the last two: there is no such C library
        return open_one_by_one
    return open_at_once


@cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _on(device: int, handle: int) -> int:
    if os.fstat(handle).st_dev == device:
        return handle
    os.close(handle)
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
