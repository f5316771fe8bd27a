"""Brave's web search API."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

import httpx

from mcp_tools.web.providers.json_api import ask
from mcp_tools.web.providers.provider import SearchResult, results_of

URL = "https://api.search.brave.com"

_TOKEN_IS_INVALID = 422


class Brave:
    """Web results without markup."""

    name = "brave"

    def __init__(self, client: httpx.AsyncClient, key: str, *, url: str = URL) -> None:
        self._client = client
        self._key = key
        self._url = f"{url}/res/v1/web/search"

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        request = self._client.build_request(
            "GET",
            self._url,
            params={
                "q": query,
                "count": limit,
                "result_filter": "web",
                "text_decorations": "false",
            },
            headers={"X-Subscription-Token": self._key, "Accept": "application/json"},
        )
        answer = await ask(
            self._client,
            request,
            provider=self.name,
            denied="correct BRAVE_API_KEY",
            denied_statuses=(401, 403, _TOKEN_IS_INVALID),
        )
        web = answer.get("web")
        rows = web.get("results") if isinstance(web, Mapping) else None
        found = results_of(rows, snippet="description", published="page_age", limit=limit)
        return [
            replace(each, title=html.unescape(each.title), snippet=html.unescape(each.snippet))
            for each in found
        ]
