"""Imports what code often imports, so that its bytecode and matplotlib's list of fonts are kept.

Runs in the interpreter that code gets, from its text, with `-X pycache_prefix`; its arguments are a
folder for the list of fonts, and the folders with packages.
"""

import contextlib
import importlib
import os
import sys

MODULES = (
    *("numpy", "pandas", "pandas.io.excel._openpyxl", "pandas.io.formats.format"),
    *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
    *("openpyxl", "docx", "pptx", "reportlab.platypus", "reportlab.pdfbase.ttfonts"),
    *("pypdf", "pdfplumber", "PIL.Image", "PIL.PngImagePlugin", "lxml.etree", "lxml.html"),
    "trafilatura",
)


def main(fonts: str, packages: list[str]) -> None:
    os.environ.update(HOME=fonts, MPLCONFIGDIR=fonts, MPLBACKEND="Agg")
    sys.path += packages
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot:
        pyplot.figure().savefig(os.devnull, format="png")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
