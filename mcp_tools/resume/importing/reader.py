"""The program that reads a PDF or DOCX in isolation, see `mcp_tools.apart`.

It prints one JSON object: `{"error": code}` or `{"lines": [[text, bullet, style, gap], …]}`.
"""

import json
import sys
from pathlib import Path

from .headings import Headings
from .lines import MAX_CHARACTERS, MAX_LINES, Line
from .read_error import ReadError


def main(path: str, kind: str, headings: str) -> None:
    """Read the file at `path`, or standard input for `-`, as `kind` and print its lines.

    `headings` holds the fields of `Headings` as JSON.
    """
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        answer: dict[str, object] = {"lines": read(kind, content, Headings(**json.loads(headings)))}
    except ImportError:
        answer = {"error": "missing"}
    except MemoryError:
        answer = {"error": "too_complex"}
    except ReadError as error:
        answer = {"error": error.code}
    except Exception:  # the libraries fail on hostile files in every way there is
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


def read(kind: str, content: bytes, headings: Headings) -> list[Line]:
    """Return the lines of a file.

    Raises:
        ReadError: `encrypted`, `too_much` or `empty`.
    """
    if kind == "pdf":
        from .pdf import pdf_lines

        lines = pdf_lines(content, headings)
    else:
        from .word import docx_lines

        lines = docx_lines(content)
    if len(lines) > MAX_LINES or sum(len(line.text) for line in lines) > MAX_CHARACTERS:
        raise ReadError("too_much")
    if not lines:
        raise ReadError("empty")
    return lines
