"""DuckDuckGo without a key, through the unofficial library `ddgs`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from mcp_tools.web.errors import (
    SearchNotConfiguredError,
    SearchQuotaError,
    SearchUnavailableError,
)
from mcp_tools.web.providers.provider import SearchResult, results_of

TIMEOUT_S = 10

Engine = Callable[[str, int], list[dict[str, Any]]]
"""From a query and the most results to rows; blocks, and raises what `ddgs` raises."""


def duckduckgo(query: str, limit: int) -> list[dict[str, Any]]:
    """Ask now, in this thread."""
    from ddgs import DDGS

    return DDGS(timeout=TIMEOUT_S).text(query, max_results=limit, backend="duckduckgo")


class Ddgs:
    """Slow, and easily refused when asked often: for trying things out."""

    name = "ddgs"

    def __init__(self, engine: Engine = duckduckgo) -> None:
        self._engine = engine

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        try:
            from ddgs.exceptions import DDGSException, RatelimitException
        except ImportError as error:
            raise SearchNotConfiguredError(
                "ddgs is not installed: install the extra `researcher`"
            ) from error
        try:
            rows = await asyncio.to_thread(self._engine, query, limit)
        except RatelimitException as error:
            raise SearchQuotaError(self.name) from error
        except DDGSException as error:
            if "No results" in str(error):
                return []
            raise SearchUnavailableError("ddgs gets no answer: try again later") from error
        return results_of(rows, url="href", snippet="body", published="date", limit=limit)
