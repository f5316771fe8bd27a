"""Files that the agent makes and reads, over HTTP, with a model that calls its tools."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.cv_tools import say, stream
from tests.support.model_settings import openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
RESUME: dict[str, Any] = {
    "basics": {"name": "Jane/Doe"},
    "work": [{"name": "Google", "position": "SRE", "summary": "wrote code"}],
}
WISH = "please improve it and tell me what else you can do with it"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, shared_model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    server = await serve_folder(AGENTS, **openai(shared_model))
    yield server.client


def call(name: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=(Call(name=name, args=args),))


@pytest.mark.parametrize(
    ("format", "name", "begins"),
    [
        ("pdf", "resume-Jane_Doe.pdf", b"%PDF"),
        ("docx", "resume-Jane_Doe.docx", b"PK"),
        ("markdown", "resume-Jane_Doe.md", b"# Jane/Doe"),
        ("html", "resume-Jane_Doe.html", b"<!"),
        ("json", "resume-Jane_Doe.json", b"{"),
    ],
)
async def test_an_export_is_a_file_with_a_link(
    client: httpx.AsyncClient, model: ModelServer, format: str, name: str, begins: bytes
) -> None:
    model.play([call("CVExport", format=format), Text(text="Here it is.")])
    response = await say(client, WISH, resume_data=RESUME)
    assert response["reply"] == "Here it is."
    assert response["tool_call"] is None
    made = response["tool_result"]["value"]
    assert made["name"] == name
    assert made["link"] in str(model.requests[-1].messages[-1])
    got = await client.get(made["link"])
    assert got.status_code == 200
    assert got.content.startswith(begins)
    assert len(got.content) == made["size"]
    assert response["resume"] == RESUME


async def test_a_format_that_there_is_not_is_refused_in_words(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([call("CVExport", format="odt"), Text(text="I cannot make that.")])
    response = await say(client, WISH, resume_data=RESUME)
    assert response["type"] == "error"
    assert "pdf" in response["tool_result"]["error"]


async def test_a_diagnosis_names_findings_in_words(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([call("CVDiagnose"), Text(text="Some things are missing.")])
    told = await stream(client, {"message": WISH, "resume_data": RESUME})
    ended = next(item.data for item in told if item.kind == "tool_end")
    assert ended["success"] is True
    assert any("Google" in finding["finding"] for finding in ended["value"])
    assert all(finding["goal"] for finding in ended["value"])
