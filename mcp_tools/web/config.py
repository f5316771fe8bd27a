"""Configuration of web access, from the environment.

    ODA_SEARCH_PROVIDER   searxng, tavily, brave or ddgs; without it the first that is set up below
    SEARXNG_URL           a SearXNG instance with `json` under `search.formats`; may be private
    TAVILY_API_KEY
    BRAVE_API_KEY
    ODA_FETCH_ALLOW       places off the public web that pages may be fetched from: CIDRs and
                          host:port, separated by commas

`ddgs` queries DuckDuckGo without a key, unofficially, and only when it is chosen by name. Search
engines are queried through the proxy set in the environment, if any; pages never are.

`ODA_FETCH_ALLOW` is dangerous: anyone who can make the agent read a page can then make it read
these places, such as an administration page without a password. List single ports, not networks.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import httpx

from mcp_tools.web.errors import WebConfigError

ProviderName = Literal["searxng", "tavily", "brave", "ddgs"]


@dataclass(frozen=True)
class WebConfig:
    """Trusted; nothing in it comes from a page or a model."""

    provider: ProviderName | None = None
    """None: the first that is set up, never `ddgs`."""
    searxng_url: str | None = field(default=None, repr=False)
    tavily_api_key: str | None = field(default=None, repr=False)
    brave_api_key: str | None = field(default=None, repr=False)
    allow: tuple[str, ...] = ()
    """Exceptions to the public web, see `oda.public_network.addresses`."""

    def __post_init__(self) -> None:
        """Refuse what no request can be made with.

        Raises:
            WebConfigError: names the variable, not its value.
        """
        if self.searxng_url is not None and not _is_base_url(self.searxng_url):
            raise WebConfigError("SEARXNG_URL is no URL: write it as http://host:port")
        keys = {"TAVILY_API_KEY": self.tavily_api_key, "BRAVE_API_KEY": self.brave_api_key}
        for variable, key in keys.items():
            if key is not None and not (key.isascii() and key.isprintable()):
                raise WebConfigError(f"{variable} is no key: it holds characters that no key has")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "WebConfig":
        """Read the variables above; empty ones count as missing.

        Raises:
            WebConfigError: a value is invalid.
        """

        def value(name: str) -> str | None:
            return environment.get(name, "").strip() or None

        return cls(
            provider=_provider(value("ODA_SEARCH_PROVIDER")),
            searxng_url=value("SEARXNG_URL"),
            tavily_api_key=value("TAVILY_API_KEY"),
            brave_api_key=value("BRAVE_API_KEY"),
            allow=tuple(
                place.strip()
                for place in (value("ODA_FETCH_ALLOW") or "").split(",")
                if place.strip()
            ),
        )


def _is_base_url(text: str) -> bool:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host)


def _provider(text: str | None) -> ProviderName | None:
    if text is None:
        return None
    for name in get_args(ProviderName):
        if name == text.lower():
            found: ProviderName = name
            return found
    known = ", ".join(get_args(ProviderName))
    raise WebConfigError(f"ODA_SEARCH_PROVIDER={text!r} is unknown: set one of {known}")
