"""What surrounds a sandbox under attack: listeners, a process, files."""

import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECRET = "swordfish"
_ANYWHERE = ("127.0.0.1", 0)


@dataclass(frozen=True)
class Surroundings:
    """Of a server; its attackers know where all of it is."""

    outside: Path
    """A directory with the file `secret`."""
    token: str
    listeners: Mapping[str, socket.socket]
    victim: subprocess.Popen[bytes]

    @property
    def told(self) -> dict[str, Any]:
        """For `reach.py`."""
        return {
            "outside": str(self.outside),
            "token": self.token,
            "victim": self.victim.pid,
            "tcp": self.listeners["TCP"].getsockname(),
            "udp": self.listeners["UDP"].getsockname(),
            "unix": self.listeners["unix socket"].getsockname(),
        }

    def felt(self) -> list[str]:
        """What has arrived here."""
        found = [name for name, listener in self.listeners.items() if _was_reached(listener)]
        if self.victim.poll() is not None:
            found.append("kill a process")
        if Path("/tmp", self.token).exists():
            found.append("write to /tmp")
        if {path.name for path in self.outside.iterdir()} != {"secret", "socket"}:
            found.append("write outside")
        return found


@contextmanager
def surroundings(outside: Path) -> Iterator[Surroundings]:
    """Set them up in a new directory."""
    token = f"oda-{secrets.token_hex(8)}"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    with ExitStack() as stack:
        listeners = {
            "TCP": socket.create_server(_ANYWHERE),
            "UDP": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            "unix socket": socket.socket(socket.AF_UNIX),
            "abstract socket": socket.socket(socket.AF_UNIX),
        }
        for listener in listeners.values():
            stack.enter_context(listener).setblocking(False)
        listeners["UDP"].bind(_ANYWHERE)
        listeners["unix socket"].bind(str(outside / "socket"))
        listeners["unix socket"].listen()
        listeners["abstract socket"].bind(f"\0{token}")
        listeners["abstract socket"].listen()
        victim = stack.enter_context(subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE))
        stack.callback(victim.kill)
        stack.callback(Path("/tmp", token).unlink, missing_ok=True)
        yield Surroundings(outside, token, listeners, victim)


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(1)
    except BlockingIOError:
        return False
    return True
