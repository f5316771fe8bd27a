"""The process that reads a binary file: `python -m mcp_tools.resume.importing.reader pdf|docx`.

The file comes on stdin; one JSON object goes to stdout: `{"error": code}` or
`{"lines": [[text, bullet, style, gap], …]}`. It reads files of strangers, so it takes every right
from itself that it can before it reads the first byte.
"""

import json
import sys

from .lines import MAX_CHARACTERS, MAX_LINES, Line
from .read_error import ReadError

MEMORY = 512 * 1024 * 1024
CPU_SECONDS = 20


def main(kind: str) -> None:
    """Read stdin as `kind` and write the lines to stdout."""
    limit_resources()
    try:
        answer: dict[str, object] = {"lines": read(kind, sys.stdin.buffer.read())}
    except ImportError:
        answer = {"error": "missing"}
    except MemoryError:
        answer = {"error": "too_complex"}
    except ReadError as error:
        answer = {"error": error.code}
    except Exception:  # the libraries fail on hostile files in every way there is
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


def read(kind: str, content: bytes) -> list[Line]:
    """Return the lines of a file.

    Raises:
        ReadError: `encrypted`, `too_much` or `empty`.
    """
    if kind == "pdf":
        from .pdf import pdf_lines

        lines = pdf_lines(content)
    else:
        from .word import docx_lines

        lines = docx_lines(content)
    if len(lines) > MAX_LINES or sum(len(line.text) for line in lines) > MAX_CHARACTERS:
        raise ReadError("too_much")
    if not lines:
        raise ReadError("empty")
    return lines


def limit_resources() -> None:
    """Limit memory, time and files of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    limits = (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    )
    for limit, value in limits:
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):
            continue


if __name__ == "__main__":
    main(sys.argv[1])
