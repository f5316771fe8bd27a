"""Data prepared once per environment so that runs of code start faster.

Packages installed without bytecode would be compiled again in every run, since runs cannot store
any. It is kept in the system's directory for temporary files, for this user only.
"""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from oda.telemetry import get_logger
from oda.workspace.sandbox.inside import source_of
from oda.workspace.sandbox.python_environment import PythonEnvironment

_logger = get_logger(__name__)

_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Prepared:
    """The available prepared data; any of it may be missing."""

    bytecode: Path | None = None
    """A folder, below which the bytecode of a source lies at the path of the source."""
    fonts: dict[str, str] = field(default_factory=dict)
    """Content of matplotlib's lists of fonts by name."""


async def prepare(python: PythonEnvironment) -> Prepared:
    """Make it, or find it where it was made before; without it everything works, but slower."""
    try:
        return await asyncio.to_thread(_prepare, python)
    except (OSError, subprocess.SubprocessError) as error:
        _logger.warning("sandbox_not_prepared", reason=str(error))
        return Prepared()


def _prepare(python: PythonEnvironment) -> Prepared:
    folder = _private_folder() / _key(python)
    with (folder.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _make(python, folder)
    bytecode = None if _has_bytecode(python) else folder / "bytecode"
    lists = (folder / "fonts").glob("fontlist-*.json")
    return Prepared(bytecode, {file.name: file.read_text() for file in lists})


def _make(python: PythonEnvironment, folder: Path) -> None:
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "fonts").mkdir(parents=True)
    packages = map(str, python.site_packages)
    subprocess.run(
        [
            *(
                str(python.executable),
                "-I",
                "-S",
                "-X",
                f"pycache_prefix={unfinished / 'bytecode'}",
            ),
            *("-c", source_of("warm_up"), str(unfinished / "fonts"), *packages),
        ],
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_TIMEOUT_S,
    )
    unfinished.rename(folder)


def _private_folder() -> Path:
    """Create or return a folder that only this user can write to.

    Raises:
        OSError: the folder belongs to another user.
    """
    folder = Path(tempfile.gettempdir(), f"oda-sandbox-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o170077 != 0o040000:
        raise PermissionError(f"{folder} is not for this user only")
    return folder


def _key(python: PythonEnvironment) -> str:
    """Changes with what is installed."""
    parts = [
        (str(path), path.stat().st_mtime_ns) for path in (python.executable, *python.site_packages)
    ]
    return hashlib.sha256(repr([source_of("warm_up"), *parts]).encode()).hexdigest()[:32]


def _has_bytecode(python: PythonEnvironment) -> bool:
    """Return whether the packages were compiled when they were installed."""
    return any(
        next(packages.glob("*/__pycache__"), None) is not None for packages in python.site_packages
    )
