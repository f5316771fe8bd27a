"""The course over several tasks: next, back, skip, pause, the end."""

import asyncio
from typing import TypeVar

import pytest
from pydantic import BaseModel

from agents.resume_coach.asking import Wordsmith
from agents.resume_coach.execution import ExecutionDoc
from agents.resume_coach.messages import Answer, Start, read_message
from agents.resume_coach.plan_agent import PlanAgent
from agents.resume_coach.state import CoachState
from agents.resume_coach.team import create_default_orchestrator
from mcp_tools.resume import apply_patch, diff, load_resume, read
from mcp_tools.resume.diagnosis import ProposedEdit, diagnose
from oda.adapter import AgentAction, PlainAgent
from oda.errors import ConfigurationError
from tests.support.coached import ANSWERS, RESUME, TODAY, begun, told, workflow

T = TypeVar("T", bound=BaseModel)

CONFIRM = AgentAction.REQUEST_CONFIRM


def kind_of(state: CoachState) -> str | None:
    return None if state.active is None else state.active.kind


async def finished() -> CoachState:
    state = await begun("sales")
    while not state.finished:
        answer = ANSWERS.get(kind_of(state) or "", "yes")
        state = await told(state, [answer, Answer(confirm=True)])
    return state


async def test_all_tasks_one_after_the_other() -> None:
    state = await finished()
    assert state.progress.model_dump() == {"done": 4, "skipped": 0, "total": 4}
    assert state.score.before < 75 < 85 < state.score.after < 100
    assert state.action is AgentAction.FINISH
    assert apply_patch(RESUME, diff(state.original, state.resume)) == state.resume
    assert diagnose(state.document, today=TODAY) == []


async def test_tasks_follow_the_entries_that_another_task_has_moved() -> None:
    state = await told(await begun(), ["skip", "yes", "yes"])
    assert kind_of(state) == "weak_verbs"
    assert state.active is not None
    assert (state.active.id, state.active.entry) == ("weak_verbs:work[1]", 0)
    state = await told(state, [ANSWERS["weak_verbs"], "yes"])
    assert read(state.document, "work[0].highlights[1]") == ANSWERS["weak_verbs"]


@pytest.mark.parametrize(("path", "is_made"), [("basics.name", True), ("work[9].name", False)])
async def test_the_editor_alone_makes_a_document_of_edits_or_none(path: str, is_made: bool) -> None:
    first = ProposedEdit(path="basics.email", action="update", value="ann@example.org")
    second = ProposedEdit(path=path, action="update", value="Ann")
    doc = ExecutionDoc(task="", edits=(first, second), language="en")
    state = (await begun()).model_copy(update={"current_exec_doc": doc})
    after, _ = await workflow().run_editor(state)
    assert (after.resume != state.resume) is is_made
    if is_made:
        assert read(after.document, "basics.email") == "ann@example.org"


@pytest.mark.parametrize(
    "target", ["回到教育经历", "back to education", "回到第4个任务", "back to task 4"]
)
async def test_one_goes_to_another_task_and_comes_back(target: str) -> None:
    state = await told(await begun(), [target])
    assert kind_of(state) == "missing_dates"
    assert [task.status for task in state.tasks] == ["pending"] * 3 + ["active"]
    state = await told(state, [ANSWERS["missing_dates"], "yes"])
    assert kind_of(state) == "missing_contact"


async def test_what_was_skipped_or_done_can_be_gone_back_to_even_at_the_end() -> None:
    state = await told(await begun(), ["skip"] * 4)
    assert (state.finished, state.progress.skipped) == (True, 4)
    state = await told(state, ["back to basics"])
    assert (state.finished, kind_of(state)) == (False, "missing_contact")
    state = await told(state, [ANSWERS["missing_contact"], "yes"])
    assert (state.finished, state.progress.done) == (True, 1)
    assert kind_of(await told(state, ["back to basics"])) == "missing_contact"


async def test_a_task_that_is_mended_says_so_and_changes_nothing() -> None:
    state = await told(await begun(), ["back to task 3", ANSWERS["weak_verbs"], "yes"])
    resume = state.resume
    state = await told(state, ["back to task 3"])
    assert kind_of(state) == "weak_verbs"
    assert "This is mended in" in state.reply
    assert "Helped the marketing department" not in state.reply
    state = await told(state, ["yes", "yes"])
    assert (state.resume, state.progress.done) == (resume, 1)
    left = await told(state, ["back to task 3", "back to basics"])
    assert (left.progress.done, kind_of(left)) == (1, "missing_contact")


async def test_a_task_may_be_answered_anew() -> None:
    state = await told(await begun(), [ANSWERS["missing_contact"], "yes", "back to basics"])
    assert "This is mended in" in state.reply
    state = await told(state, ["tim@brennan.example, +44 20 7946 0001", "yes"])
    assert read(state.document, "basics.email") == "tim@brennan.example"


async def test_a_task_is_diagnosed_again_where_its_entry_is_now() -> None:
    own = Answer(confirm=True, edits={"work[1].highlights[1]": "Responsible for trade fairs"})
    state = await told(await begun(), ["back to task 3", ANSWERS["weak_verbs"], own])
    state = await told(state, ["back to task 2", "yes", "yes", "back to task 3"])
    assert "Responsible for trade fairs" in state.reply
    state = await told(state, [ANSWERS["weak_verbs"]])
    assert state.draft is not None
    assert [one.path for one in state.draft.edits] == ["work[0].highlights[1]"]


async def test_a_model_may_not_take_for_ever() -> None:
    async def hangs(instruction: str, said: str, answer: type[T], hears: object = None) -> T:
        await asyncio.Event().wait()
        raise AssertionError

    assert await Wordsmith(hangs, within_s=0).words("", "", BaseModel) is None


async def test_a_task_that_does_not_exist_gives_the_list_and_keeps_the_draft() -> None:
    state = await told(await begun(), ["back to hobbies"])
    assert state.action is AgentAction.SWITCH_TASK
    assert state.reply.count("\n") == 4
    drafted = await told(state, [ANSWERS["missing_contact"], "回到火星"])
    assert (drafted.action, kind_of(drafted)) == (CONFIRM, "missing_contact")
    assert "火星" in drafted.reply
    assert (await told(drafted, ["yes"])).progress.done == 1


async def test_a_pause_keeps_the_draft() -> None:
    state = await told(await begun(), [ANSWERS["missing_contact"], "stop for today"])
    assert state.action is CONFIRM
    assert (await told(state, ["好的就这样"])).progress.done == 1


async def test_a_clean_resume_is_finished_at_once() -> None:
    clean = (await finished()).document
    state = await workflow().begin(clean, "", "zh")
    assert (state.finished, state.tasks, state.action) == (True, (), AgentAction.FINISH)
    assert "没有发现" in state.reply


async def test_the_rules_plan_stands_when_a_model_lies_or_fails() -> None:
    async def fails(instruction: str, said: str, answer: type[T], hears: object = None) -> T:
        raise ConnectionError("down")

    resume = load_resume(RESUME)
    by_rules = await PlanAgent(Wordsmith()).generate_plan("", resume, today=TODAY, language="en")
    failed = await PlanAgent(Wordsmith(fails)).generate_plan("", resume, today=TODAY, language="en")
    assert failed == by_rules


def test_three_agents_are_registered_and_names_are_taken_once() -> None:
    team = create_default_orchestrator()
    assert team.agent_names == ("plan", "guide", "editor")
    with pytest.raises(ConfigurationError, match="taken"):
        team.register_agent(PlainAgent(asyncio.sleep, name="guide"))


def test_what_a_message_is() -> None:
    resume = {"basics": {"name": "Tom"}}
    assert read_message('{"resume": {"basics": {"name": "Tom"}}, "intent": "x"}') == Start(
        resume=resume, intent="x"
    )
    assert read_message('改简历 {"basics": {"name": "Tom"}} 投后端') == Start(
        resume=resume, intent="改简历 投后端"
    )
    assert read_message('{"confirm": false}') == Answer(confirm=False)
    for words in ("use {braces}", '{"confirm": "yes"}', "[" * 9 + "{" * 99_999, '{"a": 1}'):
        assert read_message(words) == words
