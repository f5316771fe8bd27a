"""The main program: `reader PATH KIND OFFSET LIMIT`; prints one JSON object as its last line.

`{"text", "more"}`, or `{"error", "found"}` with a code.
"""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .kind import check_kind
from .pieces import UnreadableError, take


def main(path: str, kind: str, offset: str, limit: str) -> None:
    """Read a part of a document."""
    with contextlib.redirect_stdout(sys.stderr):  # output of libraries is not part of the answer
        answer = _answer(Path(path), kind, int(offset), int(limit))
    line = json.dumps(answer, ensure_ascii=False)
    sys.stdout.buffer.write(b"\n" + line.encode("utf-8", "replace") + b"\n")


def _answer(path: Path, kind: str, offset: int, limit: int) -> dict[str, object]:
    try:
        check_kind(path, kind)
        text, more = take(_pieces(path, kind), offset, limit)
    except UnreadableError as error:
        return {"error": error.code, "found": error.found}
    except ImportError as error:
        return {"error": "missing", "found": error.name or ""}
    except (MemoryError, RecursionError):
        return {"error": "too_large", "found": ""}
    except Exception as error:  # libraries fail on hostile files in every way there is
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return {"error": "broken", "found": ""}
    return {"text": text, "more": more}


def _pieces(path: Path, kind: str) -> Iterator[str]:
    """Only the library of this kind is loaded."""
    match kind:
        case "docx":
            from .read_docx import pieces
        case "xlsx":
            from .read_xlsx import pieces
        case "pptx":
            from .read_pptx import pieces
        case "pdf":
            from .read_pdf import pieces
        case "csv" | "tsv":
            from .read_csv import pieces
        case _:
            from .read_html import pieces
    return pieces(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
