"""Documents read as Markdown in a real sandbox, hostile ones among them."""

import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oda.clock import SystemClock
from oda.errors import SandboxUnavailableError, WorkspaceError
from oda.settings import Settings, WorkspaceSettings
from oda.workspace.documents import read_document
from oda.workspace.sandbox.choice import Sandboxes
from oda.workspace.sandbox.sandbox import Program, RunResult
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces
from tests.support.translated import pdf_report, presentation, word_report, workbook

pytestmark = pytest.mark.sandbox


@pytest.fixture
async def sandboxes() -> AsyncIterator[Sandboxes]:
    async with Sandboxes(Settings()) as ours:
        yield ours


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspaces = Workspaces(tmp_path / "workspaces", WorkspaceSettings(), SystemClock())
    async with await workspaces.open("session", "run") as ours:
        yield ours


async def test_word_documents_are_read_with_headings_lists_tables_and_links(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    word_report(workspace.path / "input" / "a.docx")
    text = await read_document(workspace, "input/a.docx", sandboxes)
    assert "*Header: Annual header*" in text
    assert "# The annual report" in text
    assert "**very good**" in text
    assert "[our site](https://example.com/report)" in text
    assert "- First item" in text
    assert (
        "| Region | Revenue | Remark |\n| --- | --- | --- |\n| North \\| South |  | 1200 |" in text
    )
    assert "![picture" in text


async def test_long_documents_come_in_pieces_that_fit_together(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    word_report(workspace.path / "input" / "a.docx")
    whole = await read_document(workspace, "input/a.docx", sandboxes)
    first = await read_document(workspace, "input/a.docx", sandboxes, max_chars=100)
    body, _, note = first.rpartition("\n\n")
    assert note == "[more follows: go on with offset 100]"
    rest = await read_document(workspace, "input/a.docx", sandboxes, offset=100)
    assert body + rest == whole


async def test_workbooks_are_read_sheet_by_sheet_whatever_size_they_claim(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    path = workspace.path / "input" / "a.xlsx"
    workbook(path)
    _replace(path, "xl/worksheets/sheet1.xml", b'ref="A1:B7"', b'ref="A1:XFD1048576"')
    text = await read_document(workspace, "input/a.xlsx", sandboxes)
    assert "## Sheet 'Sales data'" in text
    assert "| 3 | South | 200.5 |" in text
    assert "[A1:B7: 7 rows × 2 columns]" in text
    assert "B5 `=SUM(Sales[Amount])`" in text


async def test_pdfs_are_read_page_by_page_with_their_tables(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    pdf_report(workspace.path / "input" / "a.pdf")
    text = await read_document(workspace, "input/a.pdf", sandboxes)
    assert "## Page 1\n\nThe annual report" in text
    assert "| Region | Revenue |\n| --- | --- |\n| North | 100 |" in text
    assert "## Page 2\n\nSecond page" in text


async def test_presentations_are_read_with_levels_tables_and_notes(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    presentation(workspace.path / "input" / "a.pptx")
    text = await read_document(workspace, "input/a.pptx", sandboxes)
    assert "## Slide 1: Strategy\n\n- First\n  - Deeper" in text
    assert "| Key | Value |" in text
    assert "> Notes: Say hello" in text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
async def test_tables_as_text_are_read_in_their_encoding(
    workspace: Workspace, sandboxes: Sandboxes, encoding: str
) -> None:
    await workspace.write("input/a.csv", "姓名;数量\n张三;3,5\n李四;4\n".encode(encoding))
    text = await read_document(workspace, "input/a.csv", sandboxes)
    assert "Table of 2 rows × 2 columns" in text
    assert "| 数量 | number | 0 |" in text
    assert "| 张三 | 3,5 |" in text


async def test_pages_are_read_without_what_is_not_shown(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    page = "<title>T &amp; U</title><script>evil()</script><h2>Hi<p>a <b>b</b><table><tr><td>1<td>2"
    await workspace.write("input/a.html", page.encode())
    text = await read_document(workspace, "input/a.html", sandboxes)
    assert text.split("\n\n")[:3] == ["Title: T & U", "## Hi", "a **b**"]
    assert "| 1 | 2 |" in text
    assert "evil" not in text


async def test_files_that_cannot_be_read_say_why(
    workspace: Workspace, sandboxes: Sandboxes
) -> None:
    folder = workspace.path / "input"
    pdf_report(folder / "locked.pdf", password="secret")
    pdf_report(folder / "really.pdf")
    (folder / "wrong.docx").write_bytes((folder / "really.pdf").read_bytes())
    workbook(folder / "cut.xlsx")
    whole = (folder / "cut.xlsx").read_bytes()
    (folder / "cut.xlsx").write_bytes(whole[: len(whole) // 2])
    (folder / "old.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    word_report(folder / "entities.docx")
    entity = b'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document '
    _replace(folder / "entities.docx", "word/document.xml", b"<w:document ", entity)
    word_report(folder / "bomb.docx")
    with zipfile.ZipFile(folder / "bomb.docx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/zeros.bin", bytes(64 * 2**20))
    for name, reason in {
        "locked.pdf": "protected by a password",
        "wrong.docx": "a .pdf file by its content",
        "cut.xlsx": "damaged or incomplete",
        "old.docx": "old Office format",
        "entities.docx": "declares XML entities",
        "bomb.docx": "more than can be read",
    }.items():
        with pytest.raises(WorkspaceError, match=reason) as refused:
            await read_document(workspace, f"input/{name}", sandboxes)
        assert refused.value.remedy, name


class NoSandbox:
    """A machine on which no code may run."""

    async def run(self, program: Program, workspace: Workspace) -> RunResult:
        raise SandboxUnavailableError("there is none")


async def test_without_a_sandbox_only_texts_are_opened(workspace: Workspace) -> None:
    await workspace.write("input/a.csv", b"a,b\n1,2\n")
    word_report(workspace.path / "input" / "a.docx")
    assert "a,b\n1,2" in await read_document(workspace, "input/a.csv", NoSandbox())
    with pytest.raises(SandboxUnavailableError):
        await read_document(workspace, "input/a.docx", NoSandbox())


def _replace(path: Path, member: str, old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[member], parts[member][:300]
    parts[member] = parts[member].replace(old, new, 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
