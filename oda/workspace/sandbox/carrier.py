"""Runs a program remotely; sent as text followed by a call of `main`, never imported.

A program may come with its files, for executors that accept only code. It then runs in a directory
of its own, and the files it leaves there are printed as the last line, after a marker.
"""

import base64
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any


def main(given: dict[str, Any]) -> None:
    """Run `given["main"]`; its failure is a traceback and an exit code, as that of a script."""
    directory = Path(tempfile.mkdtemp())
    modules = directory / "modules"
    _write(modules, {_file(name): text.encode() for name, text in given["modules"].items()})
    sys.path.insert(0, str(modules))
    sys.argv = ["main.py", *given["arguments"]]
    marker = given["marker"]
    if marker is not None:
        box = directory / "box"
        before = {path: base64.b64decode(content) for path, content in given["files"].items()}
        _write(box, before)
        for folder in ("input", "data", "output"):
            (box / folder).mkdir(exist_ok=True)
        os.chdir(box)
    code = _run(given["main"])
    if marker is not None:
        sys.stderr.flush()
        left = {"files": _left(box, before), "exit_code": code}
        print(f"\n{marker}{json.dumps(left)}", flush=True)
    if code:
        raise SystemExit(code)


def _write(directory: Path, files: dict[str, bytes]) -> None:
    directory.mkdir()
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _run(source: str) -> int:
    try:
        exec(compile(source, "main.py", "exec"), {"__name__": "__main__"})
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        print(ending.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        traceback.print_exception(error.with_traceback(trace and trace.tb_next))
        return 1
    return 0


def _left(box: Path, before: dict[str, bytes]) -> dict[str, str]:
    """New and changed files, in base64."""
    found = {}
    for path in sorted(box.rglob("*")):
        name = path.relative_to(box).as_posix()
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if before.get(name) != content:
                found[name] = base64.b64encode(content).decode()
    return found
