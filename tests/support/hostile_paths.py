"""Paths that no workspace may take, and what may lie where a plain file should."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

OUTSIDE = "outside"
"""A folder beside the root; `SECRET` is in its file `secret.txt`."""
SECRET = b"of somebody else"

HOSTILE_PATHS = [
    "..",
    "../outside/secret.txt",
    "output/../../outside/secret.txt",
    "output/..",
    "./../outside",
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "..\\outside\\secret.txt",
    "output\\a.txt",
    "\\\\server\\share",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "c:secret.txt",
    "output/C:secret.txt",
    "a\0.txt",
    "output/\0/../a",
    "a\nb.txt",
    "a\x7f.txt",
    "a\x85.txt",
    "evil\u202etxt.exe",
    "\u2066a\u2069.txt",
    "a\u200b.txt",
    "\ufeffa.txt",
    "a\u00a0.txt",
    "a\u2028b.txt",
    "\ud800.txt",
    "a\udcff.txt",
    "\ue000.txt",
    "a\ufffd.txt",
    "e\u0301.txt",
    "\u212b.txt",
    "\uff0e\uff0e/outside/secret.txt",
    "\u2024\u2024/outside",
    "output\uff0fa.txt",
    "a\uff3cb.txt",
    "a.txt ",
    " a.txt",
    "output /a.txt",
    "a.txt.",
    "output./a.txt",
    "...",
    "a" * 201,
    "字" * 67,
    "/".join("a" * 17),
    "/".join(["a" * 100] * 6),
    "../" * 1000,
    ".oda-draft-1",
    "output/.ODA-x",
]


def a_symlink(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "secret.txt")


def a_symlink_to_a_neighbour(place: Path, outside: Path) -> None:
    (place.parent / "neighbour.txt").write_bytes(b"plain")
    place.symlink_to("neighbour.txt")


def a_symlink_to_nothing(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "new.txt")


def a_hard_link(place: Path, outside: Path) -> None:
    place.hardlink_to(outside / "secret.txt")


def a_fifo(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def a_socket(place: Path, outside: Path) -> None:
    os.mknod(place, stat.S_IFSOCK | 0o600)  # a path may be too long to bind


def a_folder(place: Path, outside: Path) -> None:
    place.mkdir()


HOSTILE_FILES: list[Callable[[Path, Path], None]] = [
    a_symlink,
    a_symlink_to_a_neighbour,
    a_symlink_to_nothing,
    a_hard_link,
    a_fifo,
    a_socket,
]
