"""The resume server: real processes on stdio and HTTP, the SDK's client, and files on a disk."""

import asyncio
import json
import os
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agents.cv.tools import CVEditor, CVReader, CVUndo
from mcp_tools.resume import ResumeTooLargeError, load_resume
from mcp_tools.resume.files import (
    MAX_FILE_BYTES,
    InvalidIdError,
    ResumeExistsError,
    ResumeFiles,
    StorageError,
    UnknownResumeError,
    UnreadableResumeError,
)
from oda.config import StdioMcpServerRecord
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import call, free_port, listening

REPOSITORY = Path(__file__).parents[2]
ANNA = {
    "basics": {"name": "Anna", "label": "Engineer"},
    "work": [{"name": "Initech", "position": "前端工程师"}],
}


@asynccontextmanager
async def served(folder: Path, transport: str) -> AsyncIterator[Client]:
    """A client of a server process, connected."""
    arguments = ["-m", "mcp_tools.resume"]
    environment = {**os.environ, "RESUME_FOLDER": str(folder)}
    if transport == "stdio":
        parameters = StdioServerParameters(
            command=sys.executable, args=arguments, cwd=REPOSITORY, env=environment
        )
        async with Client(stdio_client(parameters)) as client:
            yield client
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        *("--transport", "http", "--port", str(port)),
        cwd=REPOSITORY,
        env=environment,
    )
    try:
        await listening(port)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    answer: dict[str, Any] = json.loads(text_of(result))
    return answer


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a call that is refused."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    answer: dict[str, Any] = json.loads(text_of(result))
    assert answer["success"] is False
    return answer


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_client_works_on_a_resume(transport: str, tmp_path: Path) -> None:
    async with served(tmp_path / "resumes", transport) as client:
        assert await done(client, "CVList") == {"success": True, "total": 0, "resumes": []}
        made = await done(client, "CVCreate", resume_id="anna", resume_data=ANNA)
        assert made == {"success": True, "resume_id": "anna", "version": 0}
        assert await done(client, "CVReader", resume_id="anna", path="work[0].name") == {
            "success": True,
            "path": "work[0].name",
            "value": "Initech",
            "resume_id": "anna",
            "version": 0,
        }
        edited = await done(
            client,
            "CVEditor",
            resume_id="anna",
            path="work[0].position",
            action="update",
            value="技术负责人",
            expected_version=0,
        )
        assert (edited["value"], edited["version"]) == ("技术负责人", 1)
        undone = await done(client, "CVUndo", resume_id="anna")
        assert (undone["path"], undone["undone"], undone["version"]) == (
            "work[0].position",
            "update",
            2,
        )
        whole = await done(client, "CVReader", resume_id="anna", path="")
        assert whole["value"] == ANNA | {"meta": {"version": 2}}
        listed = await done(client, "CVList")
        assert listed["resumes"] == [
            {"resume_id": "anna", "version": 2, "name": "Anna", "label": "Engineer"}
        ]


async def test_what_a_client_does_wrong_is_an_error_that_helps(tmp_path: Path) -> None:
    async with served(tmp_path, "stdio") as client:
        await done(client, "CVCreate", resume_id="anna", resume_data=ANNA)
        conflict = await refused(
            client,
            "CVEditor",
            resume_id="anna",
            path="basics.name",
            action="update",
            value="Eve",
            expected_version=7,
        )
        assert conflict["code"] == "version_conflict"
        assert conflict["error"].startswith("The resume has changed: it is at version 0")
        assert (conflict["resume_id"], conflict["version"]) == ("anna", 0)
        wrong = await refused(client, "CVReader", resume_id="anna", path="work[3]")
        assert wrong["error"] == "There is no entry 4 in work experience; it has 1"
        assert (await refused(client, "CVUndo", resume_id="anna"))["code"] == "nothing_to_undo"
        for resume_id, code in (("../anna", "invalid_id"), ("bob", "unknown_resume")):
            assert (await refused(client, "CVReader", resume_id=resume_id))["code"] == code
        again = await refused(client, "CVCreate", resume_id="anna")
        assert again["error"].startswith("There is a resume 'anna' already")
        odd = await refused(client, "CVCreate", resume_data={"work": "none"})
        assert odd["code"] == "invalid_document"
        assert (await done(client, "CVReader", resume_id="anna", path=""))["value"] == ANNA
        unlisted = await client.call_tool(
            "CVEditor", {"resume_id": "anna", "path": "work", "action": "burn"}
        )
        assert unlisted.is_error and "'add', 'update', 'delete' or 'move'" in text_of(unlisted)


async def test_texts_that_look_like_json_are_kept_and_objects_sent_as_text_are_understood(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "stdio") as client:
        made = await done(client, "CVCreate")
        identity = {"resume_id": made["resume_id"]}
        await done(
            client,
            "CVEditor",
            **identity,
            path="work",
            action="add",
            value='{"name": "Initech", "startDate": 2021}',
        )
        await done(
            client, "CVEditor", **identity, path="basics.phone", action="update", value="0170"
        )
        whole = (await done(client, "CVReader", **identity, path=""))["value"]
        assert whole["work"] == [{"name": "Initech", "startDate": "2021"}]
        assert whole["basics"] == {"phone": "0170"}


async def test_the_tools_say_what_they_do_as_those_of_the_agent_do(tmp_path: Path) -> None:
    async with served(tmp_path, "stdio") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == {"CVList", "CVCreate", "CVReader", "CVEditor", "CVUndo", "CVExport"}
    for function in (CVReader, CVEditor, CVUndo):
        own = FunctionTool(function)
        served_one = tools[function.__name__]
        assert served_one.description == own.description
        declared = own._get_declaration()
        parameters = declared.parameters_json_schema if declared else None
        names = set((parameters or {}).get("properties", {}))
        assert names <= served_one.input_schema["properties"].keys()
    hints = {
        name: tool.annotations.model_dump(exclude_none=True)
        for name, tool in tools.items()
        if tool.annotations
    }
    looks = {"read_only_hint": True, "idempotent_hint": True, "open_world_hint": False}
    changes = {"read_only_hint": False, "idempotent_hint": False, "open_world_hint": False}
    assert hints == {
        "CVList": looks,
        "CVReader": looks,
        "CVExport": looks,
        "CVCreate": changes | {"destructive_hint": False},
        "CVEditor": changes | {"destructive_hint": True},
        "CVUndo": changes | {"destructive_hint": True},
    }


async def test_a_resume_is_a_resource(tmp_path: Path) -> None:
    ResumeFiles(tmp_path).create("anna", load_resume(ANNA))  # type: ignore[arg-type]
    async with served(tmp_path, "stdio") as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == [
            "resume://{resume_id}",
            "resume://{resume_id}/{template}.pdf",
            "resume://{resume_id}/{template}.docx",
        ]
        (content,) = (await client.read_resource("resume://anna")).contents
        assert isinstance(content, TextResourceContents)
        assert content.mime_type == "application/json"
        assert json.loads(content.text) == ANNA
        with pytest.raises(MCPError, match="There is no resume 'bob'"):
            await client.read_resource("resume://bob")
        with pytest.raises(MCPError, match="there is no template 'fancy'"):
            await client.read_resource("resume://anna/fancy.pdf")


@pytest.mark.parametrize(("format", "begins"), [("json", "{"), ("md", "# Anna"), ("html", "<!")])
async def test_a_text_is_exported_as_it_is(tmp_path: Path, format: str, begins: str) -> None:
    ResumeFiles(tmp_path).create("anna", load_resume(ANNA))  # type: ignore[arg-type]
    async with served(tmp_path, "stdio") as client:
        result = await client.call_tool("CVExport", {"resume_id": "anna", "format": format})
        assert not result.is_error
        (content,) = result.content
        assert isinstance(content, EmbeddedResource)
        assert isinstance(content.resource, TextResourceContents)
        assert content.resource.text.startswith(begins)
        assert "前端工程师" in content.resource.text
        unknown = await refused(client, "CVExport", resume_id="bob", format=format)
        assert unknown["code"] == "unknown_resume"


@pytest.mark.parametrize(("format", "begins"), [("pdf", b"%PDF-"), ("docx", b"PK")])
async def test_a_file_is_exported_as_a_link(tmp_path: Path, format: str, begins: bytes) -> None:
    ResumeFiles(tmp_path).create("anna", load_resume(ANNA))  # type: ignore[arg-type]
    async with served(tmp_path, "stdio") as client:
        result = await client.call_tool(
            "CVExport", {"resume_id": "anna", "format": format, "template": "modern"}
        )
        (link,) = result.content
        assert isinstance(link, ResourceLink)
        assert link.uri == f"resume://anna/modern.{format}"
        (content,) = (await client.read_resource(link.uri)).contents
        assert isinstance(content, BlobResourceContents)
        file = b64decode(content.blob)
        assert file.startswith(begins)
        assert (len(file), content.mime_type) == (link.size, link.mime_type)


async def test_an_agent_of_oda_uses_the_server(tmp_path: Path) -> None:
    record = StdioMcpServerRecord(
        command="python",
        args=("-m", "mcp_tools.resume", "--folder", str(tmp_path), "--language", "zh"),
        cwd=REPOSITORY,
    )
    async with McpConnections({"resume": record}, environ={}) as mcp:
        toolset = mcp.toolset("resume")
        idempotent = {
            tool.name: (tool.custom_metadata or {}).get("idempotent", False)
            for tool in await toolset.get_tools()
        }
        assert idempotent == {
            "CVCreate": False,
            "CVEditor": False,
            "CVExport": True,
            "CVList": True,
            "CVReader": True,
            "CVUndo": False,
        }
        refusal = await call(toolset, "CVReader", resume_id="anna", path="")
        assert refusal["isError"] is True
        assert "没有编号为「anna」的简历" in refusal["content"][0]["text"]


async def test_writers_in_several_processes_lose_nothing(tmp_path: Path) -> None:
    edits = 15
    async with served(tmp_path, "stdio") as first, served(tmp_path, "http") as second:
        await done(first, "CVCreate", resume_id="anna")
        await asyncio.gather(
            *(
                done(
                    client,
                    "CVEditor",
                    resume_id="anna",
                    path="skills",
                    action="add",
                    value={"name": f"{name}-{number}"},
                )
                for number in range(edits)
                for name, client in (("first", first), ("second", second))
            )
        )
        read = await done(second, "CVReader", resume_id="anna", path="skills")
        assert {entry["name"] for entry in read["value"]} == {
            f"{name}-{number}" for number in range(edits) for name in ("first", "second")
        }
        assert read["version"] == 2 * edits
        for _ in range(2 * edits):
            await done(first, "CVUndo", resume_id="anna")
        assert (await done(first, "CVReader", resume_id="anna", path="skills"))["value"] == []


async def test_of_two_edits_of_the_same_version_one_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, "stdio") as first, served(tmp_path, "stdio") as second:
        await done(first, "CVCreate", resume_id="anna")
        results = await asyncio.gather(
            *(
                client.call_tool(
                    "CVEditor",
                    {
                        "resume_id": "anna",
                        "path": "basics.name",
                        "action": "update",
                        "value": name,
                        "expected_version": 0,
                    },
                )
                for name, client in (("Anna", first), ("Eve", second))
            )
        )
        assert sorted(result.is_error for result in results) == [False, True]
        assert (await done(first, "CVReader", resume_id="anna"))["version"] == 1


def test_a_refused_or_failed_change_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    files = ResumeFiles(tmp_path)
    files.create("anna", load_resume(ANNA))  # type: ignore[arg-type]
    before = (tmp_path / "anna.json").read_bytes()
    with pytest.raises(RuntimeError), files.changing("anna") as stored:
        stored.resume = load_resume({})
        raise RuntimeError("crash")
    with pytest.raises(ResumeTooLargeError), files.changing("anna") as stored:
        stored.resume = load_resume({"basics": {"summary": "x" * MAX_FILE_BYTES}})
    assert (tmp_path / "anna.json").read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".lock", "anna.json"]
    with pytest.raises(ResumeExistsError):
        files.create("anna", load_resume({}))


@pytest.mark.parametrize("resume_id", ["", ".", "../x", "a/b", "A", "a.json", ".lock", "x" * 65])
def test_an_id_that_is_no_plain_name_is_refused(tmp_path: Path, resume_id: str) -> None:
    files = ResumeFiles(tmp_path)
    with pytest.raises(InvalidIdError):
        files.load(resume_id)
    with pytest.raises(InvalidIdError):
        files.create(resume_id, load_resume({}))
    assert list(tmp_path.iterdir()) == []


def test_links_and_damaged_files_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "resumes"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"resume": {}, "history": []}')
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "damaged.json").write_text('{"resume": {"work"')
    files = ResumeFiles(folder)
    assert files.ids() == ["damaged"]
    with pytest.raises(StorageError):
        files.load("link")
    with pytest.raises(UnreadableResumeError):
        files.load("damaged")
    with pytest.raises(UnknownResumeError):
        files.load("none")


def test_a_folder_that_cannot_be_one_is_told_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError) as raised:
        ResumeFiles(tmp_path / "file").create("anna", load_resume({}))
    assert str(tmp_path) not in str(raised.value)
