"""Rule 6: what becomes of tool calls that fail, are interrupted, or return odd things."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part
from pydantic import BaseModel

from oda.agent.outcome import outcome_of
from oda.errors import FatalToolError
from oda.testing.script import Call, Error, Text, ToolCalls
from oda.tools.idempotency import idempotency_key, idempotent
from tests.support.roots import LLM, SEQUENTIAL, Kind, every_kind
from tests.support.stage import Stage, stage
from tests.support.transcript import seen_by_model, transcript, unpaired_calls

ANSWER = Text(text="answer")
TURN = "turn-1"


def calls(*names: str) -> ToolCalls:
    return ToolCalls(calls=tuple(Call(name=name, id=f"c-{name}") for name in names))


def results(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.startswith("worker: ") and " -> " in line]


def assert_paired(play: Stage) -> None:
    for model in play.cast.models.values():
        assert [unpaired_calls(request) for request in model.requests] == [[]] * len(model.requests)


# --- errors


@every_kind
async def test_rule_6_exception_of_a_tool_is_an_answer_to_the_model(kind: Kind) -> None:
    async def stumble() -> str:
        """Fail."""
        raise ValueError("the file /home/someone/notes/secret.txt is locked")

    play = await stage(kind, [calls("stumble"), ANSWER], tools=[stumble])
    yielded = transcript(await play.ask())
    told = "worker: stumble -> {'error': 'the file <path> is locked', 'error_type': 'ValueError'}"
    assert yielded == [*kind.before, "worker: stumble()", told, "worker: answer", *kind.after]
    assert seen_by_model(play.model.requests[-1])[-1] == told.replace("worker", "user", 1)
    assert play.clock.sleeps == ()


@every_kind
async def test_rule_6_fatal_error_of_a_tool_ends_the_turn(kind: Kind) -> None:
    async def halt() -> str:
        """Halt."""
        raise FatalToolError("the disk is full", remedy="free some space")

    play = await stage(kind, [calls("halt"), ANSWER], tools=[halt])
    events = await play.ask()
    assert transcript(events) == [*kind.before, "worker: halt()", "system! NON_RETRYABLE_ERROR"]
    assert outcome_of(events).error == {
        "code": "fatal_tool_error",
        "message": "the disk is full (free some space)",
        "retryable": False,
    }
    [told] = results(await play.history())
    assert "The turn failed before the call finished" in told
    await play.ask("again")
    assert_paired(play)


@every_kind
async def test_rule_6_parallel_call_that_failed_does_not_cost_the_others_their_results(
    kind: Kind,
) -> None:
    async def stumble() -> str:
        """Fail."""
        raise ValueError("no")

    async def stand() -> str:
        """Work."""
        return "stood"

    play = await stage(kind, [calls("stumble", "stand"), ANSWER], tools=[stumble, stand])
    yielded = transcript(await play.ask())
    assert yielded[len(kind.before) + 1] == (
        "worker: stumble -> {'error': 'no', 'error_type': 'ValueError'}"
        " + stand -> {'result': 'stood'}"
    )
    assert_paired(play)


@every_kind
async def test_rule_6_call_of_a_tool_that_does_not_exist_is_answered(kind: Kind) -> None:
    play = await stage(kind, [calls("imagined"), ANSWER])
    yielded = transcript(await play.ask())
    assert "not found" in yielded[len(kind.before) + 1]
    assert "worker: answer" in yielded


# --- interrupted calls


@dataclass
class Tools:
    """Three tools that write down under which key they ran; two may run twice."""

    service: BaseSessionService | None = None

    def __post_init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    @property
    def tools(self) -> list[Any]:
        async def pay(tool_context: ToolContext) -> str:
            """Pay, which nobody wants to do twice."""
            self.ran.append(("pay", idempotency_key(tool_context)))
            return "paid"

        @idempotent
        async def file(tool_context: ToolContext) -> str:
            """Put into the file, under its key."""
            self.ran.append(("file", idempotency_key(tool_context)))
            return "filed"

        async def stamp(tool_context: ToolContext) -> str:
            """Stamp; declared on the tool object."""
            self.ran.append(("stamp", idempotency_key(tool_context)))
            return "stamped"

        declared = FunctionTool(stamp)
        declared.custom_metadata = {"idempotent": True}
        return [pay, file, declared]

    async def interrupted(self, kind: Kind, *names: str) -> tuple[Stage, str]:
        """A new process, after the one before died when it had just stored the calls."""
        first = await stage(kind, [calls(*names), ANSWER], tools=self.tools)
        await first.ask(invocation_id=TURN)
        assert sorted(name for name, _ in self.ran) == sorted(names)
        self.ran.clear()
        whole = await first.stored()
        stored = next(i for i, event in enumerate(whole, 1) if _calls(event) == set(names))
        played = sum(event.author == "worker" and bool(event.content) for event in whole[:stored])
        second = await stage(
            kind,
            [calls(*names), ANSWER],
            tools=self.tools,
            history=whole[:stored],
            played=played,
            service=self.service,
        )
        return second, TURN


def _calls(event: Event) -> set[str | None]:
    return {call.name for call in event.get_function_calls()}


@every_kind
async def test_rule_6_interrupted_call_is_not_repeated_and_the_model_is_told_so(kind: Kind) -> None:
    tools = Tools()
    play, turn = await tools.interrupted(kind, "pay")
    yielded = transcript(await play.resume(turn))
    told = seen_by_model(play.model.requests[0])[-1]
    assert yielded == [told.replace("user", "worker", 1), "worker: answer", *kind.after]
    assert tools.ran == []
    assert told.startswith("user: pay -> {'error': 'Outcome unknown: ")
    assert "'status': 'outcome_unknown'" in told
    assert_paired(play)


@every_kind
@pytest.mark.parametrize("tool", ["file", "stamp"])
async def test_rule_6_interrupted_idempotent_call_is_repeated_under_its_key(
    kind: Kind, tool: str
) -> None:
    tools = Tools()
    play, turn = await tools.interrupted(kind, tool)
    yielded = transcript(await play.resume(turn))
    done = {"file": "filed", "stamp": "stamped"}[tool]
    assert "'status': 'repeated'" in yielded[0]
    assert yielded[1:] == [
        f"worker: {tool}()",
        f"worker: {tool} -> {{'result': '{done}'}}",
        "worker: answer",
        *kind.after,
    ]
    assert tools.ran == [(tool, f"{TURN}:c-{tool}")]
    assert len(play.model.requests) == 1
    assert_paired(play)


async def test_rule_6_idempotent_call_may_be_interrupted_again_and_again() -> None:
    tools = Tools()
    play, turn = await tools.interrupted(LLM, "file")
    await play.resume(turn)
    whole = await play.stored()
    repeated = next(i for i, event in enumerate(whole, 1) if event.id == _last_call(whole).id)
    third = await stage(LLM, [ANSWER], tools=tools.tools, history=whole[:repeated])
    await third.resume(turn)
    ids = [call.id for event in await third.stored() for call in event.get_function_calls()]
    assert ids == ["c-file", "c-file~2", "c-file~3"]
    assert tools.ran == [("file", f"{TURN}:c-file")] * 2


def _last_call(events: Sequence[Event]) -> Event:
    return [event for event in events if event.get_function_calls()][-1]


@every_kind
async def test_rule_6_of_parallel_interrupted_calls_only_the_idempotent_are_repeated(
    kind: Kind,
) -> None:
    tools = Tools()
    play, turn = await tools.interrupted(kind, "pay", "file", "stamp")
    assert "worker: answer" in transcript(await play.resume(turn))
    assert tools.ran == [("file", f"{TURN}:c-file"), ("stamp", f"{TURN}:c-stamp")]
    assert_paired(play)


async def test_rule_6_interrupted_calls_are_known_on_every_session_service(
    session_service: BaseSessionService,
) -> None:
    tools = Tools(session_service)
    play, turn = await tools.interrupted(LLM, "pay", "file")
    assert transcript(await play.resume(turn))[-1] == "worker: answer"
    assert tools.ran == [("file", f"{TURN}:c-file")]
    assert_paired(play)


async def test_rule_6_next_message_closes_the_calls_of_a_turn_that_never_went_on() -> None:
    play, _ = await Tools().interrupted(LLM, "pay")
    await play.ask("are you there?")
    assert [line.split(" -> ")[0] for line in await play.history()] == [
        "user: hello",
        "worker: pay()",
        "worker: pay",
        "user: are you there?",
        "worker: answer",
    ]
    assert_paired(play)


@every_kind
async def test_rule_6_key_of_a_call_is_the_same_in_every_attempt(kind: Kind) -> None:
    tools = Tools()
    down = Error(status=503)
    play = await stage(kind, [down, calls("pay"), down, ANSWER], tools=tools.tools)
    await play.ask(invocation_id=TURN)
    assert tools.ran == [("pay", f"{TURN}:c-pay")]


@pytest.mark.parametrize("kind", [LLM, SEQUENTIAL], ids=lambda kind: kind.name)
async def test_rule_6_confirmed_call_runs_under_the_key_of_the_call_that_was_asked_for(
    kind: Kind,
) -> None:
    keys: list[str] = []

    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        keys.append(idempotency_key(tool_context))
        return "paid"

    play = await stage(
        kind, [calls("pay"), ANSWER], tools=[FunctionTool(pay, require_confirmation=True)]
    )
    question = outcome_of(await play.ask(invocation_id=TURN)).pending_input[0]
    leave = Part.from_function_response(name=question["name"], response={"confirmed": True})
    assert leave.function_response is not None
    leave.function_response.id = question["id"]
    await play.ask(Content(role="user", parts=[leave]))
    assert keys == [f"{TURN}:c-pay"]


# --- results


class Point(BaseModel):
    x: int


def _endless() -> dict[str, Any]:
    knot: dict[str, Any] = {}
    knot["self"] = knot
    return knot


ODD = {
    "set": ({1}, {"result": [1]}),
    "path": (Path("a"), {"result": "a"}),
    "bytes": ({"data": b"\xff\x00"}, {"data": "_wA="}),
    "nan": ({"x": float("nan"), "y": float("-inf")}, {"x": "nan", "y": "-inf"}),
    "model": (Point(x=1), {"result": {"x": 1}}),
    "number_keys": ({1: "one"}, {"1": "one"}),
    "nul": ({"a\x00": "b\x00c"}, {"a\ufffd": "b\ufffdc"}),
    "surrogate": ("\ud800!", {"result": "\ufffd!"}),
    "endless": (_endless(), None),
    "none": (None, {"result": None}),
}


@pytest.mark.parametrize("name", ODD)
async def test_rule_6_result_that_is_no_json_is_stored_as_json(
    name: str, session_service: BaseSessionService
) -> None:
    result, expected = ODD[name]

    async def odd() -> Any:
        """Return something odd."""
        return result

    play = await stage(LLM, [calls("odd"), ANSWER], tools=[odd], service=session_service)
    assert transcript(await play.ask())[-1] == "worker: answer"
    stored = [
        response.response
        for event in await play.stored()
        for response in event.get_function_responses()
    ]
    if expected is None:
        assert "cannot be passed on" in str(stored)
    else:
        assert stored == [expected]


async def test_rule_6_agents_own_callback_gets_a_result_before_it_is_made_json() -> None:
    seen: list[Any] = []

    async def odd() -> Any:
        """Return something odd."""
        return {"picture": b"\x89PNG"}

    def keep(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, str]:
        seen.append(tool_response)
        return {"kept_as": "picture.png"}

    kind = Kind("llm", lambda cast: cast.worker(after_tool_callback=keep))
    play = await stage(kind, [calls("odd"), ANSWER], tools=[odd])
    yielded = transcript(await play.ask())
    assert seen == [{"picture": b"\x89PNG"}]
    assert "worker: odd -> {'kept_as': 'picture.png'}" in yielded


async def test_rule_6_tools_of_one_answer_run_side_by_side() -> None:
    both = asyncio.Barrier(2)

    async def left() -> str:
        """One."""
        async with asyncio.timeout(5):
            await both.wait()
        return "left"

    async def right() -> str:
        """The other."""
        async with asyncio.timeout(5):
            await both.wait()
        return "right"

    play = await stage(LLM, [calls("left", "right"), ANSWER], tools=[left, right])
    assert transcript(await play.ask())[-1] == "worker: answer"
