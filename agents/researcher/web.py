"""The tools `web_search` and `fetch_page`: the web as `mcp_tools.web` gives it."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from google.adk.tools.tool_context import ToolContext

from mcp_tools.web.errors import WebError
from mcp_tools.web.web import Page, SearchResults, Web
from oda import ApplicationResource, finds, idempotent, reaches, read_apart, untrusted
from oda.errors import SandboxUnavailableError
from oda.workspace.tools import refusal, workspace_of

from .evidence import keep_page

the_web = ApplicationResource(partial(Web, read=read_apart))


@idempotent
@untrusted
@finds("url")
async def web_search(query: str) -> dict[str, Any]:
    """Search the web for pages; returns titles, URLs and snippets, best first.

    Args:
        query: A few words, in any language.
    """
    return await _answer(lambda web: web.search(query))


@idempotent
@untrusted
@reaches("url")
async def fetch_page(url: str, tool_context: ToolContext) -> dict[str, Any]:
    """Read a public web page or PDF as text; a long one is cut.

    Args:
        url: As web_search has returned it.
    """

    async def read(web: Web) -> Page:
        page = await web.fetch(url)
        async with workspace_of(tool_context) as workspace:
            await keep_page(workspace, page)
        return page

    return await _answer(read)


async def _answer(ask: Callable[[Web], Awaitable[SearchResults | Page]]) -> dict[str, Any]:
    try:
        async with the_web.use() as web:
            return asdict(await ask(web))
    except WebError as error:
        return {"error": {"code": error.code, "message": str(error)}}
    except SandboxUnavailableError as error:
        return refusal(error)
