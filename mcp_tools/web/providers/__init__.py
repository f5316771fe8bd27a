"""Search engines behind one interface, and which of them is asked."""

from typing import assert_never

import httpx

from mcp_tools.web.config import WebConfig
from mcp_tools.web.errors import SearchNotConfiguredError
from mcp_tools.web.providers.brave import Brave
from mcp_tools.web.providers.ddgs import Ddgs
from mcp_tools.web.providers.provider import SearchProvider, SearchResult
from mcp_tools.web.providers.searxng import Searxng
from mcp_tools.web.providers.tavily import Tavily

__all__ = ["SearchProvider", "SearchResult", "choose_provider"]


def choose_provider(config: WebConfig, client: httpx.AsyncClient) -> SearchProvider:
    """The provider that is chosen, or else the first that is set up.

    Raises:
        SearchNotConfiguredError: says what to set.
    """
    match config.provider:
        case "searxng":
            return Searxng(client, _needed(config.searxng_url, "SEARXNG_URL"))
        case "tavily":
            return Tavily(client, _needed(config.tavily_api_key, "TAVILY_API_KEY"))
        case "brave":
            return Brave(client, _needed(config.brave_api_key, "BRAVE_API_KEY"))
        case "ddgs":
            return Ddgs()
        case None:
            return _first(config, client)
        case never:
            assert_never(never)


def _first(config: WebConfig, client: httpx.AsyncClient) -> SearchProvider:
    if config.searxng_url:
        return Searxng(client, config.searxng_url)
    if config.tavily_api_key:
        return Tavily(client, config.tavily_api_key)
    if config.brave_api_key:
        return Brave(client, config.brave_api_key)
    raise SearchNotConfiguredError(
        "no web search is set up: set SEARXNG_URL, TAVILY_API_KEY or BRAVE_API_KEY, "
        "or ODA_SEARCH_PROVIDER=ddgs to search without a key"
    )


def _needed(value: str | None, variable: str) -> str:
    if value is None:
        raise SearchNotConfiguredError(
            f"the search provider that is chosen needs {variable}: set it"
        )
    return value
