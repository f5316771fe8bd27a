"""The main program; prints one JSON object as its last line.

    segments KIND SOURCE OUT          -> {"segments": n}; OUT: [{"id", "text", "context"}]
    apply KIND SOURCE TEXTS TARGET    -> {"applied": n, "unknown": [id], "notes": [text]}
    preview KIND SOURCE OUT           -> {"preview": OUT}; OUT: a piece of HTML

TEXTS: {id: translation}. What fails says `{"error": code}`.
"""

import contextlib
import json
import sys
from pathlib import Path

from .failure import UnreadableError
from .found import Document

_MAX_UNKNOWN = 20


def main(*arguments: str) -> None:
    """Do what the arguments say."""
    with contextlib.redirect_stdout(sys.stderr):  # output of libraries is not part of the answer
        answer = _answer(*arguments)
    line = json.dumps(answer, ensure_ascii=False)
    sys.stdout.buffer.write(b"\n" + line.encode("utf-8", "replace") + b"\n")


def _answer(command: str, kind: str, source: str, *paths: str) -> dict[str, object]:
    try:
        match command:
            case "segments":
                return _segments(kind, Path(source), Path(paths[0]))
            case "apply":
                return _apply(kind, Path(source), Path(paths[0]), Path(paths[1]))
            case _:
                return _preview(kind, Path(source), Path(paths[0]))
    except UnreadableError as error:
        return {"error": error.code}
    except ImportError as error:
        return {"error": "missing", "found": error.name or ""}
    except (MemoryError, RecursionError):
        return {"error": "too_large"}
    except Exception as error:  # libraries fail on hostile files in every way there is
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return {"error": "broken"}


def _segments(kind: str, source: Path, out: Path) -> dict[str, object]:
    found = _opened(kind, source).segments()
    out.write_text(json.dumps(found, ensure_ascii=False), "utf-8", "replace")
    return {"segments": len(found)}


def _apply(kind: str, source: Path, texts: Path, target: Path) -> dict[str, object]:
    translations: dict[str, str] = json.loads(texts.read_text("utf-8"))
    document = _opened(kind, source)
    known = {segment["id"] for segment in document.segments()}
    unknown = [identifier for identifier in translations if identifier not in known]
    wanted = {key: text for key, text in translations.items() if key in known}
    notes = document.apply(wanted)
    document.save(target)
    return {"applied": len(wanted), "unknown": unknown[:_MAX_UNKNOWN], "notes": notes}


def _opened(kind: str, path: Path) -> Document:
    """Only the libraries of this kind are loaded."""
    match kind:
        case "docx":
            from .word import WordDocument

            return WordDocument(path)
        case "xlsx":
            from .workbook import Workbook

            return Workbook(path)
        case _:
            from .pdf import PdfDocument

            return PdfDocument(path)


def _preview(kind: str, source: Path, out: Path) -> dict[str, object]:
    match kind:
        case "docx":
            from .preview_docx import preview
        case "xlsx":
            from .preview_xlsx import preview
        case _:
            from .preview_pdf import preview
    out.write_text(preview(source), "utf-8", "replace")
    return {"preview": str(out)}


if __name__ == "__main__":
    main(*sys.argv[1:])
