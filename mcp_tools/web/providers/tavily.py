"""Tavily's search API."""

from collections.abc import Sequence

import httpx

from mcp_tools.web.providers.json_api import ask
from mcp_tools.web.providers.provider import SearchResult, results_of

URL = "https://api.tavily.com"

_PLAN_IS_USED_UP = (432, 433)


class Tavily:
    """A basic search, of one credit."""

    name = "tavily"

    def __init__(self, client: httpx.AsyncClient, key: str, *, url: str = URL) -> None:
        self._client = client
        self._key = key
        self._url = f"{url}/search"

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        request = self._client.build_request(
            "POST",
            self._url,
            json={"query": query, "max_results": limit, "search_depth": "basic"},
            headers={"Authorization": f"Bearer {self._key}"},
        )
        answer = await ask(
            self._client,
            request,
            provider=self.name,
            denied="correct TAVILY_API_KEY",
            quota_statuses=(429, *_PLAN_IS_USED_UP),
        )
        return results_of(
            answer.get("results"), snippet="content", published="published_date", limit=limit
        )
