"""Runs in a sandbox and tries to reach what lies outside. Prints, in lines of JSON, each try and
what came of it: `true` if it succeeded, else the name of the error.

Its argument is a JSON object: where things are on the host. Nothing here does lasting harm to a
host on which it succeeds.
"""

import ctypes
import errno
import fcntl
import importlib.util
import json
import mmap
import os
import platform
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

Attack = Callable[[], object]

GIVEN: dict[str, Any] = json.loads(sys.argv[1])
OUTSIDE, OTHER_RUN = Path(GIVEN["outside"]), Path(GIVEN["other_run"])
SERVER, VICTIM = GIVEN["server"], GIVEN["victim"]
CANARY = b"ODA_" + b"CANARY="
AF_FAMILIES = 46
CLONE_VM, CLONE_SIGHAND, CLONE_THREAD, CLONE_NEWUSER = 0x100, 0x800, 0x10000, 0x10000000
CLOSE_RANGE_UNSHARE = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
F_SETPIPE_SZ = 1031
PROCESS_KEYRING = -2
NUMBERS = {
    "x86_64": {
        "clone": 56,
        "add_key": 248,
        "keyctl": 250,
        "perf_event_open": 298,
        "seccomp": 317,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "clone": 220,
        "add_key": 217,
        "keyctl": 219,
        "perf_event_open": 241,
        "seccomp": 277,
        "bpf": 280,
        "userfaultfd": 282,
    },
}[platform.machine()] | {
    "io_uring_setup": 425,
    "open_tree": 428,
    "fsopen": 430,
    "pidfd_open": 434,
    "clone3": 435,
    "close_range": 436,
    "landlock_create_ruleset": 444,
}
"""Of system calls that the C library has no function for."""

libc = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: Any) -> int:
    """Call the C library, or the kernel by number, and return a result that is no failure."""
    if function in NUMBERS:
        function, arguments = "syscall", (NUMBERS[function], *arguments)
    ready = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(getattr(libc, function)(*ready))
    if result < 0:
        raise OSError(ctypes.get_errno(), function)
    return result


def attacks() -> Iterator[tuple[str, Attack]]:
    """All tries; those that change this process come last."""
    yield from secrets()
    yield from files()
    yield from tampering()
    yield from network()
    yield from processes()
    yield from kernel()


def secrets() -> Iterator[tuple[str, Attack]]:
    yield "own environment", lambda: "ODA_CANARY" in os.environ
    yield "environments in /proc", lambda: any(CANARY in text for text in proc("environ"))
    yield "command lines in /proc", lambda: any(b"attacks" in text for text in proc("cmdline"))
    yield "memory in /proc", lambda: Path(f"/proc/{SERVER}/mem").open("rb").close()
    yield "memory by process_vm_readv", read_memory
    yield "ptrace", trace
    yield "descriptors of the server", lambda: list(Path(f"/proc/{SERVER}/fd").iterdir())
    yield "kernel memory", lambda: any_opens("/dev/mem", "/dev/kmem", "/proc/kcore", "/dev/port")
    yield "kernel log", lambda: any_opens("/dev/kmsg", "/proc/kmsg")


def files() -> Iterator[tuple[str, Attack]]:
    yield "names outside", (OUTSIDE / "secret").stat
    yield "list outside", lambda: list(OUTSIDE.iterdir())
    yield "read outside", (OUTSIDE / "secret").read_bytes
    yield "read /etc/passwd", Path("/etc/passwd").read_bytes
    yield "read another run", (OTHER_RUN / "data" / "secret").read_bytes
    yield "climb", lambda: Path(f"{'../' * 30}{OUTSIDE}/secret").read_bytes()
    yield "climb to another run", lambda: Path("../other/data/secret").read_bytes()
    yield "through roots in /proc", through_proc
    yield "write outside", lambda: (OUTSIDE / "written").write_bytes(b"x")
    yield "write to /tmp", lambda: Path("/tmp", GIVEN["token"]).write_bytes(b"x")
    yield "write to another run", lambda: (OTHER_RUN / "data" / "written").write_bytes(b"x")
    yield "settings of the kernel", settings_of_the_kernel
    yield "modes of devices", modes_of_devices
    yield "tables of the kernel", lambda: any_opens("/proc/kallsyms", "/proc/kpagecount")
    yield "what the machine was started with", lambda: Path("/proc/cmdline").read_bytes() != b""
    yield "devices", lambda: any_opens("/dev/vda", "/dev/sda", "/dev/kvm", "/dev/fuse")
    yield "make a device", lambda: os.mknod("output/device", stat.S_IFBLK | 0o600, os.makedev(8, 0))


def tampering() -> Iterator[tuple[str, Attack]]:
    yield "change the standard library", lambda: Path(os.__file__).open("r+b").close()
    yield "change the interpreter", lambda: any_opens(sys.executable, mode="r+b")
    yield "change a library", lambda: any_opens(*libraries(), mode="r+b")
    yield "add a library", add_library
    yield "change its input", lambda: Path("input/a.txt").write_bytes(b"x")
    yield "delete its input", lambda: Path("input/b.txt").unlink()
    yield "move its input", lambda: Path("input").rename("moved").rename("input")
    yield "change its input by hard link", change_by_link
    yield "change modes of its input", change_mode


def network() -> Iterator[tuple[str, Attack]]:
    stream = socket.SOCK_STREAM
    yield "TCP", lambda: send(socket.AF_INET, stream, tuple(GIVEN["tcp"]))
    yield "UDP", lambda: send(socket.AF_INET, socket.SOCK_DGRAM, tuple(GIVEN["udp"]))
    yield "unix socket", lambda: send(socket.AF_UNIX, stream, GIVEN["unix"])
    yield "abstract socket", lambda: send(socket.AF_UNIX, stream, f"\0{GIVEN['token']}")
    for family in range(1, AF_FAMILIES):
        if family != socket.AF_UNIX:
            yield f"socket family {family}", partial(open_any, family)
    yield "listen", listen
    yield "socket by io_uring", lambda: call("io_uring_setup", 1, bytes(128))


def processes() -> Iterator[tuple[str, Attack]]:
    yield "fork", lambda: reap(os.fork())
    yield "clone", lambda: reap(call("clone", signal.SIGCHLD, 0, 0, 0, 0))
    yield "clone3", lambda: reap(call("clone3", struct.pack("4Q", 0, 0, 0, 0) + clone_rest(), 64))
    yield "thread with handles of its own", thread_apart
    yield "handles of its own", lambda: call("close_range", 250, 251, CLOSE_RANGE_UNSHARE)
    yield "outlive the server", lambda: call("prctl", PR_SET_PDEATHSIG, 0, 0, 0, 0)
    yield "hide from the server", lambda: call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
    yield "subprocess", lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)
    yield "spawn", lambda: reap(os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}))
    yield "signal a process", lambda: os.kill(VICTIM, 0)
    yield "pidfd of a process", lambda: call("pidfd_open", VICTIM, 0)
    yield "signal by descriptor", signal_by_descriptor
    yield "limits of a process", lambda: resource.prlimit(VICTIM, resource.RLIMIT_NOFILE)
    yield "priority of a process", lambda: os.setpriority(os.PRIO_PROCESS, VICTIM, 5)
    yield "processor of a process", lambda: os.sched_setaffinity(VICTIM, {0})
    yield "kill a process", lambda: os.kill(VICTIM, signal.SIGKILL)


def kernel() -> Iterator[tuple[str, Attack]]:
    yield "more memory", lambda: mmap.mmap(-1, GIVEN["memory_bytes"] + 2**20)
    yield "memory that outlives its mapping", lambda: mmap.mmap(-1, 4096, mmap.MAP_SHARED)
    yield "memory of a device", memory_of_a_device
    yield "memory as a pipe", lambda: fcntl.fcntl(os.pipe()[1], F_SETPIPE_SZ, 2**20)
    yield "memory as a queue", longer_queue
    yield "hold up who writes its input", lease
    yield "be told what others do", lambda: call("inotify_init1", 0)
    yield "another filter", lambda: call("seccomp", 2, 0, 0)
    yield "rules of Landlock", lambda: call("landlock_create_ruleset", bytes([1]) + bytes(7), 8, 0)
    yield "memory as a file", lambda: os.write(os.memfd_create("m"), bytes(2**20))
    yield "memory as a segment", lambda: call("shmctl", call("shmget", 0, 2**20, 0o1600), 0, 0)
    yield "memory as messages", lambda: call("msgctl", call("msgget", 0, 0o1600), 0, 0)
    yield "memory as semaphores", lambda: call("semctl", call("semget", 0, 9, 0o1600), 0, 0)
    yield "keep a key", lambda: call("add_key", b"user", b"oda", b"x", 1, PROCESS_KEYRING)
    yield "keyring", lambda: call("keyctl", 0, PROCESS_KEYRING, 1)
    yield "bpf", lambda: call("bpf", 0, struct.pack("4I", 2, 4, 4, 1) + bytes(100), 116)
    yield (
        "perf",
        lambda: call("perf_event_open", struct.pack("2I", 1, 112) + bytes(104), 0, -1, -1, 0),
    )
    yield "userfaultfd", lambda: call("userfaultfd", 0)
    yield "file handles", file_handle
    yield "open a tree of mounts", lambda: call("open_tree", -100, b"/", 1)
    yield "a new file system", lambda: call("fsopen", b"tmpfs", 0)
    yield "mount", mount
    yield "type for a terminal", type_for_a_terminal
    yield "become root", become_root
    yield "rights of root", rights_of_root
    yield "gain rights by a program", lambda: call("prctl", 39, 0, 0, 0, 0) == 0
    yield "user namespace", lambda: call("unshare", CLONE_NEWUSER)
    yield "chroot", lambda: os.chroot(".")


def proc(name: str) -> Iterator[bytes]:
    """Files of all processes that can be read."""
    for path in Path("/proc").glob(f"[0-9]*/{name}"):
        try:
            yield path.read_bytes()
        except OSError:
            continue


def any_opens(*paths: object, mode: str = "rb") -> bool:
    for path in paths:
        try:
            Path(str(path)).open(mode).close()
        except OSError:
            continue
        return True
    return False


def read_memory() -> None:
    buffer = ctypes.create_string_buffer(8)
    ours = struct.pack("2Q", ctypes.addressof(buffer), 8)
    theirs = struct.pack("2Q", GIVEN["server_address"], 8)
    call("process_vm_readv", SERVER, ours, 1, theirs, 1, 0)


def trace() -> None:
    call("ptrace", 16, VICTIM, 0, 0)
    os.waitpid(VICTIM, 0x40000000)
    call("ptrace", 17, VICTIM, 0, 0)


def through_proc() -> bool:
    ways = [f"/proc/{who}/root" for who in ("self", 1, os.getppid(), SERVER)]
    ways += [f"/proc/{who}/cwd/{'../' * 30}" for who in (1, os.getppid(), SERVER)]
    return any_opens(*(f"{way}{OUTSIDE}/secret" for way in ways))


def settings_of_the_kernel() -> bool:
    return any_opens(
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/drop_caches",
        "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/cgroup.procs",
        mode="r+b",
    )


def modes_of_devices() -> bool:
    """Whether a mode can be set to what it is; that is seen by the time of the change."""
    changed = []
    for path in map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/tty")):
        try:
            before = path.stat()
            path.chmod(stat.S_IMODE(before.st_mode))
        except OSError:
            continue
        changed.append(path.stat().st_ctime_ns != before.st_ctime_ns)
    return any(changed)


def libraries() -> Iterator[object]:
    found = importlib.util.find_spec("numpy")
    if found and found.origin:
        yield found.origin
        yield found.cached
        yield from Path(found.origin).parent.glob("__pycache__/*.pyc")


def add_library() -> None:
    path = Path(os.__file__).with_name(f"{GIVEN['token']}.py")
    path.touch()
    path.unlink()


def change_by_link() -> None:
    Path("output/link").hardlink_to("input/a.txt")
    Path("output/link").write_bytes(b"x")


def change_mode() -> bool:
    """Whether it has changed; some sandboxes only say so."""
    path = Path("input/a.txt")
    path.chmod(0o4777)
    return stat.S_IMODE(path.stat().st_mode) == 0o4777


def send(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as link:
        link.settimeout(2)
        link.connect(address)
        link.send(b"x")


def open_any(family: int) -> bool:
    """Whether a socket of any kind can be made."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        return True
    return False


def listen() -> None:
    """What waits for a listener is memory that nobody counts."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{GIVEN['token']}-listener")
        listener.listen()


def longer_queue() -> bool:
    """Whether it has become longer; some sandboxes only say so."""
    ours, _ = socket.socketpair()
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * before)
    return ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > before


def thread_apart() -> None:
    """One that shares its memory, but not its handles; it ends at once."""
    stack = ctypes.create_string_buffer(2**16)
    top = ctypes.c_void_p((ctypes.addressof(stack) + len(stack) - 64) & ~15)
    ends = ctypes.cast(libc.abs, ctypes.c_void_p)
    if libc.clone(ends, top, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, None) < 0:
        raise OSError(ctypes.get_errno(), "clone")
    time.sleep(0.05)  # its stack is ours


def memory_of_a_device() -> None:
    with Path("/dev/zero").open("r+b") as file:
        mmap.mmap(file.fileno(), 4096)


def lease() -> None:
    with Path("input/a.txt").open("rb") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def clone_rest() -> bytes:
    return struct.pack("4Q", signal.SIGCHLD, 0, 0, 0)


def reap(pid: int) -> None:
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def signal_by_descriptor() -> None:
    ours, _ = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETOWN, VICTIM)


def file_handle() -> None:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    call("name_to_handle_at", -100, b".", handle, ctypes.create_string_buffer(4), 0)


def mount() -> None:
    Path("data/mounted").mkdir()
    call("mount", b"none", b"data/mounted", b"tmpfs", 0, 0)
    call("umount2", b"data/mounted", 2)


def type_for_a_terminal() -> None:
    _, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSTI, b"x")


def become_root() -> bool:
    before = os.geteuid()
    os.setuid(0)
    return before != 0


def rights_of_root() -> bool:
    """Whether any capability is in effect."""
    header = struct.pack("Ii", 0x20080522, 0)
    rights = ctypes.create_string_buffer(24)
    call("capget", header, rights)
    return any(struct.unpack("6I", rights.raw)[::3])


def main() -> None:
    for name, attempt in attacks():
        try:
            found = attempt()
            outcome: object = found is not False
        except (OSError, ValueError, MemoryError, subprocess.SubprocessError) as error:
            number = getattr(error, "errno", None)
            outcome = errno.errorcode.get(number, str(number)) if number else type(error).__name__
        print(json.dumps([name, outcome]), flush=True)


main()
