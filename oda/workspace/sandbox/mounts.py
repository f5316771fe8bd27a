"""The read-only view of the host for code in its own namespaces, as arguments of `bwrap`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from oda.confinement.system import FILES, FOLDERS, PREFIXES, ROOT_FOLDERS
from oda.workspace.sandbox.prepared import Prepared
from oda.workspace.sandbox.python_environment import PythonEnvironment

_PYTHON = "/opt/python"
_PACKAGES = "/opt/site-packages"
_FONT = "/opt/font.ttf"
_BYTECODE = "/opt/bytecode"

_OF_THE_KERNEL = tuple(
    Path("/proc", name)
    for name in (
        *("cmdline", "iomem", "kallsyms", "kcore", "keys", "key-users", "kpagecgroup"),
        *("kpagecount", "kpageflags", "modules", "slabinfo", "timer_list", "vmallocinfo"),
    )
)
"""Information about the kernel and the whole machine, which is hidden."""

_DEVICES = ("null", "random", "urandom")
"""Not `zero`: mapped and shared, it is memory that no limit counts."""

_LINKS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}

TEMPORARY = ("/tmp", "/dev/shm")
"""Directories that code may write to in addition to its working directory."""

_TEMPORARY_BYTES = 64 * 2**20
_SHARED_MEMORY_BYTES = 16 * 2**20


def system_arguments() -> Iterator[str]:
    """The system, its devices and processes, and places for temporary files."""
    for path in (*FOLDERS, *FILES):
        yield from ("--ro-bind", str(path), str(path))
    for folder in ROOT_FOLDERS:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        else:
            yield from ("--ro-bind", str(folder), str(folder))
    # The kernel's settings belong to root, which the code is if the server is.
    yield from ("--proc", "/proc")
    for path in _OF_THE_KERNEL:
        if path.exists():
            yield from ("--ro-bind", "/dev/null", str(path))
    yield from ("--remount-ro", "/proc")
    for name in _DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    for name, handle in _LINKS.items():
        yield from ("--symlink", f"/proc/self/fd{handle}", f"/dev/{name}")
    for place, size in zip(TEMPORARY, (_TEMPORARY_BYTES, _SHARED_MEMORY_BYTES), strict=True):
        yield from ("--size", str(size), "--tmpfs", place)


@dataclass(frozen=True)
class PythonInside:
    """Location of a Python environment of the host inside the sandbox."""

    arguments: tuple[str, ...]
    executable: str
    site_packages: tuple[Path, ...]
    font: Path | None
    prepared: Prepared


def python_inside(python: PythonEnvironment, prepared: Prepared) -> PythonInside:
    """Show it."""
    shown = {folder: folder for folder in FOLDERS}
    arguments: list[str] = []

    def show(path: Path, name: str) -> Path:
        """The name of a path inside; it is bound there if it is not in what is seen anyway."""
        for outside, inside in shown.items():
            if path.is_relative_to(outside):
                return inside / path.relative_to(outside)
        shown[path] = Path(name)
        arguments.extend(("--ro-bind", str(path), name))
        return shown[path]

    base = python.base if python.base in PREFIXES else show(python.base, _PYTHON)
    if base != python.base:  # it may look for its library where it was installed
        arguments += ("--setenv", "LD_LIBRARY_PATH", str(base / "lib"))
    packages = tuple(
        show(path, f"{_PACKAGES}-{count}" if count else _PACKAGES)
        for count, path in enumerate(python.site_packages)
    )
    font = python.font and show(python.font, _FONT)
    if prepared.bytecode:
        for outside, inside in zip(python.site_packages, packages, strict=True):
            compiled = prepared.bytecode / outside.relative_to("/")
            arguments.extend(("--ro-bind-try", str(compiled), f"{_BYTECODE}{inside}"))
        prepared = replace(prepared, bytecode=Path(_BYTECODE))
    return PythonInside(
        arguments=tuple(arguments),
        executable=str(base / python.executable.relative_to(python.base)),
        site_packages=packages,
        font=font,
        prepared=prepared,
    )
