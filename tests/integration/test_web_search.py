"""`mcp_tools.web` asks search engines, each played by a local server with its protocol."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from mcp_tools.web import SearchNotConfiguredError, SearchResult, Web, WebConfig, WebLimits
from mcp_tools.web.errors import (
    BusyError,
    QueryError,
    SearchAnswerError,
    SearchDeniedError,
    SearchError,
    SearchQuotaError,
    SearchUnavailableError,
)
from mcp_tools.web.providers import SearchProvider, choose_provider
from mcp_tools.web.providers.brave import Brave
from mcp_tools.web.providers.ddgs import Ddgs
from mcp_tools.web.providers.searxng import Searxng
from mcp_tools.web.providers.tavily import Tavily
from oda.testing import FakeClock
from tests.support.local_web import Answer, LocalWeb, json_answer

Make = Callable[[httpx.AsyncClient, str], SearchProvider]

PROVIDERS: list[Make] = [
    Searxng,
    lambda client, url: Tavily(client, "the-key", url=url),
    lambda client, url: Brave(client, "the-key", url=url),
]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as client:
        yield client


async def test_searxng_is_asked_for_json() -> None:
    async with LocalWeb() as local, Web(local.config) as web:
        found = await web.search(" sea   otter ", limit=2)
        (request,) = local.requests
        url = local.page_url("otters")
    assert (found.query, found.provider) == ("sea otter", "searxng")
    assert len(found.results) == 2
    assert found.results[0] == SearchResult(
        "The sea otter", url, "The sea otter has the densest fur of all animals. 海獭", "2024-03-05"
    )
    assert (request.method, request.path) == ("GET", "/search")
    assert request.query == {"q": "sea otter", "format": "json"}


async def test_searxng_without_engines_is_no_empty_result(client: httpx.AsyncClient) -> None:
    broken = json_answer({"results": [], "unresponsive_engines": [["google", "timeout"]]})
    async with LocalWeb(lambda _: broken) as local:
        with pytest.raises(SearchUnavailableError, match="engines"):
            await Searxng(client, local.url).search("x", 5)


async def test_tavily_speaks_its_protocol(client: httpx.AsyncClient) -> None:
    row = {
        "title": "Otters",
        "url": "https://a.example/otters",
        "content": "Otters swim.",
        "score": 0.9,
        "raw_content": None,
        "published_date": "Tue, 05 Mar 2024 10:00:00 GMT",
    }
    answer = json_answer({"query": "otters", "answer": None, "images": [], "results": [row]})
    async with LocalWeb(lambda _: answer) as local:
        found = await Tavily(client, "the-key", url=local.url).search("otters", 5)
        (request,) = local.requests
    assert found == [
        SearchResult("Otters", "https://a.example/otters", "Otters swim.", "2024-03-05")
    ]
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["authorization"] == "Bearer the-key"
    assert json.loads(request.body) == {
        "query": "otters",
        "max_results": 5,
        "search_depth": "basic",
    }


async def test_brave_speaks_its_protocol(client: httpx.AsyncClient) -> None:
    row = {
        "title": "Otters &amp; clams",
        "url": "https://a.example/otters",
        "description": "An otter&#x27;s meal",
        "page_age": "2024-03-05T10:00:00",
        "age": "March 5, 2024",
    }
    answer = json_answer({"type": "search", "web": {"type": "search", "results": [row]}})
    async with LocalWeb(lambda _: answer) as local:
        found = await Brave(client, "the-key", url=local.url).search("otters", 5)
        (request,) = local.requests
    assert found == [
        SearchResult("Otters & clams", "https://a.example/otters", "An otter's meal", "2024-03-05")
    ]
    assert (request.method, request.path) == ("GET", "/res/v1/web/search")
    assert request.headers["x-subscription-token"] == "the-key"
    assert (request.query["q"], request.query["count"]) == ("otters", "5")


async def test_brave_finds_nothing(client: httpx.AsyncClient) -> None:
    async with LocalWeb(lambda _: json_answer({"type": "search"})) as local:
        assert await Brave(client, "the-key", url=local.url).search("otters", 5) == []


async def _forever() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


def _nested() -> bytes:
    return b"[" * 100_000


FAILURES: list[tuple[Callable[[], Answer], type[SearchError], str]] = [
    (lambda: json_answer({}, status=401), SearchDeniedError, "correct"),
    (lambda: json_answer({}, status=403), SearchDeniedError, "correct"),
    (lambda: json_answer({}, status=429, retry_after="7"), SearchQuotaError, "in 7 s"),
    (lambda: json_answer({}, status=429, retry_after="soon"), SearchQuotaError, "later"),
    (lambda: Answer(b"<h1>Oops</h1>", status=503), SearchUnavailableError, "503"),
    (lambda: Answer(status=302, headers={"location": "/x"}), SearchAnswerError, "302"),
    (lambda: Answer(b"<h1>Hello</h1>"), SearchAnswerError, "no JSON"),
    (lambda: Answer(_nested()), SearchAnswerError, "no JSON"),
    (lambda: json_answer(["x"]), SearchAnswerError, "no object"),
    (lambda: Answer(bytes(3_000_000)), SearchAnswerError, "more than"),
    (
        lambda: Answer(b"this is not packed", headers={"content-encoding": "gzip"}),
        SearchAnswerError,
        "damaged",
    ),
]


@pytest.mark.parametrize(("answer", "expected", "message"), FAILURES)
async def test_every_failure_of_an_engine_has_a_name(
    answer: Callable[[], Answer],
    expected: type[SearchError],
    message: str,
    client: httpx.AsyncClient,
) -> None:
    async with LocalWeb(lambda _: answer()) as local:
        for make in PROVIDERS:
            provider = make(client, local.url)
            with pytest.raises(expected, match=f"{provider.name} .*{message}") as raised:
                await provider.search("otters", 5)
            assert "the-key" not in str(raised.value)


@pytest.mark.parametrize(
    ("make", "status", "expected"),
    [
        (PROVIDERS[1], 432, SearchQuotaError),
        (PROVIDERS[1], 433, SearchQuotaError),
        (PROVIDERS[2], 422, SearchDeniedError),
    ],
)
async def test_statuses_of_one_engine_alone(
    make: Make, status: int, expected: type[SearchError], client: httpx.AsyncClient
) -> None:
    async with LocalWeb(lambda _: json_answer({}, status=status)) as local:
        with pytest.raises(expected):
            await make(client, local.url).search("otters", 5)


async def test_an_engine_that_stops_talking() -> None:
    async with (
        LocalWeb(lambda _: Answer(_forever())) as local,
        httpx.AsyncClient(timeout=0.2) as client,
    ):
        with pytest.raises(SearchUnavailableError, match="in time"):
            await Searxng(client, local.url).search("otters", 5)


async def test_an_engine_that_is_not_there(client: httpx.AsyncClient) -> None:
    async with LocalWeb() as local:
        url = local.url
    with pytest.raises(SearchUnavailableError, match="cannot be reached"):
        await Searxng(client, url).search("otters", 5)


async def test_ddgs_is_asked_in_a_thread() -> None:
    def engine(query: str, limit: int) -> list[dict[str, Any]]:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return [{"title": query, "href": "https://a.example/", "body": f"{limit} otters"}]

    assert await Ddgs(engine).search("otters", 5) == [
        SearchResult("otters", "https://a.example/", "5 otters")
    ]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (RatelimitException("202"), SearchQuotaError),
        (TimeoutException("timed out"), SearchUnavailableError),
        (DDGSException("connect error"), SearchUnavailableError),
        (DDGSException("No results found."), None),
    ],
)
async def test_failures_of_ddgs(failure: Exception, expected: type[SearchError] | None) -> None:
    def engine(query: str, limit: int) -> list[dict[str, Any]]:
        raise failure

    if expected is None:
        assert await Ddgs(engine).search("otters", 5) == []
        return
    with pytest.raises(expected):
        await Ddgs(engine).search("otters", 5)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (WebConfig(searxng_url="http://a.example", tavily_api_key="k"), "searxng"),
        (WebConfig(tavily_api_key="k", brave_api_key="k"), "tavily"),
        (WebConfig(brave_api_key="k"), "brave"),
        (WebConfig(provider="brave", tavily_api_key="k", brave_api_key="k"), "brave"),
        (WebConfig(provider="ddgs", tavily_api_key="k"), "ddgs"),
    ],
)
async def test_the_engine_is_chosen_or_the_first_that_is_set_up(
    config: WebConfig, name: str, client: httpx.AsyncClient
) -> None:
    assert choose_provider(config, client).name == name


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (WebConfig(), "SEARXNG_URL, TAVILY_API_KEY or BRAVE_API_KEY"),
        (WebConfig(provider="searxng"), "SEARXNG_URL"),
        (WebConfig(provider="tavily", brave_api_key="k"), "TAVILY_API_KEY"),
        (WebConfig(provider="brave"), "BRAVE_API_KEY"),
    ],
)
async def test_an_engine_that_is_not_set_up_says_what_to_set(
    config: WebConfig, message: str
) -> None:
    async with Web(config) as web:
        with pytest.raises(SearchNotConfiguredError, match=message):
            await web.search("otters")
        with pytest.raises(QueryError):
            await web.search(" ")


async def test_the_same_search_is_made_once() -> None:
    async with LocalWeb() as local, Web(local.config) as web:
        await asyncio.gather(*(web.search("sea otter") for _ in range(5)))
        await web.search("sea  otter")
        assert local.asked("/search") == 1
        await web.search("sea otter", limit=1)
        assert local.asked("/search") == 2


async def test_an_engine_that_asks_for_a_break_gets_it(fake_clock: FakeClock) -> None:
    answers = [json_answer({}, status=429, retry_after="60"), json_answer({"results": []})]
    async with (
        LocalWeb(lambda _: answers.pop(0)) as local,
        Web(local.config, clock=fake_clock.now, sleep=fake_clock.sleep) as web,
    ):
        with pytest.raises(SearchQuotaError, match="in 60 s"):
            await web.search("otters")
        with pytest.raises(BusyError, match="searxng is asked too often"):
            await web.search("otters")
        assert len(local.requests) == 1
        fake_clock.advance(60)
        assert (await web.search("otters")).results == ()


async def test_an_engine_that_drips_is_given_up() -> None:
    async def drops() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    async with (
        LocalWeb(lambda _: Answer(drops())) as local,
        Web(local.config, limits=WebLimits(search_s=0.2)) as web,
    ):
        with pytest.raises(SearchUnavailableError, match="in time"):
            await web.search("otters")
