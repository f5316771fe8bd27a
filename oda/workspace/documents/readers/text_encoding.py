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
    """UTF-8 or UTF-16 by their marks, UTF-8 or GB18030 if the bytes fit, else Windows-1252."""
    with path.open("rb") as file:
        start = file.read(_TRIED)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    for encoding in ("utf-8", "gb18030"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(start, final=len(start) < _TRIED)
        except UnicodeDecodeError:
            continue
        return encoding
    return "cp1252"
