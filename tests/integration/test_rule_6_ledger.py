"""Rule 6: every tool call is recorded before it starts and when it ends, and made at most once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.events import Event, EventActions
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from google.genai.types import Content, FunctionResponse, Part
from sqlalchemy import text

from oda.agent.outcome import outcome_of
from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.errors import FatalToolError
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Error, Text, ToolCalls
from oda.tools.idempotency import CallKey, idempotency_key, idempotent
from oda.tools.ledger import CallRecord, SqlToolLedger, ToolCall
from tests.support.roots import LLM, Cast, Kind, every_kind
from tests.support.stage import Stage, stage
from tests.support.transcript import transcript, unpaired_calls

ANSWER = Text(text="answer")
TURN = "turn-1"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as opened:
        await upgrade(opened.engine)
        yield opened


@pytest.fixture
def ledger(database: Database, fake_clock: FakeClock) -> SqlToolLedger:
    return SqlToolLedger(database, fake_clock)


async def recorded(ledger: SqlToolLedger) -> Mapping[str, CallRecord]:
    """What is stored of the turn."""
    return await ledger.of_turn(TURN)


async def stati(ledger: SqlToolLedger) -> dict[str, str]:
    return {call: record.status for call, record in (await recorded(ledger)).items()}


def calls(*names: str) -> ToolCalls:
    return ToolCalls(calls=tuple(Call(name=name, id=f"c-{name}") for name in names))


@dataclass
class Till:
    """Tools that write down under which key they ran."""

    ran: list[str] = field(default_factory=list)

    @property
    def pay(self) -> Any:
        async def pay(tool_context: ToolContext) -> dict[str, int]:
            """Pay."""
            self.ran.append(idempotency_key(tool_context))
            return {"paid": 5}

        return pay


@pytest.fixture
def till() -> Till:
    return Till()


def answer_to(question: Mapping[str, Any], response: dict[str, Any]) -> Content:
    part = FunctionResponse(id=question["id"], name=question["name"], response=response)
    return Content(role="user", parts=[Part(function_response=part)])


def call_of(name: str, *, may_run_twice: bool = False) -> ToolCall:
    return ToolCall(CallKey(TURN, f"c-{name}"), ("a", "u", "s"), "worker", name, may_run_twice)


# --- what is recorded


@every_kind
async def test_rule_6_call_is_recorded_with_its_result(
    kind: Kind, ledger: SqlToolLedger, till: Till
) -> None:
    play = await stage(kind, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger)
    assert "worker: answer" in transcript(await play.ask(invocation_id=TURN))
    record = (await recorded(ledger))["c-pay"]
    assert record == CallRecord("pay", "succeeded", False, 1, '{"paid": 5}')


async def test_rule_6_call_is_on_record_while_it_runs(ledger: SqlToolLedger) -> None:
    seen: list[str] = []

    async def look() -> str:
        """Look."""
        seen.append((await ledger.of_turn(TURN))["c-look"].status)
        return "seen"

    play = await stage(LLM, [calls("look"), ANSWER], tools=[look], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert seen == ["started"]


async def test_rule_6_error_of_a_tool_is_recorded_as_its_answer(ledger: SqlToolLedger) -> None:
    async def stumble() -> str:
        """Fail."""
        raise ValueError("no")

    play = await stage(LLM, [calls("stumble"), ANSWER], tools=[stumble], ledger=ledger)
    await play.ask(invocation_id=TURN)
    record = (await recorded(ledger))["c-stumble"]
    assert (record.status, record.result) == (
        "failed",
        '{"error": "no", "error_type": "ValueError"}',
    )


async def test_rule_6_fatal_error_is_recorded_and_stands_in_the_session(
    ledger: SqlToolLedger,
) -> None:
    async def halt() -> str:
        """Halt."""
        raise FatalToolError("the disk is full")

    play = await stage(LLM, [calls("halt"), ANSWER], tools=[halt], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert await stati(ledger) == {"c-halt": "failed"}
    assert "the disk is full" in (await play.history())[-1]


async def test_rule_6_steering_tools_and_imagined_ones_leave_no_record(
    ledger: SqlToolLedger,
) -> None:
    play = await stage(LLM, [calls("imagined"), ANSWER], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert await recorded(ledger) == {}


async def test_rule_6_call_that_a_callback_answers_ends_as_well(
    ledger: SqlToolLedger, till: Till
) -> None:
    def answer(tool: Any, args: Any, tool_context: Any) -> dict[str, str]:
        return {"paid": "by somebody else"}

    kind = Kind("llm", lambda cast: cast.worker(before_tool_callback=answer))
    play = await stage(kind, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert till.ran == []
    assert await stati(ledger) == {"c-pay": "succeeded"}


async def test_rule_6_what_a_callback_may_hide_is_not_kept(
    ledger: SqlToolLedger, till: Till
) -> None:
    def hide(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, str]:
        return {"paid": "enough"}

    kind = Kind("llm", lambda cast: cast.worker(after_tool_callback=hide))
    play = await stage(kind, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert (await recorded(ledger))["c-pay"] == CallRecord("pay", "succeeded", False, 1, None)


async def test_rule_6_result_that_a_plugin_replaces_is_recorded_as_it_is_stored(
    ledger: SqlToolLedger, till: Till
) -> None:
    class Hide(BasePlugin):
        async def after_tool_callback(self, **_: Any) -> dict[str, Any]:
            return {"paid": "enough"}

    def add(app: App) -> None:
        app.plugins.append(Hide("hide"))

    play = await stage(LLM, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger, change=add)
    await play.ask(invocation_id=TURN)
    assert (await recorded(ledger))["c-pay"].result == '{"paid": "enough"}'


async def test_rule_6_ids_that_a_server_gives_twice_name_two_calls(
    ledger: SqlToolLedger, till: Till
) -> None:
    play = await stage(LLM, [calls("pay"), calls("pay"), ANSWER], tools=[till.pay], ledger=ledger)
    assert transcript(await play.ask(invocation_id=TURN))[-1] == "worker: answer"
    assert len(set(till.ran)) == 2
    assert len(await recorded(ledger)) == 2
    assert unpaired_calls(play.model.requests[-1]) == []


# --- persons and long waits


async def test_rule_6_call_is_recorded_when_it_was_confirmed(
    ledger: SqlToolLedger, till: Till
) -> None:
    pay = FunctionTool(till.pay, require_confirmation=True)
    play = await stage(LLM, [calls("pay"), ANSWER], tools=[pay], ledger=ledger)
    question = outcome_of(await play.ask(invocation_id=TURN)).pending_input[0]
    assert await recorded(ledger) == {}
    await play.ask(answer_to(question, {"confirmed": True}))
    assert till.ran == [f"{TURN}:c-pay"]
    assert await stati(ledger) == {"c-pay": "succeeded"}


async def test_rule_6_refused_call_leaves_no_record(ledger: SqlToolLedger, till: Till) -> None:
    pay = FunctionTool(till.pay, require_confirmation=True)
    play = await stage(LLM, [calls("pay"), ANSWER], tools=[pay], ledger=ledger)
    question = outcome_of(await play.ask(invocation_id=TURN)).pending_input[0]
    assert "rejected" in str(transcript(await play.ask(answer_to(question, {"confirmed": False}))))
    assert (till.ran, await recorded(ledger)) == ([], {})


async def test_rule_6_tool_that_asks_by_itself_waits_and_runs_again(
    ledger: SqlToolLedger,
) -> None:
    async def pay(tool_context: ToolContext) -> dict[str, str]:
        """Pay."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="really?")
            return {"status": "asked"}
        return {"status": "paid"}

    play = await stage(LLM, [calls("pay"), ANSWER, ANSWER], tools=[pay], ledger=ledger)
    question = outcome_of(await play.ask(invocation_id=TURN)).pending_input[0]
    assert await stati(ledger) == {"c-pay": "waiting"}
    await play.ask(answer_to(question, {"confirmed": True}))
    record = (await recorded(ledger))["c-pay"]
    assert record == CallRecord("pay", "succeeded", False, 2, '{"status": "paid"}')


@pytest.mark.parametrize(
    ("status", "result"), [("succeeded", "paid"), ("started", "Outcome unknown")]
)
async def test_rule_6_confirmed_call_that_began_before_a_crash_is_not_made_again(
    ledger: SqlToolLedger, till: Till, status: str, result: str
) -> None:
    """ADK makes it again by itself: the session has only the question and the yes."""
    pay = FunctionTool(till.pay, require_confirmation=True)
    play = await stage(LLM, [calls("pay"), ANSWER], tools=[pay], ledger=ledger)
    question = outcome_of(await play.ask(invocation_id=TURN)).pending_input[0]
    await ledger.begin(call_of("pay"))
    if status == "succeeded":
        ledger.finish(CallKey(TURN, "c-pay"), '{"paid": 5}')
    yielded = transcript(await play.ask(answer_to(question, {"confirmed": True})))
    assert till.ran == []
    assert result in yielded[0]
    assert yielded[-1] == "worker: answer"


async def test_rule_6_long_running_call_waits_for_its_result(ledger: SqlToolLedger) -> None:
    async def order() -> dict[str, str]:
        """Order; somebody delivers."""
        return {"status": "ordered"}

    tool = LongRunningFunctionTool(order)
    play = await stage(LLM, [calls("order"), ANSWER, ANSWER], tools=[tool], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert await stati(ledger) == {"c-order": "waiting"}
    await play.ask(answer_to({"id": "c-order", "name": "order"}, {"delivered": True}))
    assert (await recorded(ledger))["c-order"].result == '{"delivered": true}'


# --- agents as tools, tools as nodes


def paying_agent(till: Till, steps: int = 1) -> LlmAgent:
    model = ScriptedModel(steps=(calls("pay"), ANSWER) * steps)
    return LlmAgent(name="payer", model=model, tools=[till.pay])


async def test_rule_6_call_of_an_agent_that_runs_as_a_tool_belongs_to_the_turn(
    ledger: SqlToolLedger, till: Till
) -> None:
    play = await stage(
        LLM, [calls("payer"), ANSWER], tools=[AgentTool(paying_agent(till))], ledger=ledger
    )
    await play.ask(invocation_id=TURN)
    assert till.ran == [f"{TURN}:c-payer/c-pay"]
    assert await stati(ledger) == {"c-payer": "succeeded", "c-payer/c-pay": "succeeded"}


async def test_rule_6_tool_that_is_a_node_of_a_graph_is_recorded_by_its_place_and_round(
    ledger: SqlToolLedger, till: Till
) -> None:
    def begin(node_input: Any) -> dict[str, Any]:
        return {}

    def judge(node_input: Any) -> Event:
        route = "again" if len(till.ran) < 2 else "enough"
        return Event(output=str(node_input), actions=EventActions(route=route))

    def root(cast: Cast) -> Workflow:
        pay = FunctionTool(till.pay)
        return Workflow(
            name="root",
            edges=[(START, begin, pay, judge), (judge, {"again": begin, "enough": cast.worker()})],
        )

    play = await stage(Kind("graph", root), [ANSWER], ledger=ledger)
    assert transcript(await play.ask(invocation_id=TURN))[-1] == "worker: answer"
    assert till.ran == [f"{TURN}:root@1/pay@1", f"{TURN}:root@1/pay@2"]
    assert await stati(ledger) == {"root@1/pay@1": "succeeded", "root@1/pay@2": "succeeded"}


# --- failures and crashes


async def interrupted(
    till: Till, ledger: SqlToolLedger, *names: str, kind: Kind = LLM, **options: Any
) -> Stage:
    """A new process, after the one before died when it had just stored the calls."""
    first = await stage(kind, [calls(*names), ANSWER], ledger=ledger, **options)
    await first.ask(invocation_id=TURN)
    whole = await first.stored()
    stored = next(i for i, event in enumerate(whole, 1) if _calls(event) == set(names))
    played = sum(event.author == "worker" and bool(event.content) for event in whole[:stored])
    till.ran.clear()
    return await stage(
        kind,
        [calls(*names), ANSWER],
        ledger=ledger,
        history=whole[:stored],
        played=played,
        **options,
    )


def _calls(event: Event) -> set[str | None]:
    return {call.name for call in event.get_function_calls()}


@every_kind
async def test_rule_6_result_on_record_takes_the_place_of_the_lost_one(
    kind: Kind, ledger: SqlToolLedger, till: Till
) -> None:
    play = await interrupted(till, ledger, "pay", kind=kind, tools=[till.pay])
    yielded = transcript(await play.resume(TURN))
    assert yielded == ["worker: pay -> {'paid': 5}", "worker: answer", *kind.after]
    assert till.ran == []
    assert [unpaired_calls(request) for request in play.model.requests] == [[]]


@every_kind
async def test_rule_6_call_that_never_began_is_made(
    kind: Kind, ledger: SqlToolLedger, database: Database, till: Till
) -> None:
    play = await interrupted(till, ledger, "pay", kind=kind, tools=[till.pay])
    await forget_calls(database)
    yielded = transcript(await play.resume(TURN))
    assert yielded[1:] == [
        "worker: pay()",
        "worker: pay -> {'paid': 5}",
        "worker: answer",
        *kind.after,
    ]
    assert till.ran == [f"{TURN}:c-pay"]
    assert (await recorded(ledger))["c-pay"].runs == 1


async def forget_calls(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("DELETE FROM oda_tool_calls"))


async def test_rule_6_long_running_call_that_never_began_is_made(
    ledger: SqlToolLedger, database: Database, till: Till
) -> None:
    async def order() -> dict[str, str]:
        """Order; somebody delivers."""
        till.ran.append("order")
        return {"status": "ordered"}

    tools = [LongRunningFunctionTool(order)]
    play = await interrupted(till, ledger, "order", tools=tools)
    assert (await play.resume(TURN))[0].long_running_tool_ids == {"c-order"}
    assert till.ran == []
    await forget_calls(database)
    await play.resume(TURN)
    assert till.ran == ["order"]
    assert await stati(ledger) == {"c-order": "waiting"}


async def test_rule_6_of_parallel_calls_each_goes_on_where_it_was(
    ledger: SqlToolLedger, database: Database, till: Till
) -> None:
    @idempotent
    async def file(tool_context: ToolContext) -> str:
        """Put into the file, under its key."""
        till.ran.append(idempotency_key(tool_context))
        return "filed"

    async def wait() -> str:
        """Wait."""
        return "waited"

    async def never() -> str:
        """Not begun before the crash."""
        till.ran.append("never")
        return "now"

    tools = [till.pay, file, wait, never]
    play = await interrupted(till, ledger, "pay", "file", "wait", "never", tools=tools)
    await forget_calls(database)
    await ledger.begin(call_of("pay"))
    ledger.finish(CallKey(TURN, "c-pay"), '{"paid": 5}')
    await ledger.begin(call_of("file", may_run_twice=True))
    await ledger.begin(call_of("wait"))
    await play.resume(TURN)
    assert till.ran == [f"{TURN}:c-file", "never"]
    assert await stati(ledger) == {
        "c-pay": "succeeded",
        "c-file": "succeeded",
        "c-wait": "unknown",
        "c-never": "succeeded",
    }
    assert [unpaired_calls(request) for request in play.model.requests] == [[]]


async def test_rule_6_next_message_keeps_the_results_of_a_turn_that_never_went_on(
    ledger: SqlToolLedger, till: Till
) -> None:
    play = await interrupted(till, ledger, "pay", tools=[till.pay])
    await play.ask("are you there?")
    assert "worker: pay -> {'paid': 5}" in await play.history()


async def test_rule_6_call_is_not_made_while_it_cannot_be_recorded(
    ledger: SqlToolLedger, database: Database, till: Till
) -> None:
    """The table is away in the first attempt, and back after the wait."""

    class Repair(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await rename_table(database, "elsewhere", "oda_tool_calls")
            await super().sleep(seconds)

    play = await stage(LLM, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger, clock=Repair())
    await rename_table(database, "oda_tool_calls", "elsewhere")
    events = await play.ask(invocation_id=TURN)
    yielded = transcript(events)
    assert (events[1].custom_metadata or {})["error_type"] == "UnavailableError"
    assert yielded[1] == "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution"
    assert yielded[-2:] == ["worker: pay -> {'paid': 5}", "worker: answer"]
    assert till.ran == [f"{TURN}:c-pay"]


async def rename_table(database: Database, name: str, other: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {name} RENAME TO {other}"))


async def test_rule_6_outcome_of_a_cancelled_call_is_unknown(ledger: SqlToolLedger) -> None:
    begun = asyncio.Event()

    async def linger() -> str:
        """Take long."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    play = await stage(LLM, [calls("linger"), ANSWER], tools=[linger], ledger=ledger)
    turn = asyncio.create_task(play.ask(invocation_id=TURN))
    async with asyncio.timeout(5):
        await begun.wait()
        await play.agent.cancel()
        await turn
    assert await stati(ledger) == {"c-linger": "unknown"}


async def test_rule_6_key_and_record_are_the_same_in_every_attempt(
    ledger: SqlToolLedger, till: Till
) -> None:
    down = Error(status=503)
    play = await stage(LLM, [down, calls("pay"), down, ANSWER], tools=[till.pay], ledger=ledger)
    await play.ask(invocation_id=TURN)
    assert till.ran == [f"{TURN}:c-pay"]
    assert (await recorded(ledger))["c-pay"].runs == 1


async def test_rule_6_ledger_is_beside_every_session_service(
    session_service: BaseSessionService, ledger: SqlToolLedger, till: Till
) -> None:
    play = await stage(
        LLM, [calls("pay"), ANSWER], tools=[till.pay], ledger=ledger, service=session_service
    )
    await play.ask(invocation_id=TURN)
    assert await stati(ledger) == {"c-pay": "succeeded"}
