"""The parts of `mcp_tools.web` that need no network: queries, settings, turns, kept answers."""

import asyncio

import pytest

from mcp_tools.web.config import WebConfig
from mcp_tools.web.errors import BusyError, QueryError, WebConfigError
from mcp_tools.web.kept import Kept
from mcp_tools.web.pace import Pace
from mcp_tools.web.providers.provider import MAX_SNIPPET, SearchResult, iso_date, results_of
from mcp_tools.web.reader import kind_of
from mcp_tools.web.web import normalised
from oda.testing import FakeClock


def test_a_query_has_one_form() -> None:
    assert normalised("  sea\n\totter\x00  fur ") == "sea otter fur"
    assert normalised("cafe\u0301") == "caf\u00e9"
    assert normalised("龙井茶 site:example.cn") == "龙井茶 site:example.cn"


@pytest.mark.parametrize("query", ["", " \n", "\x00", "x" * 401, "x " * 51])
def test_a_query_that_no_engine_takes_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        normalised(query)


def test_settings_come_from_the_environment() -> None:
    environment = {
        "ODA_SEARCH_PROVIDER": " Brave ",
        "BRAVE_API_KEY": "brave-key",
        "TAVILY_API_KEY": "",
        "ODA_FETCH_ALLOW": "10.0.0.0/8, wiki.example:8000,",
    }
    config = WebConfig.from_environment(environment)
    assert config == WebConfig(
        provider="brave",
        brave_api_key="brave-key",
        allow=("10.0.0.0/8", "wiki.example:8000"),
    )
    assert "brave-key" not in repr(config)
    assert WebConfig.from_environment({}) == WebConfig()
    with pytest.raises(WebConfigError, match="searxng, tavily, brave, ddgs"):
        WebConfig.from_environment({"ODA_SEARCH_PROVIDER": "altavista"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SEARXNG_URL", "localhost:8080"),
        ("SEARXNG_URL", "http://secret:port"),
        ("SEARXNG_URL", "ftp://secret.example"),
        ("TAVILY_API_KEY", "secret\nX-Other: 1"),
        ("BRAVE_API_KEY", "“secret”"),
    ],
)
def test_a_setting_that_makes_no_request_is_refused(variable: str, value: str) -> None:
    with pytest.raises(WebConfigError, match=variable) as raised:
        WebConfig.from_environment({variable: value})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-03-05T10:00:00", "2024-03-05"),
        ("2024-03-05T10:00:00Z", "2024-03-05"),
        ("Tue, 05 Mar 2024 10:00:00 GMT", "2024-03-05"),
        ("3 days ago", None),
        ("", None),
    ],
)
def test_dates_have_one_form(text: str, date: str | None) -> None:
    assert iso_date(text) == date


def test_of_an_engines_rows_only_good_ones_are_taken() -> None:
    rows = [
        None,
        {"title": "no address"},
        {"title": "script", "url": "javascript:alert(1)"},
        {"title": "long", "url": f"https://a.example/{'x' * 3000}"},
        {"title": 7, "url": "https://a.example/1", "text": f" a\n b {'c' * 2000}"},
        {"title": "again", "url": "https://a.example/1"},
        {"title": "Two", "url": "https://a.example/2", "text": None, "date": "2024-03-05"},
        {"title": "Three", "url": "https://a.example/3"},
    ]
    first, second = results_of(rows, snippet="text", published="date", limit=2)
    assert first.title == first.url == "https://a.example/1"
    assert first.snippet.startswith("a b c")
    assert len(first.snippet) == MAX_SNIPPET
    assert second == SearchResult("Two", "https://a.example/2", "", "2024-03-05")
    assert results_of("rows", snippet="text", published="date", limit=2) == []
    assert results_of(None, snippet="text", published="date", limit=2) == []


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("text/html", "html"),
        ("application/xhtml+xml", "html"),
        ("application/ld+json", "text"),
        ("application/rss+xml", "text"),
        ("application/pdf", "pdf"),
        ("image/svg+xml", None),
        ("image/png", None),
        ("application/zip", None),
        ("text/javascript", None),
    ],
)
def test_only_what_can_be_read_is_read(media_type: str, kind: str | None) -> None:
    assert kind_of(media_type) == kind


async def test_turns_come_at_once_then_evenly_then_not_at_all(fake_clock: FakeClock) -> None:
    pace = Pace(per_s=2, burst=3, longest_wait_s=1.0, clock=fake_clock.now, sleep=fake_clock.sleep)
    for _ in range(4):
        await pace.turn("a.example")
    assert fake_clock.sleeps == (0.5,)
    await pace.turn("b.example")
    assert fake_clock.sleeps == (0.5,)
    pace.hold("a.example", 30)
    with pytest.raises(BusyError, match=r"a\.example is asked too often just now: try again in 30"):
        await pace.turn("a.example")
    fake_clock.advance(30)
    await pace.turn("a.example")
    assert fake_clock.sleeps == (0.5,)


async def test_the_same_question_is_asked_once_and_its_answer_kept(fake_clock: FakeClock) -> None:
    asked: list[str] = []
    kept: Kept[str] = Kept(most=2, seconds=60, clock=fake_clock.now)

    async def ask() -> str:
        asked.append("x")
        await asyncio.sleep(0)
        return f"answer {len(asked)}"

    both = await asyncio.gather(kept.get("q", ask), kept.get("q", ask))
    assert list(both) == ["answer 1", "answer 1"]
    assert await kept.get("q", ask) == "answer 1"
    fake_clock.advance(61)
    assert await kept.get("q", ask) == "answer 2"


async def test_a_failure_is_not_kept() -> None:
    kept: Kept[str] = Kept(most=2, seconds=60)
    answers = [ValueError("no"), "yes"]

    async def ask() -> str:
        await asyncio.sleep(0)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    both = await asyncio.gather(kept.get("q", ask), kept.get("q", ask), return_exceptions=True)
    assert [str(each) for each in both] == ["no", "no"]
    assert await kept.get("q", ask) == "yes"


async def test_an_asking_goes_on_while_somebody_waits_for_it() -> None:
    kept: Kept[str] = Kept(most=2, seconds=60)
    begun, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ask() -> str:
        begun.set()
        try:
            await go.wait()
        finally:
            ended.set()
        return "answer"

    impatient = asyncio.create_task(kept.get("q", ask))
    patient = asyncio.create_task(kept.get("q", ask))
    await begun.wait()
    impatient.cancel()
    await asyncio.wait([impatient])
    assert not ended.is_set()
    go.set()
    assert await patient == "answer"

    for event in (begun, go, ended):
        event.clear()
    alone = asyncio.create_task(kept.get("other", ask))
    await begun.wait()
    alone.cancel()
    await asyncio.wait([alone])
    assert ended.is_set()
    assert alone.cancelled()
