"""A program that attempts everything a sandbox must prevent; run by `self_test`, never imported.

Its argument is a JSON object that describes the targets. It prints pairs as lines of JSON: `tries`
with the names of all attempts, `variables` with those it could read, then each attempt and whether
it succeeded. Attempts whose effect is only visible from outside are judged there.
"""

import ctypes
import hashlib
import json
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_CLONE_NEWUSER = 0x10000000
_PTRACE_ATTACH = 16
_AF_VSOCK = 40
_MIB = 2**20


def main(bait: dict[str, Any]) -> None:
    """Try everything, the quota at last: some sandboxes kill who breaks it."""
    attempts = dict(_attempts(bait))
    _tell("tries", list(attempts))
    _tell("variables", sorted(_variables()))
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, ValueError, MemoryError):
            _tell(name, False)
        else:
            _tell(name, True)


def _tell(name: str, found: object) -> None:
    print(json.dumps([name, found]), flush=True)


def _attempts(bait: dict[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    directory, token, pid = Path(bait["directory"]), bait["token"], bait["pid"]
    yield "read /etc/passwd", Path("/etc/passwd").read_bytes
    yield "read a file of another run", (directory / "file").read_bytes
    yield "find out names of files outside", (directory / "file").stat
    yield "write beside its workspace", lambda: (directory / "written").write_bytes(b"x")
    yield "write to /tmp of the host", lambda: Path("/tmp", token).write_bytes(b"x")
    yield "connect over TCP", lambda: _send(socket.AF_INET, socket.SOCK_STREAM, bait["tcp"])
    yield "send over UDP", lambda: _send(socket.AF_INET, socket.SOCK_DGRAM, bait["udp"])
    unix = socket.AF_UNIX
    path = str(directory / "socket")
    yield "connect to a unix socket", lambda: _send(unix, socket.SOCK_STREAM, path)
    yield "connect to an abstract socket", lambda: _send(unix, socket.SOCK_STREAM, f"\0{token}")
    yield "open a socket to the hypervisor", lambda: _open(_AF_VSOCK, socket.SOCK_STREAM)
    yield "open a netlink socket", lambda: _open(socket.AF_NETLINK, socket.SOCK_RAW)
    yield "open a packet socket", lambda: _open(socket.AF_PACKET, socket.SOCK_RAW)
    yield "start a process", _fork
    yield "trace a process of the host", lambda: _libc("ptrace", _PTRACE_ATTACH, pid, 0, 0)
    yield "make a user namespace", lambda: _libc("unshare", _CLONE_NEWUSER)
    yield "take more memory than allowed", lambda: mmap.mmap(-1, bait["memory_bytes"] + 512 * _MIB)
    yield "write a file larger than allowed", lambda: _fill("large", bait["file_bytes"] + _MIB)
    yield "change a setting of the kernel", lambda: _open_to_write("/proc/sys/kernel/core_pattern")
    yield "change a device of the host", lambda: _touch_mode(Path("/dev/null"))
    yield "kill a process of the host", lambda: os.kill(pid, signal.SIGKILL)
    yield "change its input", lambda: Path("input/a.txt").write_bytes(b"x")
    yield "write more than its quota", lambda: _overfill(bait["quota_bytes"], bait["file_bytes"])


def _variables() -> Iterator[str]:
    """Hashes of all `NAME=value` that can be read, its own and those of other processes."""
    entries = {f"{name}={value}".encode() for name, value in os.environ.items()}
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            entries.update(environ.read_bytes().split(b"\0"))
        except OSError:
            continue
    for entry in entries:
        yield hashlib.sha256(entry).hexdigest()


def _open(family: int, kind: int) -> None:
    socket.socket(family, kind).close()


def _send(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as link:
        link.settimeout(2)
        link.connect(tuple(address) if isinstance(address, list) else address)
        link.send(b"x")


def _open_to_write(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def _touch_mode(path: Path) -> None:
    """Set the mode to its current value, which counts as a change unless it is only simulated."""
    before = path.stat()
    path.chmod(before.st_mode & 0o7777)
    if path.stat().st_ctime_ns == before.st_ctime_ns:
        raise OSError("nothing has changed")


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _libc(function: str, *arguments: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, function)(*map(ctypes.c_long, arguments)) != 0:
        raise OSError(ctypes.get_errno(), function)


def _fill(name: str, size: int) -> None:
    with Path("output", name).open("wb") as file:
        for _ in range(size // _MIB):
            file.write(bytes(_MIB))
            file.flush()


def _overfill(quota: int, file_size: int) -> None:
    for number in range(quota // file_size + 1):
        _fill(f"part{number}", file_size)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
