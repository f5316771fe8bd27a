"""Checks of a DOCX without unpacking it: whether it is one, and whether it is safe."""

import io
import re
import zipfile
from pathlib import PurePosixPath

from mcp_tools.resume.errors import (
    BrokenFileError,
    EncryptedFileError,
    ImportedFileError,
    UnknownFileTypeError,
    UnsafeFileError,
)

MAX_MEMBERS = 2_000
MAX_UNPACKED = 64 * 1024 * 1024
MAX_XML = 16 * 1024 * 1024
MAX_RATIO = 200
"""How many times larger than packed a member of more than `RATIO_FROM` bytes may be."""
RATIO_FROM = 1024 * 1024

_CONTENT_TYPES = "[Content_Types].xml"
_MAIN = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_DECLARATION = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ENCODING = re.compile(rb"[^<]{0,8}<\?xml[^>]{0,200}encoding\s*=\s*[\"']([^\"']*)")
_ENCODINGS = (b"utf-8", b"utf-16", b"us-ascii", b"iso-8859-1", b"windows-1252")
_ENCRYPTED_FLAG = 0x1
_XML_SUFFIXES = (".xml", ".rels")


def check_docx(content: bytes) -> None:
    """Check a zip file before anything reads it; blocking, at most `MAX_UNPACKED` bytes unpacked.

    Raises:
        UnknownFileTypeError: a zip file, but no DOCX.
        EncryptedFileError: its members are encrypted.
        UnsafeFileError: too many or too large members, odd paths, macros, entity declarations.
        BrokenFileError: the archive is damaged or cut short.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _check_sizes(members)
            _check_names(members)
            _check_kind(archive)
            _check_xml(archive)
    except ImportedFileError:
        raise
    except Exception as error:  # damaged archives fail in many ways, zlib's and lzma's among them
        raise BrokenFileError(
            format="DOCX", reason={"zh": "文件已损坏或不完整", "en": "it is damaged or incomplete"}
        ) from error


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise _unsafe(f"压缩包内有 {len(members)} 个文件", f"it packs {len(members)} files")
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members):
        raise EncryptedFileError
    unpacked = sum(member.file_size for member in members)
    bomb = any(
        member.file_size > max(RATIO_FROM, MAX_RATIO * member.compress_size) for member in members
    )
    if unpacked > MAX_UNPACKED or bomb:
        raise _unsafe("解压后体积过大", "it unpacks to too much")


def _check_names(members: list[zipfile.ZipInfo]) -> None:
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        raise _unsafe("压缩包内有重名文件", "it packs two files of one name")
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name or "\x00" in name:
            raise _unsafe("压缩包内有可疑路径", "it packs a file with a suspicious path")


def _check_kind(archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    if _CONTENT_TYPES not in names:
        raise UnknownFileTypeError(found="ZIP")
    types = _read(archive, _CONTENT_TYPES)
    if b"macroEnabled" in types or any("vbaproject" in name.lower() for name in names):
        raise _unsafe("文件含有宏", "it holds macros")
    if _MAIN not in types:
        raise UnknownFileTypeError(found={"zh": "其他 Office 文件", "en": "another Office file"})


def _check_xml(archive: zipfile.ZipFile) -> None:
    for name in archive.namelist():
        if name.lower().endswith(_XML_SUFFIXES) and _declares(_read(archive, name)):
            raise _unsafe("XML 中含有实体声明", "its XML declares entities")


def _declares(xml: bytes) -> bool:
    """Tell whether XML declares a document type, or is in an encoding that could hide one."""
    plain = xml.replace(b"\x00", b"")
    encoding = _ENCODING.match(plain)
    is_odd = encoding is not None and encoding[1].lower() not in _ENCODINGS
    return is_odd or _DECLARATION.search(plain) is not None


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a member, never more of it than the limit, whatever size its header tells."""
    with archive.open(name) as member:
        data = member.read(MAX_XML + 1)
    if len(data) > MAX_XML:
        raise _unsafe("XML 体积过大", "its XML is too large")
    return data


def _unsafe(chinese: str, english: str) -> UnsafeFileError:
    return UnsafeFileError(reason={"zh": chinese, "en": english})
