"""What a child has done is listed over HTTP and told in talk, from the records alone."""

from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
PROCESS = "/api/orchestrator/process"
STEPS = "/api/agents/companion"

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, tmp_path_factory: Any) -> httpx.AsyncClient:
    server = await serve_folder(
        AGENTS, tmp_path_factory.mktemp("records"), LIMITS__REQUESTS_PER_MINUTE="100000"
    )
    http: httpx.AsyncClient = server.client
    return http


async def say(client: httpx.AsyncClient, user: str, *messages: str, session: str = "s") -> Json:
    """Say messages one after the other; return the response to the last."""
    answer: Json = {}
    for message in messages:
        body = {"session_id": session, "input": {"type": "text", "text": message}}
        got = await client.post(PROCESS, json=body, headers={"X-Oda-User": user})
        assert got.status_code == 200, got.text
        answer = got.json()
    return answer


async def get(client: httpx.AsyncClient, user: str, path: str, **query: Any) -> Json:
    got = await client.get(f"/api/companion/{path}", params=query, headers={"X-Oda-User": user})
    assert got.status_code == 200, got.text
    found: Json = got.json()
    return found


async def recite(client: httpx.AsyncClient, user: str, title: str, score: float) -> None:
    record = {"title": title, "score": score, "passed": score >= 85, "round": 1, "errors": []}
    headers = {"X-Oda-User": user}
    saved = await client.post(f"{STEPS}/save-history", json=record, headers=headers)
    assert saved.status_code == 200


async def test_mistakes_are_listed_once_with_how_often_they_were_made(
    client: httpx.AsyncClient,
) -> None:
    await say(client, "mei", "批改作业：3+4=8，5×6=31，2+2=4", "不做了")
    await say(client, "mei", "批改作业：3+4=9", "不做了", session="other")
    await recite(client, "mei", "静夜思", 60.0)
    found = (await get(client, "mei", "mistakes"))["mistakes"]
    assert [(one["kind"], one["title"], one["answer"], one["times"]) for one in found] == [
        ("recite", "静夜思", None, 1),
        ("homework", "3+4", "9", 2),
        ("homework", "5×6", "31", 1),
    ]
    assert "expected" not in str(found)
    only = (await get(client, "mei", "mistakes", subject="math", kind="homework"))["mistakes"]
    assert [one["title"] for one in only] == ["3+4", "5×6"]
    assert (await get(client, "mei", "mistakes", until="2020-01-01"))["mistakes"] == []
    assert (await get(client, "tom", "mistakes"))["mistakes"] == []


async def test_lists_come_page_by_page(client: httpx.AsyncClient) -> None:
    await say(client, "pia", "批改作业：1+1=3，1+2=4，1+3=5，1+4=6，1+5=6", "不做了")
    await recite(client, "pia", "春晓", 90.0)
    for path, key in (("history", "history"), ("mistakes", "mistakes")):
        whole = (await get(client, "pia", path))[key]
        pages: list[Json] = []
        cursor: str | None = None
        while True:
            query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            page = await get(client, "pia", path, **query)
            assert 0 < len(page[key]) <= 2
            pages += page[key]
            if (cursor := page["next_cursor"]) is None:
                break
        assert pages == whole
        assert len({one["id"] for one in whole}) == len(whole) == {"history": 6, "mistakes": 4}[key]
    wrong = await client.get("/api/companion/mistakes?cursor=bm9uc2Vuc2U")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_request")


async def test_progress_and_recitations_are_listed(client: httpx.AsyncClient) -> None:
    await say(client, "kim", "check my homework: 3+4=7, 5*6=31", "stop")
    await recite(client, "kim", "The Star", 70.0)
    await recite(client, "kim", "The Star", 92.5)
    progress = await get(client, "kim", "progress", days=3)
    assert [(one["subject"], one["attempts"], one["correct"]) for one in progress["subjects"]] == [
        ("math", 2, 1),
        ("recitation", 2, 1),
    ]
    assert {one["day"] for one in progress["days"]} == {progress["until"]}
    (star,) = (await get(client, "kim", "recitations"))["recitations"]
    assert (star["title"], star["rounds"], star["best"], star["passed"]) == (
        "The Star",
        2,
        92.5,
        True,
    )


QUESTIONS = [
    ("zh", "我今天错了哪些题？", ["3+4", "8", "5×6"], ["7", "30"]),
    ("zh", "我背过哪些诗", ["《春晓》", "92"], []),
    ("zh", "我学得怎么样", ["数学", "3次", "对了1次", "背诵"], []),
    ("zh", "我今天做了什么", ["2+2 ✓", "《春晓》"], []),
    ("zh", "我上周错了哪些题", ["上周", "没有记下错题"], ["3+4"]),
    ("en", "what did I get wrong today?", ["3+4", '"8"', "5*6"], ["7", "30"]),
    ("en", "which poems have I recited?", ['"春晓"', "92 points"], []),
    ("en", "how am I doing?", ["maths: 1 of 3", "reciting"], []),
    ("en", "what did I do today?", ["2+2 ✓"], []),
    ("en", "what did I get wrong last week?", ["Last week", "nothing went wrong"], ["3+4"]),
]
BEFORE = {
    "chat": {"zh": ["你好"], "en": ["hello"]},
    "recite": {"zh": ["背静夜思", "床前明月光"], "en": ["let's recite The Star"]},
    "homework": {"zh": ["批改作业：9+9=？"], "en": ["check my homework: 9+9=?"]},
}


@pytest.mark.parametrize("scene", BEFORE)
@pytest.mark.parametrize(("language", "question", "told", "untold"), QUESTIONS)
async def test_a_question_is_answered_from_the_records_in_every_scene(
    client: httpx.AsyncClient,
    language: str,
    question: str,
    told: list[str],
    untold: list[str],
    scene: str,
) -> None:
    user = f"{scene}-{language}"
    if not (await get(client, user, "history"))["history"]:
        work = {
            "zh": "批改作业：3+4=8，5×6=31，2+2=4",
            "en": "check my homework: 3+4=8, 5*6=31, 2+2=4",
        }
        await say(client, user, work[language], {"zh": "不做了", "en": "stop"}[language])
        await recite(client, user, "春晓", 92.0)
    session = f"s{QUESTIONS.index((language, question, told, untold))}"
    before = await say(client, user, *BEFORE[scene][language], session=session)
    counted = len((await get(client, user, "history"))["history"])
    answer = await say(client, user, question, session=session)
    text = answer["content"]["text"]
    assert all(part in text for part in told), text
    assert not any(part in text for part in untold), text
    assert (answer["scene"], answer["phase"]) == (before["scene"], before["phase"])
    assert len((await get(client, user, "history"))["history"]) == counted


async def test_the_card_holds_the_entries(client: httpx.AsyncClient) -> None:
    await say(client, "card", "批改作业：3+4=8", "不做了")
    content = (await say(client, "card", "我的错题"))["content"]
    assert (content["type"], content["kind"], content["count"]) == ("card", "mistakes", 1)
    assert content["entries"][0]["title"] == "3+4"


async def test_the_task_goes_on_after_a_question(client: httpx.AsyncClient) -> None:
    answer = await say(
        client, "goes-on", "check my homework: 47+38=75", "what did I get wrong today?", "85"
    )
    assert (answer["scene"], answer["phase"]) == ("homework", "summary")
    assert answer["content"]["items"][0]["solved"] is True


PRACTICE = [
    ("zh", "批改作业：3+4=8，5×6=31", "练练错题", ["7", "29", "30"], "不做了"),
    ("en", "check my homework: 3+4=8, 5*6=31", "practise my mistakes", ["7", "29", "30"], "stop"),
]


@pytest.mark.parametrize(("language", "work", "wish", "answers", "stop"), PRACTICE)
async def test_mistakes_are_practised_and_planned(
    client: httpx.AsyncClient,
    language: str,
    work: str,
    wish: str,
    answers: list[str],
    stop: str,
) -> None:
    user = f"practice-{language}"
    await say(client, user, work, stop)
    begun = await say(client, user, wish)
    assert (begun["scene"], begun["phase"]) == ("practice", "practising")
    assert "3+4" in begun["content"]["text"]
    right, wrong, ended = [await say(client, user, answer) for answer in answers]
    assert {"zh": "2天以后", "en": "in 2 days"}[language] in right["content"]["text"]
    assert (wrong["scene"], wrong["phase"]) == ("practice", "practising")
    assert "30" not in wrong["content"]["text"]
    assert (ended["scene"], ended["phase"]) == ("chat", "idle")
    assert {"zh": "2道里一次做对了1道", "en": "Right at once: 1 of 2"}[language] in (
        ended["content"]["text"]
    )
    found = (await get(client, user, "mistakes"))["mistakes"]
    today = (await get(client, user, "progress"))["until"]
    planned = {one["title"].replace("*", "×"): one for one in found}
    days = {title: days_between(today, one["due_on"]) for title, one in planned.items()}
    assert days == {"3+4": 2, "5×6": 1}
    assert [one["reviews"] for one in found] == [1, 1]
    assert planned["5×6"]["times"] == 2, "the wrong answer in practice is one, too"
    nothing = await say(client, user, wish)
    assert (nothing["scene"], nothing["phase"]) == ("chat", "idle")
    assert {"zh": "今天没有要练的错题", "en": "Nothing is to be practised today"}[language] in (
        nothing["content"]["text"]
    )


def days_between(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


async def test_a_mistake_that_is_made_again_is_due_at_once(client: httpx.AsyncClient) -> None:
    await say(client, "again", "批改作业：3+4=8", "不做了", "练练错题", "7")
    await say(client, "again", "批改作业：3+4=9", "不做了", session="other")
    begun = await say(client, "again", "练练错题")
    assert (begun["scene"], begun["phase"]) == ("practice", "practising")


async def test_practice_gives_hints_and_can_be_left(client: httpx.AsyncClient) -> None:
    hint = await say(client, "hints", "批改作业：47+38=75", "不做了", "练练错题", "提示")
    assert "85" not in hint["content"]["text"]
    helped = await say(client, "hints", "85")
    assert "明天" in helped["content"]["text"], "what needed a hint comes back soon"
    empty = await say(client, "nobody", "练练错题")
    assert "错题本是空的" in empty["content"]["text"]
    left = await say(client, "leaves", "批改作业：47+38=75", "不做了", "练练错题", "不练了")
    assert left["scene"] == "chat"
    untouched = (await get(client, "leaves", "mistakes"))["mistakes"]
    assert [one["reviews"] for one in untouched] == [0]
