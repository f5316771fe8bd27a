"""An agent whose state goes through JSON at any points of a dialogue says what it says without."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oda.adapter import Agent, AgentInput
from tests.support.clerk import FAIL, make_clerk

TEXTS = st.sampled_from(["hi", "pay 3", "你好", "\x00 <&>", FAIL])
TURNS = st.lists(st.tuples(TEXTS, st.booleans(), st.booleans()), min_size=1, max_size=6)
"""What is said; whether a question is agreed to; whether another object goes on from here."""

Said = list[tuple[object, str]]


@pytest.mark.parametrize("kind", ["plain", "adk", "langgraph"])
@settings(max_examples=25, deadline=None)
@given(turns=TURNS)
def test_replies_do_not_depend_on_who_goes_on(
    kind: str, turns: list[tuple[str, bool, bool]]
) -> None:
    at_once = asyncio.run(dialogue(kind, [(text, agrees, False) for text, agrees, _ in turns]))
    assert asyncio.run(dialogue(kind, turns)) == at_once


async def dialogue(kind: str, turns: list[tuple[str, bool, bool]]) -> Said:
    clerk, said = make_clerk(kind), Said()
    for text, agrees, moves in turns:
        for answer in (AgentInput(content=text), AgentInput(context={"confirmed": agrees})):
            if moves:
                clerk = moved(clerk, kind)
            said.append(await reply(clerk, answer))
            if said[-1][1] != "REQUEST_CONFIRM":
                break
    return said


def moved(clerk: Agent, kind: str) -> Agent:
    other = make_clerk(kind)
    other.load_state(json.loads(json.dumps(clerk.export_state())))
    return other


async def reply(clerk: Agent, input: AgentInput) -> tuple[object, str]:
    before = clerk.export_state()
    try:
        output = await clerk.invoke(input, None)
    except ConnectionError as error:
        clerk.load_state(before)
        return str(error), "failed"
    return output.content, output.action.value
