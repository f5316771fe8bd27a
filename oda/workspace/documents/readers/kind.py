"""Detection of a file's actual type, and of Office files that are not safe to open."""

import re
import zipfile
from pathlib import Path

from .pieces import UnreadableError

MAX_MEMBERS = 5_000
MAX_UNPACKED = 512 * 2**20
MAX_XML = 128 * 2**20
MAX_RATIO = 300
"""How many times larger than packed a member of more than `RATIO_FROM` bytes may be."""
RATIO_FROM = 4 * 2**20

_MAIN_PARTS = {
    "docx": b"wordprocessingml.document.main+xml",
    "xlsx": b"spreadsheetml.sheet.main+xml",
    "pptx": b"presentationml.presentation.main+xml",
}
_TEXTS = ("csv", "tsv", "html", "htm")
_HEAD = 4096
_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MARKS_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ENCRYPTED_FLAG = 0x1


def check_kind(path: Path, suffix: str) -> None:
    """Check a file before a library reads it.

    Raises:
        UnreadableError: `empty`, `encrypted`, `old_office`, `mislabelled`, `too_large`, `unsafe` or
            `broken`.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise UnreadableError("empty")
    found = _kind(path, head)
    if found != suffix and not (found == "text" and suffix in _TEXTS):
        raise UnreadableError("mislabelled", found)
    if found in _MAIN_PARTS:
        _check_archive(path)


def _kind(path: Path, head: bytes) -> str:
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _office_kind(path)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        with path.open("rb") as file:
            encrypted = "EncryptedPackage".encode("utf-16-le") in file.read(2**20)
        raise UnreadableError("encrypted" if encrypted else "old_office")
    if head.startswith(_MARKS_UTF16) or not _CONTROLS.search(head):
        return "text"
    return "binary"


def _office_kind(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            if "[Content_Types].xml" not in archive.namelist():
                return "zip"
            with archive.open("[Content_Types].xml") as member:
                types = member.read(2**20)
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
        raise UnreadableError("broken") from error
    return next((kind for kind, part in _MAIN_PARTS.items() if part in types), "zip")


def _check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
            raise UnreadableError("encrypted")
        bomb = any(
            member.file_size > max(RATIO_FROM, MAX_RATIO * member.compress_size)
            for member in members
        )
        unpacked = sum(member.file_size for member in members)
        if bomb or unpacked > MAX_UNPACKED or len(members) > MAX_MEMBERS:
            raise UnreadableError("too_large")
        for member in members:
            if member.filename.lower().endswith((".xml", ".rels")):
                _check_xml(archive, member)


def _check_xml(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """A document type would stand in the first kilobytes; the size in the header may be a lie."""
    if member.file_size > MAX_XML:
        raise UnreadableError("too_large")
    with archive.open(member) as file:
        start = file.read(_HEAD).replace(b"\x00", b"")
    if _DECLARATION.search(start):
        raise UnreadableError("unsafe")
