"""Rule 1: the user message is stored exactly once, whatever fails and however often."""

from collections.abc import Sequence

import pytest
from google.adk.events import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import Content, FunctionResponse, Part

from oda.testing.script import Call, Error, Text, ToolCalls
from tests.support.flaky_store import FlakyStore
from tests.support.roots import GRAPH_OF_THREE, LLM, SEQUENTIAL, Kind, every_kind
from tests.support.stage import stage
from tests.support.transcript import transcript

DOWN = Error(status=503)
ID = "turn-of-our-choice"


def from_user(events: Sequence[Event]) -> list[str]:
    return [line for line in transcript(events) if line.startswith("user: ")]


def is_from_user(event: Event) -> bool:
    return event.author == "user"


@every_kind
async def test_rule_1_message_is_stored_once_however_often_the_model_fails(kind: Kind) -> None:
    play = await stage(kind, [DOWN, DOWN, DOWN, Text(text="at last")])
    yielded = transcript(await play.ask())
    assert "worker: at last" in yielded
    assert from_user(await play.stored()) == ["user: hello"]


@every_kind
async def test_rule_1_message_is_stored_once_when_the_turn_fails_for_good(kind: Kind) -> None:
    play = await stage(kind, [DOWN] * 4)
    assert transcript(await play.ask())[-1] == "system! MAX_RETRIES_EXCEEDED"
    assert from_user(await play.stored()) == ["user: hello"]


@pytest.mark.parametrize("kind", [LLM, SEQUENTIAL, GRAPH_OF_THREE], ids=lambda kind: kind.name)
async def test_rule_1_message_is_stored_once_on_every_session_service(
    kind: Kind, session_service: BaseSessionService
) -> None:
    play = await stage(kind, [DOWN, DOWN, Text(text="at last")], service=session_service)
    await play.ask()
    await play.ask("again")
    assert from_user(await play.stored()) == ["user: hello", "user: again"]


@every_kind
@pytest.mark.parametrize("after_commit", [False, True], ids=["not_stored", "stored_but_unsaid"])
async def test_rule_1_message_is_stored_once_when_the_store_fails_at_it(
    kind: Kind, after_commit: bool
) -> None:
    store = FlakyStore()
    play = await stage(kind, [Text(text="at last")], service=store)
    store.failing_appends, store.after_commit = 2 - after_commit, after_commit
    store.matching = is_from_user
    yielded = transcript(await play.ask())
    assert yielded[0] == "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution"
    assert "worker: at last" in yielded
    assert from_user(await play.stored()) == ["user: hello"]


@every_kind
async def test_rule_1_message_is_stored_once_when_the_session_cannot_be_loaded(kind: Kind) -> None:
    store = FlakyStore()
    play = await stage(kind, [Text(text="at last")], service=store)
    store.failing_loads = 2
    assert "worker: at last" in transcript(await play.ask())
    assert from_user(await play.stored()) == ["user: hello"]


@every_kind
async def test_rule_1_message_gets_the_id_that_the_caller_chose(kind: Kind) -> None:
    play = await stage(kind)
    yielded = await play.ask(invocation_id=ID)
    assert {event.invocation_id for event in [*yielded, *await play.stored()]} == {ID}


@every_kind
async def test_rule_1_message_sent_again_under_its_id_is_not_stored_again(kind: Kind) -> None:
    """So does whoever cannot know whether a process had died before or after storing it."""
    first = await stage(kind)
    await first.ask(invocation_id=ID)
    with_message_only = (await first.stored())[:1]
    second = await stage(kind, history=with_message_only)
    assert (
        transcript(await second.ask(invocation_id=ID))[-1] == transcript(await first.stored())[-1]
    )
    assert from_user(await second.stored()) == ["user: hello"]


@every_kind
async def test_rule_1_message_of_an_earlier_turn_does_not_stand_for_the_same_words_said_again(
    kind: Kind,
) -> None:
    play = await stage(kind)
    await play.ask("hello")
    await play.ask("hello")
    assert from_user(await play.stored()) == ["user: hello", "user: hello"]


@every_kind
async def test_rule_1_state_that_comes_with_the_message_is_stored_once(kind: Kind) -> None:
    play = await stage(kind, [DOWN, Text(text="at last")])
    await play.ask(state_delta={"mood": "good"})
    with_state = [event for event in await play.stored() if event.actions.state_delta.get("mood")]
    assert from_user(with_state) == ["user: hello"]


@pytest.mark.parametrize("kind", [LLM, SEQUENTIAL], ids=lambda kind: kind.name)
async def test_rule_1_answer_to_a_question_of_a_tool_is_stored_once(kind: Kind) -> None:
    ask_first = ToolCalls(calls=(Call(name="approve", id="c-1"),))
    approvals: list[str] = []

    async def approve() -> dict[str, str]:
        """Do what needs a person's leave."""
        approvals.append("done")
        return {"status": "done"}

    play = await stage(
        kind,
        [ask_first, DOWN, DOWN, Text(text="approved")],
        tools=[FunctionTool(approve, require_confirmation=True)],
    )
    waiting = [event for event in await play.ask() if event.long_running_tool_ids]
    question = waiting[0].get_function_calls()[0]
    answer = Content(
        role="user",
        parts=[
            Part(
                function_response=FunctionResponse(
                    id=question.id, name=question.name, response={"confirmed": True}
                )
            )
        ],
    )
    yielded = transcript(await play.ask(answer))
    assert "worker: approved" in yielded
    assert approvals == ["done"]
    confirmations = [
        line for line in from_user(await play.stored()) if "adk_request_confirmation" in line
    ]
    assert len(confirmations) == 1
