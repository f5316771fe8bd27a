"""The dev UI in a real browser: people talk to `cv` and `companion` without any key."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

AGENTS = Path(__file__).parents[2] / "agents"
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WITHIN_MS = 20_000


@pytest_asyncio.fixture(loop_scope="module")
async def page() -> AsyncIterator[Page]:
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        if os.environ.get("ODA_TEST_REQUIRE_SERVERS"):
            pytest.fail("Chromium is required here and is not installed")
        pytest.skip("needs Chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=browser_path, args=ARGUMENTS, timeout=60_000
        )
        page = await browser.new_page(viewport={"width": 1400, "height": 900})
        await page.route("**/*", _only_this_machine)
        yield page
        await browser.close()


async def _only_this_machine(route: Any) -> None:
    if "//127.0.0.1" in route.request.url:
        await route.continue_()
    else:
        await route.abort()


async def test_a_person_edits_a_resume_in_the_browser(serve: Any, page: Page) -> None:
    server = await serve(agents=AGENTS)
    await page.goto(f"{server.url}/dev-ui/?app=cv")
    await page.get_by_role("button", name="No Thanks").click(timeout=WITHIN_MS)
    await _say(page, "添加一条工作经历，在腾讯做后端工程师，2019年3月到2021年6月")
    await page.get_by_text("CVEditor").first.wait_for(timeout=WITHIN_MS)
    await page.get_by_text("腾讯").nth(1).wait_for(timeout=WITHIN_MS)
    sessions = (await server.client.get("/apps/cv/users/user/sessions")).json()
    path = f"/apps/cv/users/user/sessions/{sessions[0]['id']}"
    work = (await server.client.get(path)).json()["state"]["resume"]["work"]
    assert [job["name"] for job in work] == ["腾讯"]
    assert (work[0]["startDate"], work[0]["endDate"]) == ("2019-03", "2021-06")
    if keep := os.environ.get("ODA_TEST_SCREENSHOTS"):
        await page.screenshot(path=Path(keep) / "cv.png")


async def test_a_child_is_led_through_scenes_in_the_browser(serve: Any, page: Page) -> None:
    server = await serve(agents=AGENTS)
    await page.goto(f"{server.url}/dev-ui/?app=companion")
    await page.get_by_role("button", name="No Thanks").click(timeout=WITHIN_MS)
    for said, answered in (
        ("我要背《静夜思》", "准备好就开始"),
        ("床前明月光，疑是地上霜。举头望明月，低头思故乡。", "100分"),
        ("批改作业", "发给我"),
        ("3+4=7，12-5=6", "12-5"),
    ):
        await _say(page, said)
        await page.get_by_text(answered).first.wait_for(timeout=WITHIN_MS)
    if keep := os.environ.get("ODA_TEST_SCREENSHOTS"):
        await page.screenshot(path=Path(keep) / "companion.png")


async def _say(page: Page, text: str) -> None:
    box = page.get_by_placeholder("Type a message")
    await box.fill(text, timeout=WITHIN_MS)
    await box.press("Enter")
