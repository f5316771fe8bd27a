"""Targets for the hostile code of the self-test: a file, listeners, a process."""

import hashlib
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CANARY = "ODA_SELF_TEST_CANARY"
_NO_SECRETS = frozenset({"PATH", "LANG", "LC_ALL", "LC_CTYPE"})
"""Variables that may be the same inside."""
_SECRET_LENGTH = 8


@dataclass(frozen=True)
class Bait:
    """On the host, out of reach of code in a sandbox that holds."""

    token: str
    directory: Path
    listeners: Mapping[str, socket.socket]
    """Listeners by the attempt that would reach them, as named in `hostile.py`."""
    process: subprocess.Popen[bytes]
    """Has the token in its environment."""

    @property
    def given(self) -> dict[str, Any]:
        """The description of the targets that the hostile code is given."""
        return {
            "token": self.token,
            "directory": str(self.directory),
            "pid": self.process.pid,
            "tcp": self.listeners["connect over TCP"].getsockname(),
            "udp": self.listeners["send over UDP"].getsockname(),
        }

    def taken(self) -> dict[str, bool]:
        """Each try that leaves a trace here, and whether it did."""
        return {
            "write beside its workspace": (self.directory / "written").exists(),
            "write to /tmp of the host": Path("/tmp", self.token).exists(),
            "kill a process of the host": self.process.poll() is not None,
            **{name: _was_reached(listener) for name, listener in self.listeners.items()},
        }

    def variables(self) -> set[str]:
        """Return hashes of the environment variables of the bait process and of this process."""
        return {
            hashlib.sha256(os.fsencode(f"{name}={value}")).hexdigest()
            for name, value in [*os.environ.items(), (_CANARY, self.token)]
            if name not in _NO_SECRETS and len(value) >= _SECRET_LENGTH
        }


@contextmanager
def lay_bait() -> Iterator[Bait]:
    """Lay it, and take it away again. The traps are set in some milliseconds."""
    token = f"oda-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="oda-bait-"))
        Path(directory, "file").write_bytes(b"of another run")
        stack.callback(Path("/tmp", token).unlink, missing_ok=True)
        process = stack.enter_context(
            subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, env={_CANARY: token})
        )
        stack.callback(process.kill)

        def listener(family: int, kind: int, address: Any) -> socket.socket:
            opened = stack.enter_context(socket.socket(family, kind))
            opened.bind(address)
            opened.setblocking(False)
            if kind == socket.SOCK_STREAM:
                opened.listen()
            return opened

        anywhere = ("127.0.0.1", 0)
        path = f"{directory}/socket"
        stream = socket.SOCK_STREAM
        yield Bait(
            token,
            Path(directory),
            {
                "connect over TCP": listener(socket.AF_INET, stream, anywhere),
                "send over UDP": listener(socket.AF_INET, socket.SOCK_DGRAM, anywhere),
                "connect to a unix socket": listener(socket.AF_UNIX, stream, path),
                "connect to an abstract socket": listener(socket.AF_UNIX, stream, f"\0{token}"),
            },
            process,
        )


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(1)
    except BlockingIOError:
        return False
    return True
