"""The dev UI and `/docs` in a real browser, without any key."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from oda.testing import ModelServer
from oda.testing.script import Error, Hang, Text

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

AGENTS = Path(__file__).parents[2] / "agents"
WITHIN_MS = 20_000


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    page = await browser.new_page(viewport={"width": 1400, "height": 900})
    await page.route("**/*", _only_this_machine)
    yield page
    await page.unroute_all(behavior="ignoreErrors")
    await page.close()


async def _only_this_machine(route: Any) -> None:
    if "//127.0.0.1" in route.request.url:
        await route.continue_()
    else:
        await route.abort()


async def test_a_person_edits_a_resume_in_the_browser(serve: Any, page: Page) -> None:
    server = await serve(agents=AGENTS)
    await _open(server, page, "app=cv")
    await _say(page, "添加一条工作经历，在腾讯做后端工程师，2019年3月到2021年6月")
    await page.get_by_text("CVEditor").first.wait_for(timeout=WITHIN_MS)
    await page.get_by_text("腾讯").nth(1).wait_for(timeout=WITHIN_MS)
    sessions = (await server.client.get("/apps/cv/users/local/sessions")).json()
    path = f"/apps/cv/users/local/sessions/{sessions[0]['id']}"
    work = (await server.client.get(path)).json()["state"]["resume"]["work"]
    assert [job["name"] for job in work] == ["腾讯"]
    assert (work[0]["startDate"], work[0]["endDate"]) == ("2019-03", "2021-06")
    await _keep(page, "cv")


async def test_a_child_is_led_through_scenes_in_the_browser(serve: Any, page: Page) -> None:
    server = await serve(agents=AGENTS)
    await _open(server, page, "app=companion")
    for said, answered in (
        ("我要背《静夜思》", "准备好就开始"),
        ("床前明月光，疑是地上霜。举头望明月，低头思故乡。", "100分"),
        ("批改作业", "发给我"),
        ("3+4=7，12-5=6", "12-5"),
    ):
        await _say(page, said)
        await page.get_by_text(answered).first.wait_for(timeout=WITHIN_MS)
    await _keep(page, "companion")


async def test_the_dev_ui_and_other_doors_see_the_same_sessions(keyless: Any, page: Page) -> None:
    created = await keyless.client.post("/v1/apps/calculator/sessions")
    name = created.json()["session_id"]
    await _open(keyless, page, f"app=calculator&session={name}")
    assert "userId=local" in page.url
    await _say(page, "Hello from the browser")
    await page.get_by_text("ODA_MODEL").first.wait_for(timeout=WITHIN_MS)
    turns = (await keyless.client.get(f"/v1/apps/calculator/sessions/{name}/turns")).json()
    assert [turn["user_id"] for turn in turns["turns"]] == ["local"]
    plain = await keyless.client.get("/dev-ui/")
    assert plain.status_code == 200, "only pages are sent to their user"


async def test_stop_ends_the_turn(server: Any, model: ModelServer, page: Page) -> None:
    model.play([Hang()])
    await _open(server, page, "app=calculator")
    await _say(page, "Think for ever")
    await _keep(page, "stop")
    await page.locator("button:has(mat-icon:text-is('stop'))").click(timeout=WITHIN_MS)
    async with asyncio.timeout(WITHIN_MS / 1000):
        while True:
            if [turn["status"] for turn in await _turns(server)] == ["cancelled"]:
                break
            await asyncio.sleep(0.05)


async def test_after_a_reload_a_turn_reads_as_it_was_shown(
    server: Any, model: ModelServer, page: Page
) -> None:
    model.play([Error(status=500), Text(text="Back again.")])
    await _open(server, page, "app=calculator")
    await _say(page, "Try it")
    for kept in ("", "reloaded"):
        await page.get_by_text("Back again.").first.wait_for(timeout=WITHIN_MS)
        await page.get_by_text("Retry attempt 1/3").first.wait_for(timeout=WITHIN_MS)
        assert await page.get_by_text("INTERNAL").count() == 0, kept
        await _keep(page, f"retry{kept}")
        await page.reload()


async def test_the_docs_need_no_other_server(keyless: Any, page: Page) -> None:
    asked: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: refused.append(message.text))
    await page.goto(f"{keyless.url}/docs")
    await page.locator(".opblock").first.wait_for(timeout=WITHIN_MS)
    await _keep(page, "docs")
    assert [url for url in asked if not url.startswith((keyless.url, "data:"))] == []
    assert [text for text in refused if "Content Security Policy" in text] == []
    (asks,) = await page.locator(".opblock").filter(has_text="/livez").all()
    await asks.click()
    await asks.get_by_role("button", name="Try it out").click(timeout=WITHIN_MS)
    await asks.get_by_role("button", name="Execute").click(timeout=WITHIN_MS)
    await asks.get_by_text("Response headers").first.wait_for(timeout=WITHIN_MS)


async def _open(server: Any, page: Page, query: str) -> None:
    """Open the dev UI, which then has no need to ask for consent to telemetry."""
    asked = {"X-Adk-Telemetry-Request": "true"}
    await server.client.post("/config/telemetry", json={"telemetry": False}, headers=asked)
    await page.goto(f"{server.url}/dev-ui/?{query}")


async def _turns(server: Any) -> list[dict[str, Any]]:
    """The turns of the newest session."""
    sessions = (await server.client.get("/v1/apps/calculator/sessions")).json()["sessions"]
    if not sessions:
        return []
    path = f"/v1/apps/calculator/sessions/{sessions[0]['session_id']}/turns"
    turns: list[dict[str, Any]] = (await server.client.get(path)).json()["turns"]
    return turns


async def _keep(page: Page, name: str) -> None:
    if keep := os.environ.get("ODA_TEST_SCREENSHOTS"):
        await page.screenshot(path=Path(keep) / f"{name}.png")


async def _say(page: Page, text: str) -> None:
    box = page.get_by_placeholder("Type a message")
    await box.fill(text, timeout=WITHIN_MS)
    await box.press("Enter")
