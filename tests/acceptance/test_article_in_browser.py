"""A hostile article and a good one, opened in a real browser."""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, Request

from mcp_tools.publishing.cover import cover_svg
from mcp_tools.publishing.html import make_page

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8" onload="parent.ran=1">'
    '<image href="http://127.0.0.1:9/svg.png"/><script>parent.ran=1</script>'
    '<rect width="8" height="8" fill="teal"/></svg>'
)
HOSTILE = f"""<!doctype html><html><head><title></title><script>ran=1</script></title>
<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/refresh">
<base href="http://127.0.0.1:9/"><link rel="stylesheet" href="http://127.0.0.1:9/a.css">
<style>@import 'http://127.0.0.1:9/b.css'; body {{ display: none }}</style></head>
<body onload="ran=1" background="http://127.0.0.1:9/c.png"><h1>Report<script>ran=1</script></h1>
<p style="background:url(http://127.0.0.1:9/d.png)">Read me.</p>
<img src="http://127.0.0.1:9/e.png" onerror="ran=1" alt="A picture"><img src=x onerror="ran=1">
<img src="drawing.svg" alt="drawing">{DRAWING}
<svg><animate onbegin="ran=1" attributeName=x dur=1s></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=ran=1&gt;">
</table></mtext></math><iframe srcdoc="<script>parent.ran=1</script>"></iframe>
<object data="http://127.0.0.1:9/f"></object><video src="http://127.0.0.1:9/g" autoplay></video>
<details open ontoggle="ran=1"><summary>more</summary>x</details>
<form action="http://127.0.0.1:9/h"><input autofocus onfocus="ran=1"></form>
<a id="bad" href="javascript:ran=1">go</a></body></html>"""


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> Page:
    return await browser.new_page()


async def test_hostile_article_runs_nothing_and_asks_for_nothing(
    page: Page, tmp_path: Path
) -> None:
    article = make_page(HOSTILE, resolve={"drawing.svg": DRAWING.encode()}.get)
    file = tmp_path / "article.html"
    file.write_text(article.html, encoding="utf-8")
    asked: list[str] = []
    complaints: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith("data:"):
            asked.append(request.url)

    def listen(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    page.on("request", note)
    page.on("console", listen)
    await page.goto(file.as_uri(), wait_until="load")
    await page.get_by_text("go", exact=True).click(timeout=10_000)
    await page.wait_for_function("[...document.images].every(one => one.complete)")
    assert await page.evaluate("typeof ran") == "undefined"
    assert asked == [file.as_uri()]
    assert complaints == []
    assert await page.title() == "Report"
    assert await page.get_by_text("Read me.").is_visible()
    assert await page.get_by_text("A picture").is_visible()
    sizes = await page.evaluate("[...document.images].map(one => one.naturalWidth)")
    assert sizes == [8, 8]


async def test_the_policy_of_a_page_stops_what_would_get_into_it(
    page: Page, tmp_path: Path
) -> None:
    article = make_page("<h1>Fine</h1><p style='text-align:center'>text</p>")
    smuggled = "<script>ran=1</script><img src='http://127.0.0.1:9/x.png' onerror='ran=1'>"
    file = tmp_path / "article.html"
    file.write_text(article.html.replace("</article>", f"{smuggled}</article>"), encoding="utf-8")
    await page.goto(file.as_uri(), wait_until="load")
    assert await page.evaluate("typeof ran") == "undefined"
    look = "getComputedStyle(document.querySelector('{}')).{}"
    assert await page.evaluate(look.format("p", "textAlign")) == "center"
    assert await page.evaluate(look.format("article", "maxWidth")) == "736px"


async def test_cover_is_drawn_in_a_browser(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "cover.svg"
    file.write_text(cover_svg("标题 <b>&", template="slides", seed="1"), encoding="utf-8")
    await page.goto(file.as_uri())
    size = "(({ width, height }) => [width, height])(document.rootElement.getBoundingClientRect())"
    assert await page.evaluate(size) == [1200, 630]
    assert await page.locator("text").last.text_content() == "标题 <b>&"
