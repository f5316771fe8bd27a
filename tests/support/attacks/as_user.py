"""Started by root: run a command as an ordinary user, in mounts of its own.

    python as_user.py UID PATHS COMMAND…

The user can reach the PATHS (between colons) even if they lie in somebody's private directory: such
a directory is covered by one that holds nothing else.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CLONE_NEWNS = 0x20000
MAY_PASS = 0o001


def main(uid: int, paths: list[Path], command: list[str]) -> None:
    if ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        raise OSError("no mounts of its own")
    mount("--make-rprivate", "/")
    if uid:
        for private in set(filter(None, map(first_private, paths))):
            uncover(private, [path for path in paths if path.is_relative_to(private)])
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.execv(command[0], command)


def first_private(path: Path) -> Path | None:
    """The outermost directory on the way that others may not pass."""
    way = [*reversed(path.parents), path]
    return next((one for one in way if not one.stat().st_mode & MAY_PASS), None)


def uncover(private: Path, paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as aside:
        kept = Path(aside, "kept")
        kept.mkdir()
        mount("--rbind", private, kept)
        mount("-t", "tmpfs", "-o", "mode=755", "none", private)
        for path in paths:
            path.mkdir(parents=True, exist_ok=True)
            mount("--rbind", kept / path.relative_to(private), path)
        subprocess.run(["umount", "--lazy", kept], check=True)


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


main(int(sys.argv[1]), [Path(one) for one in sys.argv[2].split(":")], sys.argv[3:])
