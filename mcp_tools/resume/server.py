"""Resumes over MCP, for agents and clients that have no session of the `cv` agent.

CVReader, CVEditor and CVUndo are the tools of that agent, with an id that says which resume is
meant. A refused call is a tool error that holds the same answer as the agent's tools give.
"""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import uuid4

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import Field, TypeAdapter, ValidationError

from mcp_tools.resume.desk import Answer, ResumeDesk, refusal
from mcp_tools.resume.errors import ResumeError
from mcp_tools.resume.export import Format, Rendered, Template, render
from mcp_tools.resume.files import ResumeFiles, StoredResume
from mcp_tools.resume.naming import load_resume

MAX_LISTED = 200

_LOOKS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_TEMPLATE: TypeAdapter[Template] = TypeAdapter(Template)

ResumeId = Annotated[str, Field(description="Which resume, as CVList and CVCreate return it")]
ExpectedVersion = Annotated[
    int | None,
    Field(description="The version that you have read; any other is left alone and is an error"),
]
_TEXTS = frozenset({"json", "md", "html"})
"""The formats that a model can read; files of the others are fetched as resources."""

Value = str | int | float | bool | list[Any] | dict[str, Any] | None


def make_server(resumes: ResumeFiles) -> MCPServer:
    """Create a server with tools to list, create, read, edit, undo and export, and resources.

    `resume://{id}` is the document, `resume://{id}/{template}.pdf` and `.docx` are files of it.
    Each answer about one resume holds its `resume_id` and `version`. Output is not structured,
    because structured output is sent to the model twice.
    """
    server = MCPServer(
        "resume",
        instructions="Find a resume with CVList or make one with CVCreate. Read it with CVReader, "
        "then change it with CVEditor, one edit at a time.",
        log_level="WARNING",
    )
    _add_folder_tools(server, resumes)
    _add_desk_tools(server, resumes)
    _add_export_tool(server, resumes)
    _add_resources(server, resumes)
    return server


def _add_folder_tools(server: MCPServer, resumes: ResumeFiles) -> None:
    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    async def CVList(
        limit: Annotated[int, Field(ge=1, le=MAX_LISTED, description="Most to return")] = 50,
    ) -> CallToolResult:
        """Lists the resumes, the one changed last first.

        Returns:
            {"success": true, "total", "resumes": [{"resume_id", "name", "label", "version"}]}
        """

        def listed() -> Answer:
            ids = resumes.ids()
            summaries = [_summary(resumes, resume_id) for resume_id in ids[:limit]]
            return {"success": True, "total": len(ids), "resumes": summaries}

        return await _told(resumes, listed)

    @server.tool(annotations=_ADDS, structured_output=False)
    async def CVCreate(
        resume_id: Annotated[
            str | None,
            Field(description="Lower-case letters, digits, - and _; optional"),
        ] = None,
        resume_data: Annotated[
            dict[str, Any] | None, Field(description="A JSON Resume document; empty if left out")
        ] = None,
    ) -> CallToolResult:
        """Creates a resume; never overwrites one.

        Returns:
            {"success": true, "resume_id", "version"}, or {"success": false, "error"}.
        """
        name = resume_id or f"resume-{uuid4().hex[:12]}"

        def create() -> Answer:
            stored = resumes.create(name, load_resume(resume_data))
            return {"success": True, **_identity(name, stored)}

        return await _told(resumes, create)


def _add_desk_tools(server: MCPServer, resumes: ResumeFiles) -> None:
    @server.tool(
        annotations=_LOOKS_ONLY,
        description=inspect.getdoc(ResumeDesk.read),
        structured_output=False,
    )
    async def CVReader(resume_id: ResumeId, path: str = "") -> CallToolResult:
        def read() -> Answer:
            stored = resumes.load(resume_id)
            return ResumeDesk(stored).read(path) | _identity(resume_id, stored)

        return await _told(resumes, read, path=path)

    @server.tool(
        annotations=_CHANGES,
        description=inspect.getdoc(ResumeDesk.edit),
        structured_output=False,
    )
    async def CVEditor(
        resume_id: ResumeId,
        path: str,
        action: Literal["add", "update", "delete", "move"],
        value: Value = None,
        expected_version: ExpectedVersion = None,
    ) -> CallToolResult:
        def edit() -> Answer:
            with resumes.changing(resume_id) as stored:
                desk = ResumeDesk(stored, expected_version=expected_version)
                return desk.edit(path, action, value) | _identity(resume_id, stored)

        return await _told(resumes, edit, path=path)

    @server.tool(
        annotations=_CHANGES,
        description=inspect.getdoc(ResumeDesk.undo),
        structured_output=False,
    )
    async def CVUndo(
        resume_id: ResumeId, expected_version: ExpectedVersion = None
    ) -> CallToolResult:
        def undo() -> Answer:
            with resumes.changing(resume_id) as stored:
                desk = ResumeDesk(stored, expected_version=expected_version)
                return desk.undo() | _identity(resume_id, stored)

        return await _told(resumes, undo)


def _add_export_tool(server: MCPServer, resumes: ResumeFiles) -> None:
    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    async def CVExport(
        resume_id: ResumeId,
        format: Format,
        template: Annotated[
            Template, Field(description="The look of html, docx and pdf")
        ] = "classic",
    ) -> CallToolResult:
        """Makes a file of a resume.

        Returns:
            The text of json, md and html; of docx and pdf a link to the file, for the client.
        """
        try:
            rendered = await asyncio.to_thread(_rendered, resumes, resume_id, format, template)
        except ResumeError as error:
            return _result(refusal(error, resumes.language))
        uri = f"resume://{resume_id}/{template}{rendered.suffix}"
        return CallToolResult(content=[_exported(uri, format, rendered)])


def _add_resources(server: MCPServer, resumes: ResumeFiles) -> None:
    async def exported(resume_id: str, format: Format, template: str) -> bytes:
        try:
            look = _TEMPLATE.validate_python(template)
            rendered = await asyncio.to_thread(_rendered, resumes, resume_id, format, look)
        except ValidationError:
            raise ResourceError(f"there is no template {template!r}") from None
        except ResumeError as error:
            raise ResourceError(error.message(resumes.language)) from error
        return rendered.content

    @server.resource("resume://{resume_id}", mime_type="application/json")
    async def resume(resume_id: str) -> str:
        """A resume as a JSON Resume document."""
        return (await exported(resume_id, "json", "classic")).decode()

    @server.resource("resume://{resume_id}/{template}.pdf", mime_type="application/pdf")
    async def resume_pdf(resume_id: str, template: str) -> bytes:
        """A resume as a PDF file; the templates are classic and modern."""
        return await exported(resume_id, "pdf", template)

    @server.resource("resume://{resume_id}/{template}.docx", mime_type=_DOCX)
    async def resume_docx(resume_id: str, template: str) -> bytes:
        """A resume as a Word file; the templates are classic and modern."""
        return await exported(resume_id, "docx", template)


def _rendered(resumes: ResumeFiles, resume_id: str, format: Format, template: Template) -> Rendered:
    return render(resumes.load(resume_id).resume, format, template=template)


def _exported(uri: str, format: Format, rendered: Rendered) -> EmbeddedResource | ResourceLink:
    if format in _TEXTS:
        text = TextResourceContents(
            uri=uri, mime_type=rendered.media_type, text=rendered.content.decode()
        )
        return EmbeddedResource(type="resource", resource=text)
    return ResourceLink(
        type="resource_link",
        uri=uri,
        name=uri.rpartition("/")[2],
        mime_type=rendered.media_type,
        size=len(rendered.content),
    )


async def _told(
    resumes: ResumeFiles, operation: Callable[[], Answer], *, path: str = ""
) -> CallToolResult:
    """Do it in a thread; a refusal is an error that clients know as one."""
    try:
        answer = await asyncio.to_thread(operation)
    except ResumeError as error:
        answer = refusal(error, resumes.language, path=path)
    return _result(answer)


def _result(answer: Answer) -> CallToolResult:
    text = json.dumps(answer, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], is_error=not answer["success"]
    )


def _identity(resume_id: str, stored: StoredResume) -> Answer:
    return {"resume_id": resume_id, "version": stored.resume.version}


def _summary(resumes: ResumeFiles, resume_id: str) -> Answer:
    try:
        stored = resumes.load(resume_id)
    except ResumeError as error:
        return {"resume_id": resume_id, "error": error.message(resumes.language)}
    basics = stored.resume.basics
    return {
        **_identity(resume_id, stored),
        "name": basics and basics.name,
        "label": basics and basics.label,
    }
