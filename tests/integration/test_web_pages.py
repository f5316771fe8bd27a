"""`mcp_tools.web` reads pages of a real server, and reaches nothing that it may not."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence

import httpcore
import psutil
import pytest
from reportlab.pdfgen.canvas import Canvas

from mcp_tools.web import Web, WebConfig, WebLimits
from mcp_tools.web.errors import (
    AddressRefusedError,
    BusyError,
    PageTooLargeError,
    PageTypeError,
    PageUnavailableError,
    PageUnreadableError,
    RedirectError,
    UrlRefusedError,
    WebError,
)
from oda.public_network.addresses import AddressRules
from oda.public_network.connection import GuardedNetwork
from oda.public_network.errors import AddressNotAllowedError, UnknownHostError
from tests.support.local_web import METADATA, Answer, LocalWeb, Received

DATA = "counts.json"
"""A page that is quick to read."""


@pytest.fixture
async def local() -> AsyncIterator[LocalWeb]:
    async with LocalWeb() as local:
        yield local


@pytest.fixture
async def web(local: LocalWeb) -> AsyncIterator[Web]:
    async with Web(local.config) as web:
        yield web


async def test_a_page_is_read_as_markdown(web: Web, local: LocalWeb) -> None:
    page = await web.fetch(local.page_url("otters"))
    assert (page.title, page.published) == ("The sea otter", "2024-03-05")
    assert page.text.startswith("# The sea otter\n\nThe sea otter has the densest fur")
    assert f"[open to everybody]({local.page_url(DATA)})" in page.text
    assert "| 2023 | 2962 |" in page.text
    assert "Cookies and terms" not in page.text
    assert not page.cut


async def test_a_chinese_page_in_its_own_encoding_is_read(web: Web, local: LocalWeb) -> None:
    page = await web.fetch(local.page_url("tea"))
    assert page.title == "龙井茶的历史"
    assert "清明节前采制的龙井叫做明前龙井" in page.text


async def test_a_pdf_is_read() -> None:
    written = io.BytesIO()
    canvas = Canvas(written)
    canvas.setTitle("Otters in numbers")
    canvas.drawString(100, 700, "2962 otters in 2023")
    canvas.save()
    answer = Answer(written.getvalue(), content_type="application/pdf")
    async with LocalWeb(lambda _: answer) as local, Web(local.config) as web:
        page = await web.fetch(local.url)
    assert (page.title, page.text) == ("Otters in numbers", "2962 otters in 2023")


@pytest.mark.parametrize(
    ("name", "expected", "message"),
    [
        ("to-metadata", AddressRefusedError, "169.254.169.254 port 80 is not on the public web"),
        ("to-file", UrlRefusedError, "only http and https"),
        ("loop", RedirectError, "more than 5 times"),
        ("endless", PageTooLargeError, "larger than 5000000 bytes"),
        ("bomb", PageTooLargeError, "larger than 5000000 bytes"),
        ("image", PageTypeError, "image/png"),
        ("untyped", PageTypeError, "application/octet-stream"),
        ("binary", PageUnreadableError, "damaged"),
        ("empty", PageUnreadableError, "no text"),
        ("nowhere", PageUnavailableError, "404"),
    ],
)
async def test_a_page_that_is_not_read_says_why(
    name: str, expected: type[WebError], message: str, web: Web, local: LocalWeb
) -> None:
    with pytest.raises(expected, match=message):
        await web.fetch(local.page_url(name))


async def test_a_redirect_is_followed_without_cookies(web: Web, local: LocalWeb) -> None:
    await web.fetch(local.page_url("cookies"))
    page = await web.fetch(local.page_url("moved"))
    assert page.final_url == local.page_url("otters")
    for request in local.requests:
        assert not {"cookie", "authorization", "referer"} & set(request.headers)
        assert request.headers["user-agent"].startswith("oda-research/")
        assert request.headers["host"] == f"127.0.0.1:{local.port}"


@pytest.mark.parametrize("name", ["packed", "packed-and-more"])
async def test_a_packed_page_is_unpacked(name: str, web: Web, local: LocalWeb) -> None:
    assert (await web.fetch(local.page_url(name))).title == "The sea otter"


async def test_a_page_that_stops_coming_is_given_up(local: LocalWeb) -> None:
    async with Web(local.config, limits=WebLimits(page_s=0.2)) as web:
        with pytest.raises(PageUnavailableError, match=r"in full within 0\.2 s"):
            await web.fetch(local.page_url("slow"))


async def test_hostile_html_costs_its_headings_or_its_reading(local: LocalWeb) -> None:
    async with Web(local.config, limits=WebLimits(reading_s=0.2, page_chars=1000)) as web:
        page = await web.fetch(local.page_url("wide"))
        assert page.text.startswith("word")
        assert (len(page.text), page.cut) == (1000, True)
    async with Web(local.config, limits=WebLimits(reading_most_s=0.05)) as web:
        with pytest.raises(PageUnreadableError, match="longer than"):
            await web.fetch(local.page_url("wide"))
    left = psutil.Process().children(recursive=True)
    assert not [each for each in left if "marshal.load" in " ".join(each.cmdline())]


async def test_no_proxy_of_the_environment_is_used(
    local: LocalWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with Web(local.config) as web:
        assert (await web.fetch(local.page_url(DATA))).text.startswith("{")


async def test_without_an_exception_nothing_local_is_reached(local: LocalWeb) -> None:
    spellings = ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]")
    async with Web(WebConfig()) as web:
        for host in spellings:
            with pytest.raises(AddressRefusedError):
                await web.fetch(f"http://{host}:{local.port}/pages/{DATA}")
        with pytest.raises(AddressRefusedError):
            await web.fetch(METADATA)
    assert local.requests == []


class ChangingName:
    """A name server whose answers for one name change; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def test_a_connection_is_made_to_the_address_that_was_checked(local: LocalWeb) -> None:
    names = ChangingName(["10.0.0.1", "127.0.0.1"], ["127.0.0.2"])
    network = GuardedNetwork(AddressRules([local.place]), resolve=names, connect_s=5)
    stream = await network.connect_tcp("rebind.example", local.port)
    assert stream.get_extra_info("server_addr") == ("127.0.0.1", local.port)
    await stream.aclose()
    assert names.asked == 1
    with pytest.raises(AddressNotAllowedError):
        await network.connect_tcp("rebind.example", local.port)


async def test_a_name_that_changes_between_redirects_is_checked_again(local: LocalWeb) -> None:
    names = ChangingName(["127.0.0.1"], ["10.0.0.1"])
    async with Web(local.config, resolve=names) as web:
        with pytest.raises(AddressRefusedError, match=r"rebind\.example"):
            await web.fetch(f"http://rebind.example:{local.port}/pages/moved")
    assert [request.path for request in local.requests] == ["/pages/moved"]


async def test_the_next_address_is_tried_and_an_unknown_host_is_told(local: LocalWeb) -> None:
    names = ChangingName(["127.0.0.2", "127.0.0.1"])
    rules = AddressRules([local.place, f"127.0.0.2:{local.port}"])
    network = GuardedNetwork(rules, resolve=names, connect_s=5)
    stream = await network.connect_tcp("two.example", local.port)
    assert stream.get_extra_info("server_addr") == ("127.0.0.1", local.port)
    await stream.aclose()

    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(UnknownHostError, match="no host"):
        await GuardedNetwork(rules, resolve=unknown, connect_s=5).connect_tcp("x.example", 80)
    nobody = GuardedNetwork(rules, resolve=ChangingName(["127.0.0.2"]), connect_s=5)
    with pytest.raises(httpcore.ConnectError):
        await nobody.connect_tcp("x.example", local.port)


async def test_a_page_is_fetched_once_for_all_who_want_it(web: Web, local: LocalWeb) -> None:
    url = local.page_url(DATA)
    await asyncio.gather(*(web.fetch(url) for _ in range(5)))
    await web.fetch(f"{url}#part")
    assert local.asked(f"/pages/{DATA}") == 1


async def test_one_host_is_not_asked_too_often(local: LocalWeb) -> None:
    limits = WebLimits(burst=2, pages_per_s=0.01, longest_wait_s=1)
    async with Web(local.config, limits=limits) as web:
        for name in ("nowhere", "image"):
            with pytest.raises(WebError):
                await web.fetch(local.page_url(name))
        with pytest.raises(BusyError, match=r"127\.0\.0\.1 is asked too often"):
            await web.fetch(local.page_url(DATA))


async def test_a_cancelled_fetch_leaves_the_server(local: LocalWeb) -> None:
    arrived = asyncio.Event()
    left = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        arrived.set()
        try:
            while True:
                yield b"<p>more</p>"
                await asyncio.sleep(0.01)
        finally:
            left.set()

    def answer(_: Received) -> Answer:
        return Answer(body())

    async with LocalWeb(answer) as slow, Web(slow.config) as web:
        fetching = asyncio.create_task(web.fetch(slow.url))
        async with asyncio.timeout(10):
            await arrived.wait()
            fetching.cancel()
            await asyncio.wait([fetching])
            await left.wait()
    assert fetching.cancelled()
