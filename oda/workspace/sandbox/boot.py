"""The first code that runs inside a sandbox: it applies the limits, then runs the program.

It is passed to the interpreter as text, so it must be self-contained, and it imports little,
because every run waits for it. Its first argument is the number of a socket. Over the socket it
sends handles of the working directory and of the folders given as further arguments, receives its
orders up to the end of the stream, sends `R` once all limits are in force, and after the code has
ended the CPU time that it took.
"""

# ruff: noqa: PTH103, PTH109, PTH120, PTH123, SIM105
# The modules that these rules prefer take longer to import than everything else.

from __future__ import annotations

import _socket
import atexit
import builtins
import marshal
import os
import resource
import site
import sys
import time
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType, TracebackType

    from oda.workspace.sandbox.orders import Orders

MAIN = "main.py"
OWN_FRAMES = "<string>"

HINTS = {
    "subprocess.py": "no programs can be started here; use Python alone",
    "/multiprocessing/": "no processes can be started here; use threads (ThreadPoolExecutor)",
    "/socket.py": "there is no network here; use the files that are given",
}
"""Explanations of system errors, by the part of the library that raised them."""


class Modules:
    """Finder and loader of the modules whose sources came with the orders.

    A dotted name is a module in a package; the package needs no source of its own.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        packages = {name.rpartition(".")[0] for name in sources} - {""}
        self._sources = {**dict.fromkeys(packages, ""), **sources}
        self._packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._sources:
            return None
        is_package = name in self._packages
        return ModuleSpec(name, self, origin=f"{name}.py", is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self._sources[name], f"{name}.py", "exec"), module.__dict__)


class CompiledElsewhere(SourceFileLoader):
    """Takes the bytecode of installed packages from the folder where it was prepared, if it was."""

    folder: str | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        before, sys.pycache_prefix = sys.pycache_prefix, self.folder
        try:
            return super().get_code(fullname)
        finally:
            sys.pycache_prefix = before


def take_orders(control: _socket.socket) -> Orders:
    folders = [os.open(name, os.O_RDONLY | os.O_DIRECTORY) for name in (".", *sys.argv[2:])]
    handles = b"".join(folder.to_bytes(4, sys.byteorder) for folder in folders)
    control.sendmsg([b"H"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handles)])
    for folder in folders:
        os.close(folder)
    received = b""
    while piece := control.recv(2**20):
        received += piece
    orders: Orders = marshal.loads(received)
    return orders


def obey(orders: Orders) -> None:
    """Put in place what does not let go of the code again."""
    for kind, soft, hard in orders["limits"]:
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:  # the host's own limits may be lower
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))
    os.environ.update(orders["environment"])
    for name, content in orders["files"].items():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(content)
    if confinement := orders["confinement"]:
        confine: dict[str, object] = {}
        exec(compile(confinement["source"], "landlock.py", "exec"), confine)
        confine["confine"](confinement)  # type: ignore[operator]


def let_import(orders: Orders) -> None:
    """Order imports: modules of the orders, the library, installed packages, own files."""
    if orders["bytecode"]:
        CompiledElsewhere.folder = orders["bytecode"]
        hook = FileFinder.path_hook(
            (ExtensionFileLoader, EXTENSION_SUFFIXES), (CompiledElsewhere, SOURCE_SUFFIXES)
        )
        packages = tuple(orders["site_packages"])

        def installed(path: str) -> object:
            if path.startswith(packages):
                return hook(path)
            raise ImportError

        sys.path_hooks.insert(0, installed)  # type: ignore[arg-type]
    sys.path += [*orders["site_packages"], os.getcwd()]
    sys.meta_path.insert(0, Modules(orders["modules"]))
    if orders["font"]:
        FontAdded.file, *FontAdded.names = orders["font"]
        sys.meta_path.insert(1, FontOfCharts)
    site.setquit()
    site.sethelper()


class FontAdded(CompiledElsewhere):
    """Loads `matplotlib.font_manager`, and adds a font, under the names that programs ask for."""

    file = ""
    names: Sequence[str] = ()

    def exec_module(self, module: ModuleType) -> None:
        from dataclasses import replace

        super().exec_module(module)
        fonts = module.__dict__["fontManager"].ttflist
        before = len(fonts)
        module.__dict__["fontManager"].addfont(self.file)
        added = fonts[before]
        fonts[before:] = [
            replace(added, name=name, weight=weight) for name in self.names for weight in (400, 700)
        ]


class FontOfCharts:
    """Finds `matplotlib.font_manager`, which knows no font for Chinese, Japanese and Korean."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: object = None, /
    ) -> ModuleSpec | None:
        if name != "matplotlib.font_manager":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec and spec.origin:
            spec.loader = FontAdded(name, spec.origin)
        return spec


def hints(error: BaseException | None) -> set[str]:
    """Those for an error, or for one that it came of."""
    found: set[str] = set()
    while error:
        trace = error.__traceback__
        while trace:
            file = trace.tb_frame.f_code.co_filename
            found.update(HINTS[part] for part in HINTS if part in file)
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return found


def show_error(orders: Orders) -> None:
    """Have tracebacks begin with the code's own frames, and quote its lines."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        import linecache
        import traceback

        for name, source in {**orders["modules"], "main": orders["main"]}.items():
            lines = source.splitlines(keepends=True)
            linecache.cache[f"{name}.py"] = (len(source), None, lines, f"{name}.py")
        while trace and trace.tb_frame.f_code.co_filename == OWN_FRAMES:
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
        if isinstance(error, OSError):
            for hint in hints(error):
                print(f"Hint: {hint}", file=sys.stderr)

    sys.excepthook = show


def run(orders: Orders) -> None:
    main = type(sys)("__main__")
    main.__dict__.update(__file__=MAIN, __builtins__=builtins)
    sys.modules["__main__"] = main
    sys.argv = [MAIN, *orders["arguments"]]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    show_error(orders)
    exec(compile(orders["main"], MAIN, "exec"), main.__dict__)


def report(control: _socket.socket) -> None:
    try:
        control.send(repr(time.process_time()).encode())
    except OSError:  # the code has closed what is not its own
        pass


def boot() -> None:
    control = _socket.socket(fileno=int(sys.argv[1]))
    orders = take_orders(control)
    obey(orders)
    let_import(orders)
    atexit.register(report, control)
    control.send(b"R")
    run(orders)


if __name__ == "__main__":
    boot()
