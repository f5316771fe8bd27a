"""Whole tasks over HTTP: files, a job description, a translation, a letter; and advice."""

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from docx import Document

from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.cv_tools import PATH, say
from tests.support.model_settings import openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
RESUME: dict[str, Any] = {
    "basics": {"name": "张三", "label": "后端工程师"},
    "work": [
        {
            "name": "腾讯",
            "position": "后端工程师",
            "startDate": "2021-07",
            "summary": "负责订单系统，用 Java 把响应时间缩短 30%。",
        }
    ],
    "skills": [{"name": "Java"}, {"name": "英语"}],
}
JOB = """看看我适不适合这个岗位：
高级后端工程师
岗位职责：负责支付系统的设计与开发。
任职要求：熟悉 Java 和 Kubernetes，英语流利，硕士优先。"""
MARKDOWN = "# Jane Roe\n\njane@example.com\n\n## Skills\n\n- Rust\n- SQL\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, shared_model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    server = await serve_folder(AGENTS, **openai(shared_model))
    yield server.client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone(serve_folder: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A server without a model."""
    yield (await serve_folder(AGENTS)).client


def call(tool: str, **args: Any) -> Call:
    return Call(name=tool, args=args)


def docx(*lines: str) -> bytes:
    document = Document()
    for line in lines:
        document.add_paragraph(line)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


async def send(client: httpx.AsyncClient, message: str, *files: Any, **fields: str) -> Any:
    """Send a message with files as a form; the response."""
    form = {"message": message, **fields}
    answer = await client.post(PATH, data=form, files=[("files", file) for file in files])
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- a job description


async def test_without_a_model_a_pasted_job_is_compared_by_rules(alone: httpx.AsyncClient) -> None:
    response = await say(alone, JOB, resume_data=RESUME)
    reply = response["reply"].casefold()
    assert "kubernetes：简历中没有体现" in reply
    assert "java：简历中已体现（work[0].summary、skills[0].name）" in reply
    assert "硕士：简历中没有体现" in reply
    assert response["resume"] == RESUME


async def test_what_a_job_asks_for_is_nothing_that_was_said(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    lies = (
        call("CVEditor", path="skills", action="add", value={"name": "Kubernetes"}),
        call("CVEditor", path="work[0].position", action="update", value="高级后端工程师"),
    )
    model.play(
        [
            ToolCalls(calls=(call("CVFit"),)),
            ToolCalls(calls=lies[:1]),
            ToolCalls(calls=lies[1:]),
            Text(text="你用过 Kubernetes 吗？"),
        ]
    )
    response = await say(client, JOB, resume_data=RESUME)
    assert response["resume"] == RESUME
    assert response["type"] == "clarify"
    assert "kubernetes" in str(model.requests[1].messages[-1]).casefold()
    model.play([ToolCalls(calls=lies[:1]), Text(text="好的。")])
    said = "我在腾讯的时候确实用过 Kubernetes，帮我润色并补充到技能里"
    response = await say(client, said, session_id=response["session_id"])
    assert [skill["name"] for skill in response["resume"]["skills"]][-1] == "Kubernetes"


async def test_an_attached_job_is_compared_too(alone: httpx.AsyncClient) -> None:
    started = await say(alone, "我叫张三", resume_data=RESUME)
    job = docx("岗位职责：开发支付系统", "任职要求：熟悉 Java 与 Redis")
    response = await send(
        alone, "对照一下这个职位", ("job.docx", job), session_id=started["session_id"]
    )
    assert "redis：简历中没有体现" in response["reply"].casefold()


# --- files


@pytest.mark.parametrize("message", ["import this", "这是我的简历"])
async def test_an_attached_file_becomes_the_resume_and_can_be_undone(
    alone: httpx.AsyncClient, message: str
) -> None:
    started = await say(alone, "my name is Bob", resume_data={"skills": [{"name": "Go"}]})
    response = await send(
        alone, message, ("cv.md", MARKDOWN.encode()), session_id=started["session_id"]
    )
    assert response["resume"]["basics"]["name"] == "Jane Roe"
    assert [skill["name"] for skill in response["resume"]["skills"]] == ["Rust", "SQL"]
    assert "cv.md" in response["reply"]
    undone = await say(alone, "undo", session_id=started["session_id"])
    assert undone["resume"]["skills"] == [{"name": "Go"}]


async def test_what_was_not_understood_is_told(alone: httpx.AsyncClient) -> None:
    text = "张三\n性别：男\n电话：13800138000\n\n专业技能\nJava、Go\n"
    response = await send(alone, "导入这份简历", ("cv.txt", text.encode()))
    assert "性别：男" in response["reply"]


async def test_a_file_that_cannot_be_read_is_an_error_in_words(alone: httpx.AsyncClient) -> None:
    response = await send(alone, "import this", ("cv.pdf", b"%PDF-1.7 broken"))
    assert response["type"] == "error"
    assert "PDF" in response["reply"]


async def test_the_model_reads_files_and_sees_their_names(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(call("CVFile", name="notes.txt"),)), Text(text="Read.")])
    response = await send(
        client, "please improve my resume with these", ("notes.txt", b"I know Rust well")
    )
    assert response["reply"] == "Read."
    assert "notes.txt" in str(model.requests[0].messages[-1])
    assert "I know Rust well" in str(model.requests[1].messages[-1])
    assert "I know Rust well" not in str(model.requests[0].messages)


async def test_a_file_that_is_not_there_is_refused_with_those_that_are(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=(call("CVFile", name="../x"),)), Text(text="Which file?")])
    response = await send(client, "please improve it", ("notes.txt", b"Rust"))
    assert "notes.txt" in response["tool_result"]["error"]


async def test_uploaded_artifacts_are_found_by_their_names(alone: httpx.AsyncClient) -> None:
    started = await say(alone, "show my skills", resume_data=RESUME)
    place = f"/v1/apps/cv/sessions/{started['session_id']}/artifacts/old.md"
    assert (await alone.put(place, content=MARKDOWN.encode())).status_code == 201
    response = await say(alone, "import old.md", session_id=started["session_id"])
    assert response["resume"]["basics"]["name"] == "Jane Roe"


@pytest.mark.parametrize(
    ("fields", "status"), [({}, 422), ({"message": "hi", "expected_version": "soon"}, 422)]
)
async def test_a_wrong_form_is_refused(
    alone: httpx.AsyncClient, fields: dict[str, str], status: int
) -> None:
    answer = await alone.post(PATH, data=fields, files=[("other", ("x.md", b"x"))])
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


# --- a translation


def translated(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "basics": {"name": "Zhang San", "label": "Backend Engineer"},
        "work": [
            {
                "name": "Tencent",
                "position": "Backend Engineer",
                "startDate": "2021-07",
                "summary": "Responsible for the order system; cut response times by 30% in Java.",
            }
        ],
        "skills": [{"name": "Java"}, {"name": "English"}],
    }
    document["work"][0].update(changes)
    return document


async def test_a_translation_is_a_second_document(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    kept = call("CVTranslate", language="en", document=translated())
    export = call("CVExport", format="docx", translation="en")
    model.play([ToolCalls(calls=(kept,)), ToolCalls(calls=(export,)), Text(text="Here it is.")])
    response = await say(client, "请把整份简历翻译润色成英文", resume_data=RESUME)
    assert response["resume"] == RESUME
    made = response["tool_result"]["value"]
    assert made["name"] == "resume-en-Zhang San.docx"
    place = f"/v1/apps/cv/sessions/{response['session_id']}/artifacts"
    names = {one["name"] for one in (await client.get(place)).json()["artifacts"]}
    assert {"resume-en-Zhang San.md", "resume-en-Zhang San.json", made["name"]} <= names
    got = (await client.get(f"{place}/resume-en-Zhang San.json")).json()
    assert got["work"][0]["name"] == "Tencent"


@pytest.mark.parametrize(
    "lie",
    [
        {"position": "Technical Director"},
        {"name": "Google"},
        {"startDate": "2020-07"},
        {"summary": "Cut response times by 40% in Java."},
        {"summary": "Responsible for the order system, winning the company innovation award."},
    ],
)
async def test_a_translation_that_lies_is_not_kept(
    client: httpx.AsyncClient, model: ModelServer, lie: dict[str, str]
) -> None:
    kept = call("CVTranslate", language="en", document=translated(**lie))
    model.play([ToolCalls(calls=(kept,)), Text(text="I could not.")])
    response = await say(client, "请把整份简历翻译润色成英文", resume_data=RESUME)
    assert response["tool_result"]["success"] is False
    place = f"/v1/apps/cv/sessions/{response['session_id']}/artifacts"
    assert (await client.get(place)).json()["artifacts"] == []


async def test_a_translation_with_other_entries_is_refused(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    document = translated()
    document["skills"].pop()
    kept = call("CVTranslate", language="en", document=document)
    model.play([ToolCalls(calls=(kept,)), Text(text="I could not.")])
    response = await say(client, "请把整份简历翻译润色成英文", resume_data=RESUME)
    assert "译文" in response["tool_result"]["error"]


# --- a letter

LETTER = """# Application

Dear Hiring Manager,

I built the order system of 腾讯 in Java.

Best regards,
张三"""


async def test_a_letter_is_kept_as_a_file(client: httpx.AsyncClient, model: ModelServer) -> None:
    write = call("CVWrite", kind="cover_letter", text=LETTER, addressed_to="Globex")
    model.play([ToolCalls(calls=(write,)), Text(text="Here it is.")])
    response = await say(client, "请帮我写一封给 Globex 的求职信，润色一下", resume_data=RESUME)
    made = response["tool_result"]["value"]
    assert made["name"] == "cover-letter-张三.md"
    assert (await client.get(made["link"])).text == LETTER
    assert response["resume"] == RESUME


async def test_a_letter_that_lies_is_not_kept(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    text = LETTER.replace("in Java", "in Java and Kubernetes as Technical Director")
    model.play(
        [ToolCalls(calls=(call("CVWrite", kind="cover_letter", text=text),)), Text(text="No.")]
    )
    response = await say(client, "请帮我写一封求职信，润色一下", resume_data=RESUME)
    assert "Kubernetes" in response["tool_result"]["error"]


# --- advice


@pytest.mark.parametrize(
    "question",
    ["职位怎么写比较好？", "how long should my resume be?", "谢谢，顺便问下面试怎么准备"],
)
async def test_advice_is_one_call_and_edits_nothing(
    client: httpx.AsyncClient, model: ModelServer, question: str
) -> None:
    model.play([Text(text="Keep it short.")])
    response = await say(client, question, resume_data=RESUME)
    assert (response["reply"], response["resume"]) == ("Keep it short.", RESUME)
    assert len(model.requests) == 1
    assert "腾讯" in str(model.requests[0].messages[-1])


async def test_an_edit_that_nobody_asked_for_is_refused(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    eager = call("CVEditor", path="work[0].summary", action="update", value="负责订单系统。")
    model.play([ToolCalls(calls=(eager,)), Text(text="我建议这样写。")])
    response = await say(client, "职位怎么写比较好？", resume_data=RESUME)
    assert response["resume"] == RESUME
    assert response["tool_result"]["success"] is False
