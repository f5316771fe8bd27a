"""An Office file as its parts; what is not changed is written back byte for byte."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .failure import UnreadableError

WORD, EXCEL = "wordprocessingml.document.main+xml", "spreadsheetml.sheet.main+xml"
"""Parts of the content type of a file's main part."""
DOCUMENT, WORKBOOK = "word/document.xml", "xl/workbook.xml"
"""The main parts."""
MAX_MEMBERS = 5_000
MAX_UNPACKED = 512 * 2**20
MAX_PART = 128 * 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_FLAG = 0x1


class Package:
    """The parts of a .docx or .xlsx by their names, such as `word/document.xml`."""

    def __init__(self, path: Path, main_type: str) -> None:
        """Open a file whose main part has a content type with `main_type` in it.

        Raises:
            UnreadableError: it is not that kind, encrypted, broken or too large.
        """
        with path.open("rb") as file:
            if file.read(8) == _OLE:
                raise UnreadableError("encrypted")
        try:
            self._archive = zipfile.ZipFile(path)
            self._members = self._archive.infolist()
            types = self._archive.read("[Content_Types].xml")
        except (zipfile.BadZipFile, KeyError, OSError, EOFError, RuntimeError) as error:
            raise UnreadableError("broken") from error
        if any(member.flag_bits & _ENCRYPTED_FLAG for member in self._members):
            raise UnreadableError("encrypted")
        unpacked = sum(member.file_size for member in self._members)
        if len(self._members) > MAX_MEMBERS or unpacked > MAX_UNPACKED:
            raise UnreadableError("too_large")
        if main_type.encode() not in types:
            raise UnreadableError("mislabelled")
        self._roots: dict[str, Any] = {}
        self._changed: set[str] = set()

    def names(self, folder: str = "", stem: str = "") -> list[str]:
        """XML parts in a folder whose file names begin with `stem`, in the order of the file."""
        return [
            member.filename
            for member in self._members
            if member.filename.startswith(folder)
            and member.filename.endswith(".xml")
            and member.filename.rpartition("/")[2].startswith(stem)
        ]

    def has(self, name: str) -> bool:
        """Return whether a part exists."""
        return name in self._archive.NameToInfo

    def size(self, name: str) -> int:
        """Bytes of a part, as the file says."""
        return self._archive.getinfo(name).file_size

    def read(self, name: str) -> bytes:
        """A part as it is in the file."""
        return self._archive.read(name)

    def root(self, name: str) -> Any:
        """The root element of a part, always the same one."""
        if name not in self._roots:
            if self.size(name) > MAX_PART:
                raise UnreadableError("too_large")
            self._roots[name] = _parse(self.read(name))
        return self._roots[name]

    def change(self, name: str) -> Any:
        """The root element of a part that is going to be changed."""
        self._changed.add(name)
        return self.root(name)

    def relations(self, name: str) -> Iterator[tuple[str, str, str]]:
        """`(id, type, part)` of the relations of a part to others."""
        folder, _, file = name.rpartition("/")
        own = f"{folder}/_rels/{file}.rels"
        if not self.has(own):
            return
        for relation in self.root(own):
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                kind = relation.get("Type", "").rpartition("/")[2]
                yield relation.get("Id", ""), kind, _resolved(folder, target)

    def save(self, path: Path) -> None:
        """Write all parts in their order."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for member in self._members:
                target.writestr(member, self._bytes(member.filename), member.compress_type)

    def _bytes(self, name: str) -> bytes:
        if name not in self._changed:
            return self.read(name)
        written: bytes = etree.tostring(
            self._roots[name], xml_declaration=True, encoding="UTF-8", standalone=True
        )
        return written


def stem_of(part: str) -> str:
    """The name of a part without its folder and `.xml`, such as `header1`."""
    return part.rpartition("/")[2].removesuffix(".xml")


def canonical(element: Any) -> str:
    """Return an element as canonical text without its tail; equal elements give equal texts."""
    written: bytes = etree.tostring(element, method="c14n", with_tail=False)
    return written.decode()


def _parse(data: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableError("broken") from error
    if root.getroottree().docinfo.doctype:
        raise UnreadableError("unsafe")
    return root


def _resolved(folder: str, target: str) -> str:
    if target.startswith("/"):
        return target[1:]
    steps = [step for step in folder.split("/") if step]
    for step in target.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
