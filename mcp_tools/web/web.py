"""The web as an agent sees it: searches and pages."""

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx

from mcp_tools.apart import ReadApart, read_apart
from mcp_tools.web.config import WebConfig
from mcp_tools.web.download import USER_AGENT, Downloader
from mcp_tools.web.errors import (
    BusyError,
    QueryError,
    SearchQuotaError,
    SearchUnavailableError,
    WebConfigError,
)
from mcp_tools.web.kept import Kept
from mcp_tools.web.limits import WebLimits
from mcp_tools.web.pace import Pace
from mcp_tools.web.providers import SearchProvider, SearchResult, choose_provider
from mcp_tools.web.providers.provider import MAX_RESULTS
from mcp_tools.web.reader import read_document
from mcp_tools.web.urls import parse_url
from oda.public_network.addresses import AddressRules
from oda.public_network.connection import GuardedNetwork, Resolve, resolve
from oda.public_network.errors import AllowanceError

MAX_QUERY = 400
MAX_WORDS = 50


@dataclass(frozen=True)
class SearchResults:
    """Search results, best first; untrusted text."""

    query: str
    """As it was asked, normalised."""
    provider: str
    results: tuple[SearchResult, ...]


@dataclass(frozen=True)
class Page:
    """The text of a page; untrusted."""

    url: str
    """As it was asked for, normalised."""
    final_url: str
    """URL after redirects."""
    media_type: str
    title: str | None
    published: str | None
    """A date in ISO format."""
    text: str
    """Markdown, where the page was HTML."""
    cut: bool
    """Whether the text was truncated."""


class Web:
    """An async context manager; one for a process, because it keeps answers and limits rates."""

    def __init__(
        self,
        config: WebConfig | None = None,
        *,
        limits: WebLimits | None = None,
        resolve: Resolve = resolve,
        read: ReadApart = read_apart,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Create a client for `config`, by default that of the environment.

        `resolve` replaces the system's name resolution; `read` reads HTML and PDF in isolation.

        Raises:
            WebConfigError: when a setting is wrong.
        """
        self._config = config or WebConfig.from_environment()
        self._limits = limits = limits or WebLimits()
        self._read = read
        self._searches: Kept[SearchResults] = Kept(
            most=limits.kept_searches, seconds=limits.kept_s, clock=clock
        )
        self._pages: Kept[Page] = Kept(most=limits.kept_pages, seconds=limits.kept_s, clock=clock)
        self._places = asyncio.Semaphore(limits.pages_at_once)

        def pace(per_s: float) -> Pace:
            return Pace(
                per_s=per_s,
                burst=limits.burst,
                longest_wait_s=limits.longest_wait_s,
                clock=clock,
                sleep=sleep,
            )

        self._asking = pace(limits.asks_per_s)
        network = GuardedNetwork(
            _address_rules(self._config.allow), resolve=resolve, connect_s=limits.connect_s
        )
        self._downloader = Downloader(network, pace(limits.pages_per_s), limits)
        self._client = httpx.AsyncClient(
            headers={"User-Agent": USER_AGENT}, timeout=limits.search_s
        )
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._client)
        await self._open.enter_async_context(self._downloader)
        self._open.push_async_callback(self._searches.close)
        self._open.push_async_callback(self._pages.close)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._open.aclose()

    async def search(self, query: str, *, limit: int | None = None) -> SearchResults:
        """Ask the search engine that is set up for at most `limit` pages (1 to 20).

        Raises:
            SearchError: see the tree of errors.
            BusyError: when it is asked too often.
        """
        words = normalised(query)
        most = min(max(limit or self._limits.results, 1), MAX_RESULTS)
        provider = choose_provider(self._config, self._client)
        return await self._searches.get(
            (provider.name, words, most), lambda: self._search(provider, words, most)
        )

    async def fetch(self, url: str) -> Page:
        """Read a page.

        Raises:
            PageError: see the tree of errors.
            BusyError: when its host, or all of the web, is asked too often.
        """
        parsed = parse_url(url)
        return await self._pages.get(str(parsed), lambda: self._fetch(parsed))

    async def _search(self, provider: SearchProvider, query: str, most: int) -> SearchResults:
        await self._asking.turn(provider.name)
        try:
            async with asyncio.timeout(self._limits.search_s):
                results = await provider.search(query, most)
        except TimeoutError as error:
            raise SearchUnavailableError(f"{provider.name} does not answer in time") from error
        except SearchQuotaError as error:
            if error.retry_after_s:
                self._asking.hold(provider.name, error.retry_after_s)
            raise
        return SearchResults(query, provider.name, tuple(results))

    async def _fetch(self, url: httpx.URL) -> Page:
        async with self._place():
            document = await self._downloader.get(url)
            reading = await read_document(document, self._limits, self._read)
        return Page(
            url=str(url),
            final_url=document.url,
            media_type=document.media_type,
            title=reading.title,
            published=reading.published,
            text=reading.text,
            cut=reading.cut,
        )

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """One of the places for pages, if it comes free in time."""
        try:
            async with asyncio.timeout(self._limits.longest_wait_s):
                await self._places.acquire()
        except TimeoutError as error:
            raise BusyError("the web", self._limits.longest_wait_s) from error
        try:
            yield
        finally:
            self._places.release()


def _address_rules(allow: Iterable[str]) -> AddressRules:
    """Return the rules of what pages are read from.

    Raises:
        WebConfigError: a place to allow is none.
    """
    try:
        return AddressRules(allow)
    except AllowanceError as error:
        raise WebConfigError(str(error)) from error


def normalised(query: str) -> str:
    """A query in one form, without control characters.

    Raises:
        QueryError: when nothing is left, or too much.
    """
    printable = "".join(
        " " if unicodedata.category(character) in ("Cc", "Cs") else character
        for character in unicodedata.normalize("NFC", query)
    )
    words = printable.split()
    text = " ".join(words)
    if not text:
        raise QueryError("the query is empty: give a few words to look for")
    if len(text) > MAX_QUERY or len(words) > MAX_WORDS:
        raise QueryError(
            f"the query is too long: give at most {MAX_QUERY} characters and {MAX_WORDS} words"
        )
    return text
