"""Programs that take too much in a sandbox, do not end, or leave traps behind.

Their arguments are a word that marks what they start, and the path of a secret of the host. They
print what they could do.
"""

from dataclasses import replace

from oda.workspace.sandbox.sandbox import SandboxLimits

MIB = 2**20
LIMITS = SandboxLimits(
    wall_s=20,
    cpu_s=10,
    memory_bytes=512 * MIB,
    quota_bytes=32 * MIB,
    file_bytes=8 * MIB,
    files=50,
    text_bytes=MIB,
)
CPU_LIMITS = replace(LIMITS, cpu_s=1)
WALL_LIMITS = replace(LIMITS, wall_s=1)

HUGE_FILE = """
import os
from contextlib import suppress

size = 10 * 2**30
file = os.open("output/huge", os.O_CREAT | os.O_RDWR)
with suppress(OSError):
    os.ftruncate(file, size)
with suppress(OSError):
    os.posix_fallocate(file, 0, size)
with suppress(OSError):
    os.pwrite(file, b"x", size)
print(os.fstat(file).st_size)
"""

MANY_LARGE_FILES = """
import os

total = 0
for number in range(20):
    file = os.open(f"output/{number}", os.O_CREAT | os.O_RDWR)
    try:
        os.posix_fallocate(file, 0, 8 * 2**20)
    except OSError:
        break
    finally:
        total += os.fstat(file).st_blocks * 512
        print(total, flush=True)
"""

EVERYWHERE = """
import os
from pathlib import Path

total = 0
for folder in (".", "data", "output", "/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/usr"):
    for number in range(20):
        try:
            with Path(folder, f"filled{number}").open("wb") as file:
                total += os.writev(file.fileno(), [bytes(2**20)] * 7)
        except OSError:
            break
print(total)
"""

MANY_SMALL_FILES = """
from pathlib import Path

for number in range(5000):
    Path("output", f"{number}").write_bytes(b"")
print("made")
"""

MEMORY = """
blocks = []
try:
    while len(blocks) < 100:
        blocks.append(bytearray(32 * 2**20))
except MemoryError:
    pass
print(len(blocks) * 32)
"""

FORK_BOMB = """
import os, subprocess, sys

born = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            os._exit(0)
        born += 1
    except OSError:
        pass
for options in ({}, {"start_new_session": True}, {"close_fds": False}):
    try:
        subprocess.run([sys.executable, "-c", ""], **options)
        born += 1
    except OSError:
        pass
print(born)
"""

THREADS_WORK = """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(abs, range(100))))
"""

THREAD_BOMB = """
import ctypes, time

libc = ctypes.CDLL(None)
attributes = ctypes.create_string_buffer(256)
libc.pthread_attr_init(attributes)
libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(16384))
libc.pthread_attr_setguardsize(attributes, ctypes.c_size_t(0))
pause, thread = ctypes.cast(libc.pause, ctypes.c_void_p), ctypes.c_ulong()
for born in range(20_000):
    if libc.pthread_create(ctypes.byref(thread), attributes, pause, None):
        break
    time.sleep(0.0001)
print(born, flush=True)
time.sleep(30)
"""
"""As many threads as the memory holds: their stacks are small."""

THREADS_WITHOUT_STACKS = """
import ctypes, threading

libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(2**20)
top = (ctypes.addressof(stack) + 2**19) & ~15
libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
pause = ctypes.cast(libc.pause, ctypes.c_void_p)
for born in range(20_000):
    if libc.clone(pause, top + born % 500 * 1024, 0x50F00, None) < 0:
        break
print(born, flush=True)
threading.Event().wait()
"""
"""They take none of its memory, but numbers that all processes of the machine draw on."""

NAMES = """
import os, tempfile, time

folder = tempfile.mkdtemp()
end = time.monotonic() + 15
count = 0
while time.monotonic() < end:
    for _ in range(1000):
        os.mknod(f"{folder}/{count}")
        count += 1
"""
"""Of empty files: memory that no size of files counts."""

DEEP = """
import os

for chain in range(20):
    folder = os.open("output", os.O_RDONLY)
    for level in range(2000):
        os.mkdir(f"{chain:x}", dir_fd=folder)
        inner = os.open(f"{chain:x}", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.mkdir("closed", 0, dir_fd=folder)
    os.close(folder)
print("made", flush=True)
"""

NAMELESS = """
import mmap, os, tempfile

block = bytes(2**20)
total = 0
kept = []
while total < 2**31:
    with tempfile.TemporaryFile() as file:
        try:
            for _ in range(8):
                total += os.write(file.fileno(), block)
        except OSError:
            break
        kept.append(os.dup(file.fileno()) if len(kept) < 150 else mmap.mmap(file.fileno(), 4096))
print(total, flush=True)
"""
"""Files that no folder shows, open or only mapped."""

FLOOD = """
import os

while True:
    os.write(1, b"x" * 65536)
    os.write(2, b"y" * 65536)
"""

ENDLESS = """
import signal

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass
"""

ASLEEP = """
import signal, time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
    signal.signal(number, signal.SIG_IGN)
time.sleep(60)
"""

DAEMON = """
import os, subprocess, sys

sleeper = [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]]
null = subprocess.DEVNULL
try:
    subprocess.Popen(sleeper, start_new_session=True, stdin=null, stdout=null, stderr=null)
except OSError:
    print("no process")
"""

TRAPS = """
import os, socket, sys
from contextlib import suppress
from pathlib import Path

secret = sys.argv[2]
output = Path("output")
output.joinpath("kept.txt").write_text("kept")
traps = [
    lambda: output.joinpath("symlink").symlink_to(secret),
    lambda: output.joinpath("folder").symlink_to(Path(secret).parent),
    lambda: output.joinpath("relative").symlink_to("../input/a.txt"),
    lambda: output.joinpath("loop").symlink_to("loop"),
    lambda: output.joinpath("hard").hardlink_to(secret),
    lambda: output.joinpath("twice").hardlink_to(output / "kept.txt"),
    lambda: output.joinpath("twice").unlink(),
    lambda: os.mkfifo(output / "fifo"),
    lambda: socket.socket(socket.AF_UNIX).bind("output/socket"),
    lambda: output.joinpath("new\\nline").write_text("x"),
    lambda: output.joinpath("esc\\x1b[2J").write_text("x"),
    lambda: Path(os.fsdecode(b"output/\\xff\\xfe")).write_text("x"),
    lambda: output.joinpath("/".join("d" * 100)).mkdir(parents=True),
    lambda: output.joinpath("closed").mkdir(mode=0),
    lambda: output.joinpath("suid").write_text("x"),
    lambda: output.joinpath("suid").chmod(0o6777),
    lambda: output.joinpath("secretive").write_text("x"),
    lambda: output.joinpath("secretive").chmod(0),
]
for trap in traps:
    with suppress(OSError):
        trap()
"""

SWAPPED = """
import os, sys
from contextlib import suppress
from pathlib import Path

for folder in ("output", "data"):
    with suppress(OSError):
        os.rename(folder, f"{folder}.away")
        os.symlink(Path(sys.argv[2]).parent, folder)
"""

OTHER_PROGRAM = """
import os, shutil, sys
from pathlib import Path

cat = shutil.which("cat") or "/bin/cat"
try:
    shutil.copy(cat, "output/cat")
    os.chmod("output/cat", 0o6755)
    cat = "output/cat"
except OSError:
    pass
for program in (cat, "/usr/bin/cat", "/bin/cat"):
    try:
        os.execv(program, ["cat", sys.argv[2], "/etc/passwd"])
    except OSError:
        pass
"""

FORGED = """
import os, socket, sys
from contextlib import suppress
from pathlib import Path

handles = []
for path in (Path(sys.argv[2]).parent, "/", "/usr", "."):
    with suppress(OSError):
        handles.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
for number in range(3, 256):
    if number not in handles:
        with suppress(OSError):
            link = socket.socket(fileno=os.dup(number))
            with suppress(OSError):
                socket.send_fds(link, [b"R"], handles)
        with suppress(OSError):
            os.write(number, b"\\xff" * 4096)
"""

OTHER_CALLS = """
import ctypes, mmap

libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(ctypes.c_long(0x40000000 | 39)), flush=True)
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)  # may be written and run
code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(ctypes.CFUNCTYPE(ctypes.c_int)(start)(), flush=True)
"""
"""The calls of x32 and, by `int 0x80`, of 32-bit programs: get the process id."""

ATTACKS = {
    "endless": (ENDLESS, CPU_LIMITS),
    "thread bomb": (THREAD_BOMB, WALL_LIMITS),
    "asleep": (ASLEEP, WALL_LIMITS),
    "huge file": (HUGE_FILE, LIMITS),
    "many large files": (MANY_LARGE_FILES, LIMITS),
    "everywhere": (EVERYWHERE, LIMITS),
    "many small files": (MANY_SMALL_FILES, LIMITS),
    "threads without stacks": (THREADS_WITHOUT_STACKS, LIMITS),
    "names": (NAMES, LIMITS),
    "deep": (DEEP, LIMITS),
    "nameless": (NAMELESS, LIMITS),
    "memory": (MEMORY, LIMITS),
    "fork bomb": (FORK_BOMB, LIMITS),
    "threads": (THREADS_WORK, LIMITS),
    "flood": (FLOOD, LIMITS),
    "daemon": (DAEMON, LIMITS),
    "traps": (TRAPS, LIMITS),
    "swapped": (SWAPPED, LIMITS),
    "other program": (OTHER_PROGRAM, LIMITS),
    "forged": (FORGED, LIMITS),
    "other calls": (OTHER_CALLS, LIMITS),
}
