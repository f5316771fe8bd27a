"""What every adapter promises, asked of a clerk that is made in four ways."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from oda.adapter import Agent, AgentAction, AgentInput, AgentMessage, AgentOutput
from oda.agent.failure import classify
from oda.errors import ConflictError
from tests.support.a2a_clerk import served_clerk
from tests.support.clerk import FAIL, HANG, make_clerk

HERE = ("plain", "adk", "langgraph")
PATIENCE_S = 20.0
YES = AgentInput(context={"confirmed": True})
NO = AgentInput(context={"confirmed": False})

Make = Callable[[], Agent]


@pytest.fixture(scope="module")
def remote_clerk() -> Iterator[str]:
    with served_clerk() as url:
        yield url


@pytest.fixture(params=[*HERE, "remote"])
def kind(request: pytest.FixtureRequest) -> str:
    """What `make_clerk` takes."""
    if request.param == "remote":
        url: str = request.getfixturevalue("remote_clerk")
        return url
    return str(request.param)


@pytest.fixture
def make(kind: str) -> Make:
    return lambda: make_clerk(kind)


@pytest.fixture
def clerk(make: Make) -> Agent:
    return make()


async def told(clerk: Agent, said: str | AgentInput) -> list[AgentMessage | AgentOutput]:
    input = AgentInput(content=said) if isinstance(said, str) else said
    async with asyncio.timeout(PATIENCE_S):
        return [item async for item in clerk.stream(input, None)]


async def reply(clerk: Agent, said: str | AgentInput) -> AgentOutput:
    output = (await told(clerk, said))[-1]
    assert isinstance(output, AgentOutput)
    return output


def through_json(clerk: Agent, make: Make) -> Agent:
    """Another object that goes on with the conversation."""
    other = make()
    other.load_state(json.loads(json.dumps(clerk.export_state())))
    return other


async def test_an_answer_waits_for_the_next_input(clerk: Agent) -> None:
    output = await clerk.invoke(AgentInput(content="good day"), None)
    assert (output.content, output.action) == ("1: good day", AgentAction.WAIT_INPUT)
    assert [(said.agent, said.content) for said in output.messages] == [("clerk", "1: good day")]


async def test_an_answer_comes_in_pieces_then_as_a_whole_then_as_output(clerk: Agent) -> None:
    assert clerk.streams
    *messages, output = await told(clerk, "good day to you")
    assert isinstance(output, AgentOutput)
    said = [item for item in messages if isinstance(item, AgentMessage)]
    pieces = [message.content for message in said if message.partial]
    assert len(pieces) > 2
    assert "".join(pieces) == output.content == "1: good day to you"
    assert [message.partial for message in said] == [True] * len(pieces) + [False]
    assert output.messages == tuple(said[-1:])


async def test_a_clerk_remembers(clerk: Agent) -> None:
    await reply(clerk, "good day")
    assert (await reply(clerk, "how are you")).content == "2: how are you"


@pytest.mark.parametrize(("answer", "outcome"), [(YES, "paid"), (NO, "not paid")])
async def test_a_question_is_answered(clerk: Agent, answer: AgentInput, outcome: str) -> None:
    asked = await reply(clerk, "pay 30")
    assert asked.action == AgentAction.REQUEST_CONFIRM
    assert "30" in asked.content
    answered = await reply(clerk, answer)
    assert (answered.content, answered.action) == (outcome, AgentAction.WAIT_INPUT)
    assert (await reply(clerk, "thanks")).content == "2: thanks"


@pytest.mark.parametrize(("answer", "outcome"), [(YES, "paid"), (NO, "not paid")])
async def test_a_question_is_answered_to_another_object(
    clerk: Agent, make: Make, answer: AgentInput, outcome: str
) -> None:
    await reply(clerk, "pay 30")
    other = through_json(clerk, make)
    assert (await reply(other, answer)).content == outcome
    assert (await reply(through_json(other, make), "thanks")).content == "2: thanks"


@pytest.mark.parametrize("kind", ["adk", "langgraph", "remote"], indirect=True)
async def test_an_answer_to_no_question_is_refused(clerk: Agent) -> None:
    await reply(clerk, "good day")
    with pytest.raises(ConflictError, match="Nothing waits"):
        await reply(clerk, YES)


async def test_another_process_says_the_same_next(remote_clerk: str) -> None:
    begun: list[tuple[str, object, object]] = []
    replies: list[str] = []
    dialogue: list[str | AgentInput] = ["good day", "pay 3", YES, "how are you", "pay 4", NO, "bye"]
    for kind in (*HERE, remote_clerk):
        clerk = make_clerk(kind)
        for said in dialogue:
            input = AgentInput(content=said) if isinstance(said, str) else said
            if kind in HERE or said == "bye":  # a remote clerk knows itself how far it has come
                begun.append((kind, clerk.export_state(), input.model_dump(mode="json")))
            answer = "5: bye" if said == "bye" else (await reply(clerk, input)).content
            if kind in HERE or said == "bye":
                replies.append(answer)
    assert await other_process(begun) == replies


async def other_process(begun: list[tuple[str, object, object]]) -> list[str]:
    def run() -> str:
        command = [sys.executable, "-W", "ignore", "-m", "tests.support.clerk"]
        done = subprocess.run(
            command, input=json.dumps(begun), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    replies: list[str] = json.loads(await asyncio.to_thread(run))
    return replies


async def test_a_new_beginning(clerk: Agent, make: Make) -> None:
    await reply(clerk, "good day")
    state = clerk.export_state()
    clerk.reset()
    assert clerk.export_state() == make().export_state()
    assert (await reply(clerk, "hello")).content == "1: hello"
    clerk.load_state({})
    assert (await reply(clerk, "hello")).content == "1: hello"
    clerk.load_state(state)
    assert (await reply(clerk, "and now")).content == "2: and now"


async def test_a_failure_is_raised_and_can_be_followed_by_another_try(clerk: Agent) -> None:
    await reply(clerk, "good day")
    before = clerk.export_state()
    with pytest.raises(Exception, match="the line is down") as failed:
        await reply(clerk, FAIL)
    assert classify(failed.value, now=time.time()).retryable
    clerk.load_state(before)
    assert (await reply(clerk, "hello")).content == "2: hello"


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_work_is_broken_off_in_the_middle(clerk: Agent, how: str) -> None:
    await reply(clerk, "good day")
    before = clerk.export_state()
    begun = asyncio.Event()
    stream = clerk.stream(AgentInput(content=HANG), None)

    async def read() -> None:
        async for item in stream:
            assert isinstance(item, AgentMessage)
            begun.set()

    async with asyncio.timeout(PATIENCE_S):
        if how == "closed":
            await anext(stream)
        else:
            reading = asyncio.create_task(read())
            await begun.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        await stream.aclose()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    clerk.load_state(before)
    assert (await reply(clerk, "hello")).content == "2: hello"
