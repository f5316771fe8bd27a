"""Isolated reading of untrusted files.

A reader is a program that is given a document and prints text. It runs in a process of its own
without environment, network, files other than libraries, or sight of other processes, and with
limited memory and time. An application that has a sandbox passes it in as a `ReadApart`; the
default, `read_apart`, uses Landlock and a system call filter. On a system that has neither, files
are not read at all.
"""

import asyncio
import marshal
import site
import sys
import sysconfig
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

_LAUNCHER = """
import marshal, sys
orders = marshal.load(sys.stdin.buffer)
try:
    import resource
    for kind, most in orders["limits"]:
        resource.setrlimit(kind, (most, most))
    confine = {}
    exec(orders["confinement"]["source"], confine)
    confine["confine"](orders["confinement"])
except Exception as error:
    print(error, end="")
    sys.exit(1)
sys.stdout.write(chr(0))
sys.stdout.flush()
import importlib.abc, importlib.util
class Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in orders["modules"] else None
    def get_source(self, name):
        return orders["modules"][name]
    def is_package(self, name):
        return name in orders["packages"]
sys.meta_path.insert(0, Sources())
sys.path += orders["path"]
sys.argv = ["main.py", "-", *orders["arguments"]]
exec(compile(orders["main"], "main.py", "exec"), {"__name__": "__main__"})
"""
_CONFINED = b"\0"
"""First byte that the launcher prints, once its confinement is irrevocable."""
_OPEN_FILES = 64
_MARSHAL_FORMAT = 2


class UnconfinedError(Exception):
    """Raised when no confinement is available for a reader; the file is not opened."""


class ReadApart(Protocol):
    """A way to run reader programs in isolation."""

    async def __call__(
        self,
        document: bytes,
        main: str,
        *,
        modules: Mapping[str, str],
        arguments: Sequence[str] = (),
        wall_s: float,
        cpu_s: int,
        memory_bytes: int,
        output_bytes: int,
    ) -> str:
        """Run the program `main` on a document and return its output.

        The output of a program that fails or exceeds a limit may be truncated.

        Args:
            document: The untrusted file. The program's first argument says where it is: a path, or
                `-` for standard input.
            main: Source of the program.
            modules: Sources of modules it may import, by name; `a.b` is `b` in the package `a`.
            arguments: Further arguments of the program.
            wall_s: Time limit in seconds.
            cpu_s: CPU time limit in seconds.
            memory_bytes: Memory limit.
            output_bytes: Limit of the output.

        Raises:
            TimeoutError: the program took longer than `wall_s`.
        """
        ...


async def read_apart(
    document: bytes,
    main: str,
    *,
    modules: Mapping[str, str],
    arguments: Sequence[str] = (),
    wall_s: float,
    cpu_s: int,
    memory_bytes: int,
    output_bytes: int,
) -> str:
    """Implement `ReadApart` for Linux with Landlock.

    Raises:
        UnconfinedError: the system cannot confine a process.
    """
    _check_system()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _LAUNCHER),
        stdin=PIPE,
        stdout=PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        packages = {name.rpartition(".")[0] for name in modules} - {""}
        orders = {
            "confinement": _confinement(process.pid),
            "limits": _limits(cpu_s, memory_bytes),
            "path": [str(folder) for folder in _libraries()],
            "main": main,
            "packages": list(packages),
            "modules": {**dict.fromkeys(packages, ""), **modules},
            "arguments": list(arguments),
        }
        given = marshal.dumps(orders, _MARSHAL_FORMAT) + document
        async with asyncio.timeout(wall_s):
            printed = await _converse(process, given, output_bytes)
            await process.wait()
    finally:
        await _end(process)
    if not printed.startswith(_CONFINED):
        reason = printed.decode(errors="replace") or "the process did not start"
        raise UnconfinedError(f"files of strangers cannot be read here: {reason}")
    return printed.removeprefix(_CONFINED).decode(errors="replace")


def sources_of(package: str, *modules: str) -> dict[str, str]:
    """Return the sources of a package's modules, all or those named, in the form `ReadApart` takes.

    Only the last part of the package's name is kept, and its `__init__` is left out.
    """
    name = package.rpartition(".")[2]
    folder = resources.files(package)
    every = (file.name for file in folder.iterdir() if file.name.endswith(".py"))
    wanted = modules or sorted({file.removesuffix(".py") for file in every} - {"__init__"})
    return {f"{name}.{each}": (folder / f"{each}.py").read_text("utf-8") for each in wanted}


def _check_system() -> None:
    if sys.platform != "linux":
        raise UnconfinedError(
            f"files of strangers are read in a sandbox, and on {sys.platform} there is none"
        )
    from oda.confinement.landlock import landlock_version

    if getattr(sys, "frozen", False):
        raise UnconfinedError("a frozen program has no interpreter to read files of strangers in")
    if landlock_version() < 1:
        raise UnconfinedError(
            "files of strangers are read in a sandbox, and this kernel has no Landlock"
        )


def _confinement(pid: int) -> Any:
    from oda.confinement import confinement_among_others
    from oda.confinement.system import PREFIXES

    base = Path(sys.base_prefix).resolve()
    own = () if base in PREFIXES else (base,)
    return confinement_among_others(pid, readable=(*own, *_libraries()))


@cache
def _libraries() -> tuple[Path, ...]:
    """Return the directories of installed packages."""
    names = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    folders = dict.fromkeys(Path(name).resolve() for name in names)
    return tuple(folder for folder in folders if folder.is_dir())


def _limits(cpu_s: int, memory_bytes: int) -> list[tuple[int, int]]:
    import resource

    return [
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 1),  # a limit of 0 does not stop dumps piped to a program
    ]


async def _converse(process: Process, given: bytes, output_bytes: int) -> bytes:
    """Write the input and return the output; kill a process that prints too much."""
    assert process.stdin is not None and process.stdout is not None
    feeding = asyncio.create_task(_feed(process.stdin, given))
    try:
        printed = bytearray()
        while len(printed) <= output_bytes and (chunk := await process.stdout.read(65536)):
            printed += chunk
        if len(printed) > output_bytes:
            process.kill()
        return bytes(printed[: output_bytes + 1])
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _feed(stdin: asyncio.StreamWriter, given: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(given)
        await stdin.drain()
    stdin.close()


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(asyncio.gather(process.wait(), _emptied(process)))


async def _emptied(process: Process) -> None:
    """Drain the output: a full pipe would keep `wait` from returning."""
    assert process.stdout is not None
    while await process.stdout.read(65536):
        pass
