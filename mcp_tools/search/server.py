"""The documents over MCP."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from mcp_tools.search.documents import DocumentError, Documents

MAX_HITS = 50

_LOOKS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


class SearchHit(BaseModel):
    """A section of a document that matches."""

    name: str
    """Name of the document, for `read_document`."""
    heading: str
    line: int
    """First line of the section, for `read_document`."""
    score: float
    """Higher is better; comparable within one search."""
    snippet: str


class SearchResult(BaseModel):
    """What was found, best first."""

    hits: list[SearchHit]
    note: str | None = None


def make_server(documents: Documents) -> MCPServer:
    """Create a server with the tools `search_documents` and `read_document`.

    Their output is not structured, because structured output is sent to the model twice.
    """
    server = MCPServer(
        "search",
        instructions="Find the right document with search_documents, then read it.",
        log_level="WARNING",
    )

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def search_documents(
        query: Annotated[str, Field(description="A few words, English or Chinese")],
        limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="Most hits to return")] = 5,
    ) -> SearchResult:
        """Find the sections of the documents that answer a query best."""
        try:
            hits = documents.search(query, limit=limit)
        except DocumentError as error:
            raise ToolError(str(error)) from error
        return SearchResult(
            hits=[
                SearchHit(
                    name=hit.section.document,
                    heading=hit.section.heading,
                    line=hit.section.line,
                    score=round(hit.score, 3),
                    snippet=hit.snippet,
                )
                for hit in hits
            ],
            note=None if hits else "nothing matches: try other or fewer words",
        )

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def read_document(
        name: Annotated[str, Field(description="As search_documents returned it")],
        first_line: Annotated[int, Field(ge=1, description="Where to begin")] = 1,
    ) -> str:
        """Read a document; of a long one, a part that begins at a line."""
        try:
            passage = documents.read(name, first_line=first_line)
        except DocumentError as error:
            raise ToolError(str(error)) from error
        lines = f"lines {passage.first_line}-{passage.last_line} of {passage.total_lines}"
        more = f"\n[cut; go on with first_line={passage.last_line + 1}]" if passage.cut else ""
        return f"[{passage.name}, {lines}]\n{passage.text}{more}"

    return server
