"""`mcp_tools.search`: the documents, their ranking, and the server over stdio and HTTP."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.base_toolset import BaseToolset

from mcp_tools.search.documents import MAX_PASSAGE_CHARACTERS, DocumentError, Documents, sections
from mcp_tools.search.ranking import Index, terms
from oda.config import AnyMcpServerRecord, RemoteMcpServerRecord, StdioMcpServerRecord
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import call, free_port, listening

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    (root / "guide").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / "README.md").write_text(
        "Welcome.\n\n# Install\nRun `uv sync`.\n\n# Retry\nThe retry policy waits longer.\n"
    )
    (root / "guide" / "中文.md").write_text("# 重试\n执行失败时自动重试，间隔逐渐递增。\n")
    (root / "guide" / "notes.txt").write_text("Nothing about installing here.\n")
    (root / ".hidden" / "secret.md").write_text("retry retry retry")
    (root / "data.bin").write_text("retry")
    (tmp_path / "outside.md").write_text("retry outside")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    return root


def found(documents: Documents, query: str) -> list[tuple[str, str]]:
    return [(hit.section.document, hit.section.heading) for hit in documents.search(query, limit=9)]


def test_the_section_that_answers_best_comes_first(folder: Path) -> None:
    assert found(Documents(folder), "retry policy") == [("README.md", "Retry")]


def test_chinese_is_found_by_words_and_by_single_characters(folder: Path) -> None:
    assert found(Documents(folder), "自动重试") == [("guide/中文.md", "重试")]
    assert found(Documents(folder), "递") == [("guide/中文.md", "重试")]


def test_names_of_documents_and_headings_count(folder: Path) -> None:
    assert found(Documents(folder), "notes") == [("guide/notes.txt", "")]
    assert found(Documents(folder), "install")[0] == ("README.md", "Install")


def test_only_what_is_included_is_searched(folder: Path) -> None:
    documents = Documents(folder, include=["README.md", "not-there"])
    assert found(documents, "重试") == []
    assert found(documents, "retry") == [("README.md", "Retry")]


def test_a_new_document_is_found_without_a_restart(folder: Path) -> None:
    documents = Documents(folder)
    assert found(documents, "zebra") == []
    (folder / "zoo.md").write_text("A zebra.")
    assert found(documents, "zebra") == [("zoo.md", "")]


@pytest.mark.parametrize(
    "name",
    ["../outside.md", "link.md", ".hidden/secret.md", "data.bin", "/etc/passwd", "guide", "a\0b"],
)
def test_nothing_but_documents_below_the_folder_can_be_read(folder: Path, name: str) -> None:
    with pytest.raises(DocumentError, match="there is no document"):
        Documents(folder).read(name)


def test_a_long_document_is_read_in_parts_that_join(folder: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(1, 5001))
    (folder / "long.md").write_text(text)
    documents = Documents(folder)
    first = documents.read("long.md")
    assert first.cut
    assert len(first.text) <= MAX_PASSAGE_CHARACTERS
    parts, passage = [first.text], first
    while passage.cut:
        passage = documents.read("long.md", first_line=passage.last_line + 1)
        parts.append(passage.text)
    assert "\n".join(parts) == text
    with pytest.raises(DocumentError, match="lines 1 to 5000"):
        documents.read("long.md", first_line=5001)


def test_headings_in_code_do_not_begin_a_section() -> None:
    text = "# One\n```\n# not a heading\n```\n# Two ##\nend"
    assert [(part.heading, part.line) for part in sections("x", text)] == [("One", 1), ("Two", 5)]


def test_terms_are_words_their_parts_and_chinese_pairs() -> None:
    assert terms("Max_Retries: 3 重试次") == [
        *("max_retries", "max", "retries", "3"),
        *("重", "试", "次", "重试", "试次"),
    ]


def test_rare_terms_count_more_and_long_texts_less() -> None:
    index = Index(["apple pear", "apple", "apple " + "filler " * 50, "plum"])
    assert [number for number, _ in index.rank("pear apple", limit=9)] == [0, 1, 2]
    assert index.rank("melon", limit=9) == []
    assert Index([]).rank("apple", limit=9) == []


@asynccontextmanager
async def served(folder: Path, transport: str) -> AsyncIterator[AnyMcpServerRecord]:
    arguments = ("-m", "mcp_tools.search", "--root", str(folder))
    if transport == "stdio":
        yield StdioMcpServerRecord(command="python", args=arguments, cwd=REPOSITORY)
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, "--transport", "http", "--port", str(port), cwd=REPOSITORY
    )
    try:
        await listening(port)
        yield RemoteMcpServerRecord(transport="http", url=f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_agent_searches_and_reads_over(transport: str, folder: Path) -> None:
    (folder / "long.md").write_text("something else\n" * 5000)
    async with (
        served(folder, transport) as record,
        McpConnections({"search": record}, environ={}) as mcp,
    ):
        toolset = mcp.toolset("search")
        tools = await toolset.get_tools()
        assert [(tool.name, tool.custom_metadata) for tool in tools] == [
            ("read_document", {"idempotent": True}),
            ("search_documents", {"idempotent": True}),
        ]
        (hit,) = json.loads(await text(toolset, "search_documents", query="自动重试"))["hits"]
        assert (hit["name"], hit["heading"], hit["line"]) == ("guide/中文.md", "重试", 1)
        assert await text(toolset, "read_document", name=hit["name"]) == (
            "[guide/中文.md, lines 1-2 of 2]\n# 重试\n执行失败时自动重试，间隔逐渐递增。"
        )
        assert "[cut; go on with first_line=" in await text(
            toolset, "read_document", name="long.md", first_line=2
        )
        assert "there is no document '../x'" in await error(toolset, "read_document", name="../x")
        assert "the query is empty" in await error(toolset, "search_documents", query=" ")
        assert "limit" in await error(toolset, "search_documents", query="x", limit=999)


async def text(toolset: BaseToolset, tool: str, **args: Any) -> str:
    result = await call(toolset, tool, **args)
    assert result["isError"] is False
    return str(result["content"][0]["text"])


async def error(toolset: BaseToolset, tool: str, **args: Any) -> str:
    result = await call(toolset, tool, **args)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is not a folder"):
        Documents(tmp_path / "none")
