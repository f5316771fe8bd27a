"""SearXNG: a metasearch engine that people run themselves."""

from collections.abc import Sequence

import httpx

from mcp_tools.web.errors import SearchUnavailableError
from mcp_tools.web.providers.json_api import ask
from mcp_tools.web.providers.provider import SearchResult, results_of

_DENIED = "let it give JSON (`search.formats` in its settings.yml), or correct SEARXNG_URL"


class Searxng:
    """Its JSON API; the URL is the operator's, so it may be private."""

    name = "searxng"

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self._url = f"{url.rstrip('/')}/search"

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        request = self._client.build_request(
            "GET", self._url, params={"q": query, "format": "json"}
        )
        answer = await ask(self._client, request, provider=self.name, denied=_DENIED)
        results = results_of(
            answer.get("results"), snippet="content", published="publishedDate", limit=limit
        )
        if not results and answer.get("unresponsive_engines"):
            raise SearchUnavailableError("none of searxng's engines answers: try again later")
        return results
