"""Detection of the file type from bytes; the name only distinguishes Markdown from text."""

import re
from pathlib import PurePath
from typing import Literal

from mcp_tools.resume.errors import EncryptedFileError, NothingFoundError, UnknownFileTypeError

Format = Literal["pdf", "docx", "txt", "md", "json"]

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_KNOWN = {
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"{\\rtf": "RTF",
    b"%!PS": "PostScript",
    b"\x7fELF": "ELF",
    b"MZ": "EXE",
    b"Rar!": "RAR",
    b"7z\xbc\xaf": "7Z",
    b"\x1f\x8b": "GZIP",
    b"BZh": "BZIP2",
}
_MARKUP = re.compile(r"\s*<(?:!doctype|\?xml|html|head|body|svg|script)\b", re.IGNORECASE)
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffe\uffff]")
_ATX = re.compile(r"^#{1,6} \S", re.MULTILINE)


def sniff(content: bytes, filename: str | None) -> tuple[Format, str]:
    """Return the format and, for the text formats, the text.

    Raises:
        UnknownFileTypeError: the bytes are of none of the accepted types.
        EncryptedFileError: an encrypted Office file.
        NothingFoundError: there is nothing in it.
    """
    if b"%PDF-" in content[:1024]:
        return "pdf", ""
    if content.startswith(_ZIP):
        return "docx", ""
    if content.startswith(_OLE):
        raise _ole_error(content)
    for magic, name in _KNOWN.items():
        if content.startswith(magic):
            raise UnknownFileTypeError(found=name)
    return _text_format(decode(content), filename)


def decode(content: bytes) -> str:
    """Return the text in UTF-8, UTF-16 (with a byte order mark) or GB18030.

    Raises:
        UnknownFileTypeError: the bytes are no text in these encodings.
    """
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "gb18030"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not _BINARY.search(text):
            return text
    raise UnknownFileTypeError(found={"zh": "二进制内容", "en": "binary data"})


def _ole_error(content: bytes) -> Exception:
    if "EncryptedPackage".encode("utf-16-le") in content:
        return EncryptedFileError()
    return UnknownFileTypeError(found={"zh": "旧版 Office 文件", "en": "an old Office file"})


def _text_format(text: str, filename: str | None) -> tuple[Format, str]:
    if not text.strip():
        raise NothingFoundError(reason={"zh": "文件是空的", "en": "it is empty"})
    if _MARKUP.match(text):
        raise UnknownFileTypeError(found="HTML / XML")
    if text.lstrip().startswith("{") or (filename or "").lower().endswith(".json"):
        return "json", text
    suffix = PurePath(filename or "").suffix.lower()
    if suffix in (".md", ".markdown") or (not suffix and _ATX.search(text)):
        return "md", text
    return "txt", text
