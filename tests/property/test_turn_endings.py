"""Whatever a model does in a turn, the turn ends once, stores the message once, repeats nothing."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from oda.agent.notices import is_final_notice, is_notice
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
from oda.testing.scripted_model import InProcessStep
from tests.support.roots import GRAPH_OF_THREE, LLM, LOOP, SEQUENTIAL, TRANSFER, Kind
from tests.support.stage import STREAMED, stage
from tests.support.transcript import transcript, unpaired_calls

calls = st.integers(0, 99).map(
    lambda number: ToolCalls(calls=(Call(name="work", args={"step": str(number)}),))
)
steps = st.one_of(
    calls,
    st.just(Text(text="answer")),
    st.sampled_from([400, 401, 408, 429, 500, 503]).map(lambda status: Error(status=status)),
    st.sampled_from(
        [
            Disconnect(),
            Malformed(),
            Malformed(kind="tool_arguments"),
            Empty(),
            Blocked(text="I will"),
            MaxTokens(text="most of it"),
        ]
    ),
)
kinds = st.sampled_from([LLM, TRANSFER, SEQUENTIAL, LOOP, GRAPH_OF_THREE])


@settings(deadline=None, max_examples=60)
@given(kinds, st.lists(steps, max_size=8), st.booleans())
def test_turn_ends_once_whatever_its_model_does(
    kind: Kind, script: Sequence[InProcessStep], streamed: bool
) -> None:
    asyncio.run(play(kind, script, streamed))


async def play(kind: Kind, script: Sequence[InProcessStep], streamed: bool) -> None:
    scene = await stage(kind, script, max_retries=2)
    events = await scene.ask(run_config=STREAMED if streamed else None)
    final = [event for event in events if is_final_notice(event)]
    assert final in ([], [events[-1]])
    if not final:
        assert not is_notice(events[-1])
    stored = transcript(await scene.stored())
    assert [line for line in stored if line == "user: hello"] == ["user: hello"]
    worked = [effect for effect in scene.cast.effects if effect.isdigit()]
    asked = [line for line in stored if line.startswith("worker: work(")]
    assert len(worked) == len(asked)
    for model in scene.cast.models.values():
        assert [call for request in model.requests for call in unpaired_calls(request)] == []
    assert scene.agent.is_ready()
