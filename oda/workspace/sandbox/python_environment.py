"""The interpreter and the packages that code gets: those of one environment, to be read only."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oda.errors import SandboxUnavailableError

_ASK = """
import json, os, site, sys, sysconfig
packages = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
known = dict.fromkeys(os.path.realpath(each) for each in packages if os.path.isdir(each))
base = os.path.realpath(sys.base_prefix)
executable = os.path.join(base, "bin", "python%d.%d" % sys.version_info[:2])
print(json.dumps([base, executable, *known]))
"""
_FONT = Path("justmytype_intl_cjk", "fonts", "ofl", "notosanssc", "NotoSansSC[wght].ttf")
_ASK_TIMEOUT_S = 20.0
_REMEDY = (
    "set ODA_WORKSPACE__PYTHON to the interpreter of an environment with the libraries that code "
    "may use, or use a remote sandbox"
)


@dataclass(frozen=True)
class PythonEnvironment:
    """An installed Python, and where its packages lie; no path leads through links."""

    base: Path
    """The prefix of the interpreter and its standard library."""
    executable: Path
    """The interpreter itself, in `base`."""
    site_packages: tuple[Path, ...]

    @property
    def font(self) -> Path | None:
        """One for Chinese, Japanese and Korean, if it is among the packages."""
        files = (packages / _FONT for packages in self.site_packages)
        return next((file for file in files if file.is_file()), None)


def python_environment(interpreter: Path | None = None) -> PythonEnvironment:
    """Ask an interpreter where it lies; by default the one of this process.

    Starts a process: call it in a thread, once.

    Raises:
        SandboxUnavailableError: there is no such interpreter, or this process is a frozen program
            that has none of its own.
    """
    if interpreter is None and getattr(sys, "frozen", False):
        raise SandboxUnavailableError(
            "this program is frozen and has no Python interpreter for code to run in",
            remedy=_REMEDY,
        )
    asked = Path(sys.executable) if interpreter is None else interpreter
    base, executable, *site_packages = map(Path, _ask([str(asked), "-I", "-c", _ASK]))
    environment = PythonEnvironment(base, executable, tuple(site_packages))
    if not environment.executable.is_file():
        raise SandboxUnavailableError(
            f"the Python of {asked} has no interpreter {environment.executable}", remedy=_REMEDY
        )
    return environment


def _ask(command: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(
            command, env={}, capture_output=True, check=True, timeout=_ASK_TIMEOUT_S, text=True
        )
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip()[-500:]
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    else:
        answer: list[str] = json.loads(done.stdout)
        return answer
    raise SandboxUnavailableError(f"{command[0]} does not run: {reason}", remedy=_REMEDY)
