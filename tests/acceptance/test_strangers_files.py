"""Files of strangers are read in the sandbox that the settings ask for; without one, refused."""

import io
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from reportlab.pdfgen.canvas import Canvas

from agents.researcher.web import fetch_page
from oda.settings import Settings
from oda.workspace.sandbox.choice import Sandboxes, default_sandboxes
from tests.support.local_web import LocalWeb
from tests.support.tool_calls import tool_call

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
IMPORT = "/api/agent/cv-tools/import"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    served: httpx.AsyncClient = (await serve_folder(AGENTS, SANDBOX="none")).client
    return served


def a_pdf() -> bytes:
    buffer = io.BytesIO()
    page = Canvas(buffer)
    page.drawString(72, 720, "Jane Doe")
    page.drawString(72, 700, "jane@example.com")
    page.save()
    return buffer.getvalue()


async def test_without_a_sandbox_a_resume_must_be_text(client: httpx.AsyncClient) -> None:
    refused = await client.post(IMPORT, content=a_pdf())
    assert refused.status_code == 501, refused.text
    problem = refused.json()
    assert problem["code"] == "sandbox_unavailable"
    assert "ODA_SANDBOX=none" in problem["detail"]

    taken = await client.post(IMPORT, content=b"Jane Doe\njane@example.com\n")
    assert taken.status_code == 201, taken.text


async def test_without_a_sandbox_a_page_must_be_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with (
        LocalWeb() as web,
        tool_call(tmp_path) as (context, _),
        Sandboxes(Settings(sandbox="none")) as sandboxes,
    ):
        for name, value in web.environment.items():
            monkeypatch.setenv(name, value)
        with default_sandboxes.set(sandboxes):
            refused = await fetch_page(web.page_url("otters"), context)
            taken = await fetch_page(web.page_url("counts.json"), context)
    assert refused["error"]["code"] == "sandbox_unavailable"
    assert taken["text"].startswith("{")


@pytest.mark.sandbox
async def test_a_page_is_read_in_the_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with (
        LocalWeb() as web,
        tool_call(tmp_path) as (context, workspace),
        Sandboxes(Settings(sandbox="auto")) as sandboxes,
    ):
        for name, value in web.environment.items():
            monkeypatch.setenv(name, value)
        with default_sandboxes.set(sandboxes):
            page = await fetch_page(web.page_url("otters"), context)
        kept = await workspace.list("data/pages")
    assert len(kept) == 1
    assert page["title"] == "The sea otter"
