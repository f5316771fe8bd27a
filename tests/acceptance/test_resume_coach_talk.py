"""Talking to the coach over HTTP without a model: what is no data stays out of the resume."""

from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.coached import AGENTS, ANSWERS, RESUME

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/api/resume-coach/sessions"
LINE = "Helped the marketing department with the yearly trade fair"

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    server = await serve_folder(AGENTS, LIMITS__REQUESTS_PER_MINUTE="100000")
    http: httpx.AsyncClient = server.client
    return http


async def begin(client: httpx.AsyncClient, intent: str = "", **more: Any) -> Json:
    body = {"resume": RESUME, "intent": intent, **more}
    created = await client.post(SESSIONS, json=body)
    assert created.status_code == 201, created.text
    view: Json = created.json()
    return view


async def say(client: httpx.AsyncClient, view: Json, *messages: str) -> Json:
    for message in messages:
        where = f"{SESSIONS}/{view['session_id']}/messages"
        said = await client.post(where, json={"message": message})
        assert said.status_code == 200, said.text
        view = said.json()
    return view


@pytest.mark.parametrize("remark", ["Why is that a problem?", "职位怎么写比较好？", "谢谢，辛苦了"])
async def test_a_question_is_answered_and_the_dialogue_stays(
    client: httpx.AsyncClient, remark: str
) -> None:
    begun = await say(client, await begin(client), "back to task 3")
    asked = await say(client, begun, remark)
    assert (asked["action"], asked["draft"]) == ("WAIT_INPUT", None)
    assert asked["current_task"]["kind"] == "weak_verbs"
    assert asked["resume"] == RESUME
    assert LINE in asked["reply"], "and the question is asked again"
    drafted = await say(client, asked, ANSWERS["weak_verbs"])
    assert drafted["draft"]["edits"][0]["value"] == ANSWERS["weak_verbs"]


async def test_why_is_answered_with_what_the_finding_knows(client: httpx.AsyncClient) -> None:
    begun = await say(client, await begin(client), "back to task 3")
    assert "which part was yours" in (await say(client, begun, "Why is that a problem?"))["reply"]
    assert "For example" in (await say(client, begun, "can you give me an example"))["reply"]


async def test_the_words_of_a_wish_are_never_written(client: httpx.AsyncClient) -> None:
    told = "I successfully planned the stand in order to win 9 customers there"
    view = await say(client, await begin(client), "back to task 3", told)
    shorter = await say(client, view, "make it shorter")
    assert shorter["action"] == "REQUEST_CONFIRM"
    (edit,) = shorter["draft"]["edits"]
    assert edit["value"] == "Planned the stand to win 9 customers there"
    other = await say(client, shorter, "more formal please")
    assert other["draft"] == shorter["draft"]
    swapped = await say(client, other, 'change "stand" to "booth"')
    assert swapped["draft"]["edits"][0]["value"] == "Planned the booth to win 9 customers there"
    done = await say(client, swapped, "yes")
    assert done["resume"]["work"][1]["highlights"][1] == swapped["draft"]["edits"][0]["value"]
    assert done["progress"]["done"] == 1


async def test_what_is_unclear_is_asked_and_taken_at_a_yes(client: httpx.AsyncClient) -> None:
    begun = await say(client, await begin(client), "back to task 3")
    asked = await say(client, begun, "the stand and the flyers")
    assert (asked["draft"], asked["action"]) == (None, "WAIT_INPUT")
    assert "the stand and the flyers" in asked["reply"]
    left = await say(client, asked, "no")
    assert left["draft"] is None
    taken = await say(client, asked, "the stand and the flyers", "yes")
    assert taken["draft"]["edits"][0]["value"] == "The stand and the flyers"


async def test_other_requests_are_answered_and_change_nothing(client: httpx.AsyncClient) -> None:
    begun = await say(client, await begin(client), ANSWERS["missing_contact"])
    listed = await say(client, begun, "show me all tasks")
    assert all(task["diagnosis"] in listed["reply"] for task in listed["tasks"])
    assert listed["draft"] == begun["draft"]
    shown = await say(client, listed, "看看我的简历")
    assert "Holloway Timber" in shown["reply"]
    assert (await say(client, shown, "好的"))["progress"]["done"] == 1


JOB = (
    "We are looking for a regional sales manager. Requirements: experience with Salesforce and "
    "key account management, proficiency in Excel and Power BI, good communication skills, and "
    "the will to travel in Scotland."
)


async def test_a_job_description_is_compared_and_nothing_is_added(
    client: httpx.AsyncClient,
) -> None:
    view = await begin(client, job=JOB)
    assert {one["asked"] for one in view["job"]["shown"]} >= {"Salesforce"}
    assert view["job"]["missing"] == ["Excel", "Power BI"]
    assert "Excel" in view["reply"]
    assert view["score"]["parts"]["relevance"]["after"] < 100
    (task,) = (task for task in view["tasks"] if task["kind"] == "relevance")
    number = view["tasks"].index(task) + 1
    asked = await say(client, view, f"back to task {number}")
    assert asked["draft"] is None
    none = await say(client, asked, "none")
    assert none["draft"]["edits"] == []
    told = await say(client, none, "no", "I built 12 monthly Excel reports for Holloway Timber")
    assert {one["path"] for one in told["draft"]["edits"]} == {"work[1].highlights", "skills"}
    done = await say(client, told, "yes")
    assert "Power BI" not in str(done["resume"])
    assert done["job"]["missing"] == ["Power BI"]
    assert (
        done["score"]["parts"]["relevance"]["after"] > view["score"]["parts"]["relevance"]["after"]
    )


async def test_a_job_description_may_be_pasted_into_the_talk(client: httpx.AsyncClient) -> None:
    view = await begin(client)
    assert "job" not in view
    compared = await say(client, view, JOB)
    assert compared["resume"] == RESUME
    assert compared["draft"] is None
    assert compared["job"]["missing"] == ["Excel", "Power BI"]
    assert compared["current_task"]["kind"] == view["current_task"]["kind"]
    assert [task["kind"] for task in compared["tasks"]][-1] == "relevance"


async def test_buzzwords_have_findings_and_few_points(client: httpx.AsyncClient) -> None:
    empty = ["Leveraged synergies to drive innovation", "Dynamic self-starter and team player"]
    resume = {
        "basics": {**RESUME["basics"], "email": "a@b.example", "phone": "02079460000"},
        "work": [
            {"name": "Acme", "position": "Clerk", "startDate": "2020-01", "highlights": empty}
        ],
        "education": [{"institution": "MIT", "startDate": "2015-09", "endDate": "2019-06"}],
        "skills": [{"name": "Teamwork"}, {"name": "Leadership"}],
    }
    view = await begin(client, "data analyst", resume=resume)
    kinds = [task["kind"] for task in view["tasks"]]
    assert {"buzzwords", "relevance"} <= {*kinds}
    assert view["score"]["after"] < 60
    assert view["score"]["parts"]["evidence"]["after"] == 0
