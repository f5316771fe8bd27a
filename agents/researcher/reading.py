"""Reading of what a search has found, for an article that is written in one answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from pydantic_core import to_json

from mcp_tools.web.errors import WebError
from mcp_tools.web.providers import SearchResult
from mcp_tools.web.web import Page, Web
from oda.errors import SandboxUnavailableError
from oda.telemetry import get_logger
from oda.tools.untrusted import marked
from oda.workspace.workspace import Workspace

from .evidence import keep_page

log = get_logger(__name__)

LEAST_READ = 3
"""Pages to read, if so many of those that were found can be read."""
_AT_ONCE = 4
_LONGEST_S = 45.0
_SHOWN_CHARS = 8_000
_NOTHING = "(nothing was found)"
_FEW = "Only {count} of these pages could be read. Say so in the article."
_UNREAD = "Found, but not read. Their words are only a hint: state nothing from them, cite none."


async def read_results(web: Web, results: Sequence[SearchResult], workspace: Workspace) -> str:
    """Read the first results until enough of them are read; return them as text for the model."""
    read: dict[str, Page] = {}
    waiting = list(results)
    try:
        async with asyncio.timeout(_LONGEST_S):
            while waiting and len(read) < LEAST_READ:
                now, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
                for page in await asyncio.gather(*(_read(web, one.url) for one in now)):
                    if page is not None:
                        read[page.url] = page
                        await keep_page(workspace, page)
    except TimeoutError:
        log.warning("reading_cut_off", read=len(read))
    if not results:
        return _NOTHING
    parts = [_told(page) for page in read.values()]
    if len(read) < LEAST_READ:
        parts.append(_FEW.format(count=len(read)))
    unread = [one for one in results if one.url not in read]
    if unread:
        listed = "\n\n".join(to_json(marked(asdict(one)), indent=1).decode() for one in unread)
        parts.append(f"{_UNREAD}\n\n{listed}")
    return "\n\n".join(parts)


async def _read(web: Web, url: str) -> Page | None:
    try:
        return await web.fetch(url)
    except (WebError, SandboxUnavailableError) as error:
        log.info("page_not_read", url=url, reason=str(error))
        return None


def _told(page: Page) -> str:
    shown = {
        "url": page.url,
        "title": page.title,
        "published": page.published,
        "text": page.text[:_SHOWN_CHARS],
    }
    return to_json(marked(shown), indent=1).decode()
