"""In which encoding a text file is written."""

import codecs
from pathlib import Path

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_TRIED = 4 * 2**20


def encoding_of(path: Path) -> str:
    """Return the encoding of a file, detected from its first megabytes."""
    with path.open("rb") as file:
        start = file.read(_TRIED)
    return encoding_of_bytes(start, is_whole=len(start) < _TRIED)


def encoding_of_bytes(start: bytes, *, is_whole: bool) -> str:
    """UTF-8 or UTF-16 by their marks, UTF-8 or GB18030 if the bytes fit, else Windows-1252."""
    if marked := marked_encoding(start):
        return marked
    for encoding in ("utf-8", "gb18030"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(start, final=is_whole)
        except UnicodeDecodeError:
            continue
        return encoding
    return "cp1252"


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a mark at the beginning tells."""
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
