"""Documents of a hundred pages are translated in as many calls as it takes, a few at a time."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docx
import httpx
import pytest
import pytest_asyncio

from agents.researcher.long_translation import parts_of
from mcp_tools.translation import Segment
from oda.testing import ModelServer
from oda.testing import script as model_script
from oda.testing.script import Call, Error, Match, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
GLOSSARY = "You prepare the translation of a document"
PART = "You translate a part of a document"
PAGES = 100
PARAGRAPHS_OF_PAGE = 15


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> ArticleClient:
    server = await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("long"),
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )
    http: httpx.AsyncClient = server.client
    return ArticleClient(http)


def document(pages: int) -> tuple[bytes, list[Segment]]:
    """A document, and its segments as the programs number them."""
    made = docx.Document()
    for number in range(pages * PARAGRAPHS_OF_PAGE):
        made.add_paragraph(
            f"Paragraph {number} tells how the tenant of an instance looks after its otters day by "
            "day, and what the keepers have written down about food, water and weather."
        )
    file = io.BytesIO()
    made.save(file)
    texts = [one.text for one in made.paragraphs]
    return file.getvalue(), [Segment(id=str(at), text=text) for at, text in enumerate(texts)]


def in_chinese(said: str) -> str:
    return f"译文：{said.split(' tells ')[0].replace('Paragraph', '第')} 段"


class Translator:
    """Answers of a model to the parts of a document."""

    def __init__(self, segments: list[Segment], ids: Mapping[str, str]) -> None:
        self.parts = parts_of(segments)
        self._ids = ids

    def answer(self, part: list[Segment], **more: Any) -> model_script.Json:
        translated = [
            {"id": self._ids[one.text], "text": more.get("text") or in_chinese(one.text)}
            for one in part[: more.get("most")]
        ]
        return model_script.Json(
            value={"translations": translated}, match=self.match(part), times=more.get("times", 1)
        )

    def match(self, part: list[Segment]) -> Match:
        return Match(system=PART, last_user=f'"{part[0].text}"')


async def translator_of(content: bytes, segments: list[Segment], tmp_path: Path) -> Translator:
    """The ids are those that the program gives, which the tool `read_segments` tells."""
    from agents.researcher.translation import Translation
    from oda.workspace.sandbox.choice import current_sandboxes
    from tests.support.tool_calls import tool_call

    async with tool_call(tmp_path) as (_, workspace):
        await workspace.write("input/a.docx", content)
        work = await Translation.open(workspace, "input/a.docx", current_sandboxes())
    assert [one.text for one in work.segments] == [one.text for one in segments]
    return Translator(work.segments, {one.text: one.id for one in work.segments})


def order() -> ToolCalls:
    args = {
        "path": "input/a.docx",
        "target_path": "output/a.zh.docx",
        "target_language": "简体中文",
        "terms": {"tenant": "租户"},
    }
    return ToolCalls(calls=(Call(name="translate_document", args=args),))


TERMS = model_script.Json(
    value={"terms": [{"term": "instance", "translation": "实例"}]}, match=Match(system=GLOSSARY)
)


async def test_a_document_of_a_hundred_pages_is_translated_whole(
    client: ArticleClient, model: ModelServer, tmp_path: Path
) -> None:
    content, segments = document(PAGES)
    translator = await translator_of(content, segments, tmp_path)
    answers = [translator.answer(part) for part in translator.parts]
    model.play([order(), TERMS, *answers, Text(text="翻译好了。")])
    run = await client.send("translate-document", ("a.docx", content), prompt="")
    status = await client.ended(run)
    assert (status["status"], status["rounds"]) == ("succeeded", 2), status
    assert len(translator.parts) >= 50
    asked = [one for one in model.requests if one.system.startswith(PART)]
    assert len(asked) == len(translator.parts)
    assert all("- tenant: 租户" in one.system and "- instance: 实例" in one.system for one in asked)
    files = f"{ARTICLES}/{status['article_id']}/files"
    translated = docx.Document(io.BytesIO((await client.http.get(f"{files}/a.zh.docx")).content))
    assert [one.text for one in translated.paragraphs] == [in_chinese(one.text) for one in segments]


async def test_what_fails_is_tried_again_and_what_cannot_be_done_is_told(
    client: ArticleClient, model: ModelServer, tmp_path: Path
) -> None:
    content, segments = document(8)
    translator = await translator_of(content, segments, tmp_path)
    first, second, third, *rest = translator.parts
    unchanged = third[-1]
    model.play(
        [
            order(),
            TERMS,
            Error(status=503, match=translator.match(first)),
            translator.answer(first),
            translator.answer(second, most=3),
            translator.answer(second[3:]),
            translator.answer(third, most=len(third) - 1),
            model_script.Json(
                value={
                    "translations": [
                        {"id": translator._ids[unchanged.text], "text": unchanged.text}
                    ]
                },
                match=translator.match([unchanged]),
                times=None,
            ),
            *(translator.answer(part) for part in rest),
            Text(text="One paragraph could not be translated."),
        ]
    )
    run = await client.send("translate-document", ("a.docx", content), prompt="")
    status = await client.ended(run)
    assert status["status"] == "succeeded", status
    told = json.dumps(model.requests[-1].body, ensure_ascii=False)
    assert "it came back as it was" in told
    assert f"1 of {len(segments)} segments stay in their old language" in told
    files = f"{ARTICLES}/{status['article_id']}/files"
    translated = docx.Document(io.BytesIO((await client.http.get(f"{files}/a.zh.docx")).content))
    left = [one.text for one in translated.paragraphs if not one.text.startswith("译文")]
    assert left == [unchanged.text]


async def test_a_model_that_is_gone_does_not_cost_a_call_for_each_segment(
    client: ArticleClient, model: ModelServer, tmp_path: Path
) -> None:
    content, segments = document(40)
    translator = await translator_of(content, segments, tmp_path)
    model.play(
        [
            order(),
            TERMS,
            translator.answer(translator.parts[0]),
            Error(status=400, match=Match(system=PART), times=None),
            Text(text="The model does not answer; nothing was written.", times=None),
        ]
    )
    run = await client.send("translate-document", ("a.docx", content), prompt="")
    status = await client.ended(run)
    assert (await client.get(f"{ARTICLES}/{status['article_id']}"))["finished"] is False
    asked = [one for one in model.requests if one.system.startswith(PART)]
    assert len(asked) < len(translator.parts)
    told = json.dumps(model.requests[-1].body)
    assert "parts in a row have failed" in told
