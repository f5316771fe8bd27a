"""Rule 2: a failed attempt is gone on with; what was completed is not repeated, on any root."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions.base_session_service import BaseSessionService

from oda.testing.script import (
    Blocked,
    Call,
    Disconnect,
    Empty,
    Error,
    Malformed,
    MaxTokens,
    Text,
    ToolCalls,
)
from oda.testing.scripted_model import InProcessStep, Raise, Respond
from tests.support.roots import Kind, every_kind
from tests.support.stage import STREAMED, Stage, stage
from tests.support.transcript import seen_by_model, transcript, unpaired_calls

DOWN = Error(status=503)
FAILURES = (Blocked, Disconnect, Empty, Error, Malformed, Raise, Respond)
GAVE_UP = "system! MAX_RETRIES_EXCEEDED"
REFUSED = "system! NON_RETRYABLE_ERROR"


def work(step: str) -> ToolCalls:
    return ToolCalls(calls=(Call(name="work", args={"step": step}, id=f"c-{step}"),))


def worked(step: str) -> tuple[str, str]:
    return f"worker: work(step={step!r})", f"worker: work -> {{'done': {step!r}}}"


def retry(number: int) -> str:
    return f"system! RETRY_ATTEMPT: Retry attempt {number}/3 for agent execution"


@dataclass(frozen=True)
class Storm:
    """What the worker's model does in a turn, and what comes of it."""

    name: str
    steps: Sequence[InProcessStep]
    yields: Sequence[str]
    waits: Sequence[float]
    effects: Sequence[str]

    @property
    def ends_well(self) -> bool:
        return self.yields[-1] not in (GAVE_UP, REFUSED)

    @property
    def calm(self) -> Sequence[InProcessStep]:
        """The same without the failures."""
        return [step for step in self.steps if not isinstance(step, FAILURES)]


ANSWER = Text(text="answer")
ANSWERED = "worker: answer"

STORMS = (
    Storm(
        "before_the_first_token",
        [DOWN, work("a"), ANSWER],
        [retry(1), *worked("a"), ANSWERED],
        [1],
        ["a"],
    ),
    Storm(
        "between_tool_calls",
        [work("a"), DOWN, work("b"), ANSWER],
        [*worked("a"), retry(1), *worked("b"), ANSWERED],
        [1],
        ["a", "b"],
    ),
    Storm(
        "twice_in_a_row",
        [work("a"), Disconnect(), DOWN, ANSWER],
        [*worked("a"), retry(1), retry(2), ANSWERED],
        [1, 2],
        ["a"],
    ),
    Storm(
        "again_and_again",
        [DOWN, work("a"), DOWN, work("b"), DOWN, ANSWER],
        [retry(1), *worked("a"), retry(2), *worked("b"), retry(3), ANSWERED],
        [1, 2, 4],
        ["a", "b"],
    ),
    Storm(
        "until_retries_are_exhausted",
        [work("a"), DOWN, DOWN, DOWN, DOWN],
        [*worked("a"), retry(1), retry(2), retry(3), GAVE_UP],
        [1, 2, 4],
        ["a"],
    ),
    Storm("for_good", [work("a"), Error(status=401)], [*worked("a"), REFUSED], [], ["a"]),
    Storm("for_good_at_once", [Error(status=400)], [REFUSED], [], []),
    Storm(
        "with_a_malformed_body",
        [work("a"), Malformed(), ANSWER],
        [*worked("a"), retry(1), ANSWERED],
        [1],
        ["a"],
    ),
    Storm(
        "reporting_a_malformed_call",
        [work("a"), Malformed(kind="tool_arguments"), ANSWER],
        [*worked("a"), retry(1), ANSWERED],
        [1],
        ["a"],
    ),
    Storm(
        "reporting_it_at_once",
        [Malformed(kind="tool_arguments"), ANSWER],
        [retry(1), ANSWERED],
        [1],
        [],
    ),
    Storm(
        "saying_nothing",
        [work("a"), Empty(), ANSWER],
        [*worked("a"), retry(1), ANSWERED],
        [1],
        ["a"],
    ),
    Storm(
        "saying_nothing_for_ever",
        [Empty(), Empty(), Empty(), Empty()],
        [retry(1), retry(2), retry(3), GAVE_UP],
        [1, 2, 4],
        [],
    ),
    Storm("blocked", [work("a"), Blocked(text="I will")], [*worked("a"), REFUSED], [], ["a"]),
    Storm(
        "cut_off_before_any_text",
        [Respond(responses=(LlmResponse(error_code="MAX_TOKENS"),))],
        [REFUSED],
        [],
        [],
    ),
    Storm(
        "cut_off_after_text_is_an_answer",
        [work("a"), MaxTokens(text="most of it")],
        [*worked("a"), "worker! MAX_TOKENS: most of it"],
        [],
        ["a"],
    ),
)


def requests_of(play: Stage) -> list[list[str]]:
    """What the worker's model saw, a repeated request once."""
    seen = [seen_by_model(request) for request in play.model.requests]
    return [one for one, before in zip(seen, [[], *seen], strict=False) if one != before]


def said_wrongly(play: Stage) -> list[str]:
    """What no model may see: our notices, and calls without their results."""
    requests = [request for model in play.cast.models.values() for request in model.requests]
    lines = [line for request in requests for line in seen_by_model(request)]
    notices = [line for line in lines if "Retry attempt" in line or "[system]" in line]
    return notices + [call for request in requests for call in unpaired_calls(request)]


async def weather(kind: Kind, storm: Storm, service: BaseSessionService | None = None) -> None:
    """Play a storm and check everything that can be seen of it."""
    play = await stage(kind, storm.steps, service=service)
    after = kind.after if storm.ends_well else ()
    assert transcript(await play.ask()) == [*kind.before, *storm.yields, *after]
    assert play.clock.sleeps == tuple(storm.waits)
    assert play.cast.effects == [*kind.effects_before, *storm.effects]
    assert said_wrongly(play) == []
    assert play.agent.status == "ready"

    calm = await stage(kind, storm.calm)
    await calm.ask()
    needed = len(requests_of(play))
    assert requests_of(play) == requests_of(calm)[:needed]
    if storm.ends_well:
        assert await play.history() == await calm.history()
        assert needed == len(requests_of(calm))

    play.model.add(Text(text="answer", times=None))
    assert transcript(await play.ask("again")) == list(kind.next_turn)
    assert said_wrongly(play) == []


@every_kind
@pytest.mark.parametrize("storm", STORMS, ids=lambda storm: storm.name)
async def test_rule_2_turn_goes_on_after_a_model_that_fails(kind: Kind, storm: Storm) -> None:
    await weather(kind, storm)


@every_kind
async def test_rule_2_turn_goes_on_from_every_session_service(
    kind: Kind, session_service: BaseSessionService
) -> None:
    await weather(kind, next(s for s in STORMS if s.name == "again_and_again"), session_service)


@every_kind
async def test_rule_2_turn_goes_on_after_a_stream_that_breaks(kind: Kind) -> None:
    cut = Raise(exception=ConnectionError("cut"), after_chunks=("half ", "an answer"))
    play = await stage(kind, [work("a"), cut, Text(text="whole answer")])
    yielded = transcript(await play.ask(run_config=STREAMED))
    notice = yielded.index(retry(1))
    assert yielded[notice - 3 : notice + 4] == [
        worked("a")[1],
        "worker~ half ",
        "worker~ an answer",
        retry(1),
        "worker~ whole ",
        "worker~ answer",
        "worker: whole answer",
    ]
    assert play.clock.sleeps == (1.0,)
    assert play.cast.effects == [*kind.effects_before, "a"]
    assert [line for line in await play.history() if "half" in line] == []
    assert said_wrongly(play) == []
