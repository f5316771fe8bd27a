"""Files that nobody should open are refused, quickly and kindly, and no process is left behind."""

import asyncio
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from docx import Document
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen import canvas

from mcp_tools.apart import read_apart
from mcp_tools.resume import ResumeError
from mcp_tools.resume.errors import ReaderMissingError
from mcp_tools.resume.importing import import_resume
from mcp_tools.resume.importing.apart import read_lines


def a_docx() -> bytes:
    document = Document()
    document.add_paragraph("Jane Doe")
    document.add_paragraph("jane@example.com")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def with_member(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO(a_docx())
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def replaced(change: Callable[[str, bytes], bytes]) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(a_docx())) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name)))
    return buffer.getvalue()


def xxe(name: str, data: bytes) -> bytes:
    if name != "word/document.xml":
        return data
    head, _, body = data.partition(b"?>")
    declared = b'<!DOCTYPE x [<!ENTITY leak SYSTEM "file:///etc/passwd">]>'
    return head + b"?>" + declared + body.replace(b"Jane Doe", b"&leak;")


def hidden_xxe(name: str, data: bytes) -> bytes:
    """The same in UTF-7, where no sign of it is to be seen."""
    if name != "word/document.xml":
        return data
    declared = b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x []>'
    return declared + data.partition(b"?>")[2]


def macros(name: str, data: bytes) -> bytes:
    types = b"application/vnd.ms-word.document.macroEnabled.main+xml"
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return data.replace(plain, types) if name == "[Content_Types].xml" else data


def lying_about_size() -> bytes:
    """A member that unpacks to 40 MB while its header says 10 bytes."""
    content = bytearray(with_member("word/extra.xml", b"<a>" + b" " * 40_000_000))
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 10)
    return bytes(content)


def encrypted_pdf() -> bytes:
    lock = StandardEncryption("secret", ownerPassword="o", strength=128)
    return a_pdf(encrypt=lock)


def a_pdf(text: str = "Jane Doe", encrypt: object = None) -> bytes:
    buffer = io.BytesIO()
    page = canvas.Canvas(buffer, encrypt=encrypt)
    if text:
        page.drawString(72, 700, text)
    page.showPage()
    page.save()
    return buffer.getvalue()


def pdf_with_stream(packed: bytes, filters: str = "/FlateDecode") -> bytes:
    """A one-page PDF whose content is a given packed stream."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<>>>>",
        b"<</Length %d/Filter %s>>stream\n%s\nendstream" % (len(packed), filters.encode(), packed),
    ]
    body = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj" % number + content + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(body)
    return body + (
        b"xref\n0 5\n0000000000 65535 f \n"
        + table
        + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start
    )


def packed_zeros(megabytes: int, times: int) -> bytes:
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(b"\x00" * 1024 * 1024) for _ in range(megabytes))
    data += packer.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return data


def endless_drawing() -> bytes:
    return pdf_with_stream(zlib.compress(b"q 1 0 0 1 0 0 cm Q\n" * 3_000_000))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a zip bomb": (lambda: with_member("word/media/x.bin", b"\x00" * 60_000_000), "unsafe_file"),
    "a zip that lies about its size": (lying_about_size, "unsafe_file|broken_file"),
    "many members": (lambda: many_members(), "unsafe_file"),
    "a path out of the archive": (lambda: with_member("../../evil.sh", b"x"), "unsafe_file"),
    "an external entity": (lambda: replaced(xxe), "unsafe_file"),
    "a hidden external entity": (lambda: replaced(hidden_xxe), "unsafe_file"),
    "macros by type": (lambda: replaced(macros), "unsafe_file"),
    "macros by file": (lambda: with_member("word/vbaProject.bin", b"x"), "unsafe_file"),
    "a cut docx": (lambda: a_docx()[:-900], "broken_file"),
    "a damaged docx": (
        lambda: a_docx().replace(b"PK\x03\x04", b"PK\x03\x05")[:1] + a_docx()[1:2000],
        "broken_file",
    ),
    "a plain zip": (lambda: plain_zip(), "unknown_file_type"),
    "an old Word file": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600,
        "unknown_file_type",
    ),
    "an encrypted Word file": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        "encrypted_file",
    ),
    "an encrypted PDF": (lambda: encrypted_pdf(), "encrypted_file"),
    "a cut PDF": (lambda: a_pdf()[:200], "broken_file|nothing_found"),
    "a PDF without text": (lambda: a_pdf(""), "nothing_found"),
    "a PDF bomb": (lambda: pdf_with_stream(packed_zeros(700, 1)), "broken_file|nothing_found"),
    "a PDF bomb in a bomb": (
        lambda: pdf_with_stream(packed_zeros(700, 2), "[/FlateDecode/FlateDecode]"),
        "broken_file|nothing_found",
    ),
    "a PDF of endless drawing": (endless_drawing, "broken_file|nothing_found"),
    "a PDF of many pages": (lambda: pages(40), "file_too_large"),
    "a picture": (lambda: b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "unknown_file_type"),
    "a picture called PDF": (lambda: b"\xff\xd8\xff\xe0" + b"x" * 50, "unknown_file_type"),
    "a web page": (lambda: b"<!DOCTYPE html><html><body>Jane</body></html>", "unknown_file_type"),
    "an XML bomb": (lambda: b'<?xml version="1.0"?><!DOCTYPE x []><x/>', "unknown_file_type"),
    "a program": (lambda: b"\x7fELF" + os.urandom(64), "unknown_file_type"),
    "noise": (lambda: b"\x00\x01\x02" * 99, "unknown_file_type"),
    "nothing": (lambda: b"", "nothing_found"),
    "white space": (lambda: b" \n\t\n", "nothing_found"),
    "a novel": (lambda: b"It was a dark and stormy night.\n" * 9000, "file_too_large"),
    "six megabytes": (lambda: b"a" * 6 * 1024 * 1024, "file_too_large"),
    "broken JSON": (lambda: b'{"basics": {"name": "Jane"', "broken_file"),
    "deep JSON": (lambda: b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "broken_file"),
    "JSON of another kind": (lambda: b'{"basics": [1, 2]}', "invalid_document"),
    "JSON without a resume": (lambda: b'{"hello": "world"}', "nothing_found"),
    "JSON with odd numbers": (lambda: b'{"basics": {"name": NaN}}', "broken_file"),
}


def many_members() -> bytes:
    buffer = io.BytesIO(a_docx())
    with zipfile.ZipFile(buffer, "a") as archive:
        for number in range(2_100):
            archive.writestr(f"word/{number}.bin", b"")
    return buffer.getvalue()


def plain_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("cv.txt", "Jane")
    return buffer.getvalue()


def pages(count: int) -> bytes:
    buffer = io.BytesIO()
    page = canvas.Canvas(buffer)
    for number in range(count):
        page.drawString(72, 700, f"Page {number}")
        page.showPage()
    page.save()
    return buffer.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_file_is_refused(name: str) -> None:
    make, codes = HOSTILE[name]
    content = make()
    with pytest.raises(ResumeError) as caught:
        await import_resume(content, filename="cv.pdf")
    assert caught.value.code in codes.split("|"), caught.value
    assert caught.value.message("zh") != caught.value.message("en")
    assert readers() == []


def readers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # another test's process may end meanwhile
            if "marshal.load" in " ".join(child.cmdline()):
                found.append(child)
    return found


async def test_the_process_that_reads_is_confined_and_knows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ODA_TEST_SECRET_KEY", "of-the-server")
    before = psutil.Process().children()
    reading = asyncio.create_task(import_resume(endless_drawing(), filename="cv.pdf"))
    try:
        while not (new := [each for each in psutil.Process().children() if each not in before]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a process tells nobody that it is there
        inside = Path("/proc", str(new[0].pid))
        while "Seccomp:\t2" not in (inside / "status").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # it may end before it is confined: then there is no status
        assert "NoNewPrivs:\t1" in (inside / "status").read_text()
        assert (inside / "environ").read_bytes() == b""
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_the_reader_is_killed_when_the_caller_gives_up() -> None:
    reading = asyncio.create_task(read_lines(endless_drawing(), "pdf"))
    while not readers():  # noqa: ASYNC110 (a process tells nobody that it is there)
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert readers() == []


@pytest.mark.parametrize("steps", [1, 2, 5, 20])
async def test_a_caller_may_give_up_at_any_moment(steps: int) -> None:
    reading = asyncio.create_task(read_lines(a_pdf(), "pdf"))
    for _ in range(steps):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert readers() == []


async def test_the_reader_is_killed_when_its_time_is_over() -> None:
    with pytest.raises(ResumeError, match="too much time or memory"):
        await read_lines(endless_drawing(), "pdf", seconds=0.2)
    assert readers() == []


async def test_pictures_are_never_decoded() -> None:
    """A picture that says it has four billion pixels does no harm: nobody looks at it."""
    header = struct.pack(">IIBBBBB", 65_535, 65_535, 8, 2, 0, 0, 0)
    picture = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header
    imported = await import_resume(with_member("word/media/image1.png", picture))
    assert imported.resume.to_json() == {
        "basics": {"name": "Jane Doe", "email": "jane@example.com"}
    }


@pytest.mark.parametrize(("kind", "library"), [("pdf", "pdfplumber"), ("docx", "docx")])
async def test_without_the_extra_the_reader_says_so(kind: str, library: str) -> None:
    async def read_without(document: bytes, main: str, **given: Any) -> str:
        hidden = f"import sys; sys.modules[{library!r}] = None\n{main}"
        return await read_apart(document, hidden, **given)

    content = a_docx() if kind == "docx" else a_pdf()
    with pytest.raises(ReaderMissingError) as caught:
        await import_resume(content, read=read_without)
    assert "oda[resume]" in caught.value.message("zh")
