"""What a rewind takes back and a fork takes along, in every store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event

from oda import OdaContext
from oda.errors import (
    ArtifactNotFoundError,
    ConflictError,
    CursorExpiredError,
    InvalidRequestError,
    SessionBusyError,
    SessionExistsError,
    SessionNotFoundError,
    TurnNotFoundError,
)
from oda.session.oda_session import OdaSession
from oda.testing import ModelServer
from oda.testing.script import Call, Error, Text, ToolCalls

AGENTS = Path(__file__).parents[1] / "support" / "agents"
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 5}),))
NOTE = ToolCalls(calls=(Call(name="note", args={"text": "first"}),))
HANG = ToolCalls(calls=(Call(name="wait_for_ever", args={}),))
PATIENCE_S = 20.0

SERVERS = (
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("redis", marks=pytest.mark.redis),
)
"""Stores that nodes on several machines share."""


def context(store: dict[str, Any], model: ModelServer, tmp_path: Path, **more: Any) -> OdaContext:
    return OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=tmp_path,
        config_dir=tmp_path,
        model="openai/stub",
        model_api_base=model.openai_base,
        retry={"initial_delay_s": 0.01},
        **store,
        **more,
    )


@pytest.fixture
async def oda(
    store: dict[str, Any], model: ModelServer, tmp_path: Path
) -> AsyncIterator[OdaContext]:
    async with context(store, model, tmp_path) as oda:
        yield oda


async def say(session: OdaSession, text: str) -> str:
    """The id of the turn that this message has made."""
    reply = await session.ask(text)
    assert reply.invocation_id is not None
    return reply.invocation_id


def spoken(events: list[Event]) -> list[str]:
    parts = [part for event in events if event.content for part in event.content.parts or ()]
    return [part.text for part in parts if part.text]


def prompt(model: ModelServer) -> list[str]:
    """What the last model call was told that people said."""
    return [m.text for m in model.requests[-1].messages if m.role == "user"]


async def test_rewound_turns_are_seen_by_nobody(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create("calculator", user)
    turns = [await say(session, text) for text in ("one", "two", "three")]
    await session.rewind(turns[1])
    assert spoken(await session.history()) == ["one", "You said: one"]
    await session.ask("four")
    assert prompt(model) == ["one", "four"]
    assert session.turns == 2
    assert [e.invocation_id in turns[1:] for e in await session.history()] == [False] * 4


async def test_state_is_what_it_was_before_the_turn(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create(
        "calculator", user, state={"given": 1, "changed": "a", "user:name": "Ann"}
    )
    created_at = session.created_at
    model.play([ADD, Text(text="5")])
    first = await say(session, "first")
    await session.state.update({"changed": "b", "new": [1], "user:name": "Bob"})
    model.play([ADD, Text(text="5")])
    second = await say(session, "second")
    assert session.state["sums"] == 2
    await session.rewind(second)
    assert session.state.to_dict() == {
        "given": 1,
        "changed": "b",
        "new": [1],
        "sums": 1,
        "user:name": "Bob",
    }
    await session.rewind(first)
    assert session.state.to_dict() == {"given": 1, "changed": "a", "user:name": "Bob"}
    assert (session.created_at, session.turns) == (created_at, 0)


async def test_a_turn_is_rewound_once(oda: OdaContext, user: str) -> None:
    session = await oda.sessions.create("calculator", user)
    first, second = [await say(session, text) for text in ("one", "two")]
    await session.rewind(second)
    with pytest.raises(TurnNotFoundError):
        await session.rewind(second)
    with pytest.raises(TurnNotFoundError):
        await session.rewind("never")
    with pytest.raises(TurnNotFoundError):
        await session.fork("fork", turn_id=second)
    await session.rewind(first)
    assert await session.history() == []


async def test_a_change_of_the_state_is_no_turn(oda: OdaContext, user: str) -> None:
    session = await oda.sessions.create("calculator", user)
    await session.state.set("a", 1)
    [change] = await session.history()
    with pytest.raises(TurnNotFoundError):
        await session.rewind(change.invocation_id)


async def test_reading_on_from_a_rewound_event_says_so(oda: OdaContext, user: str) -> None:
    session = await oda.sessions.create("calculator", user)
    await session.ask("one")
    turn = await say(session, "two")
    whole = await session.history()
    await session.rewind(turn)
    assert await session.history(after=whole[0].id) == whole[1:2]
    with pytest.raises(CursorExpiredError):
        await session.history(after=whole[-1].id)
    with pytest.raises(InvalidRequestError):
        await session.history(after="nonsense")


async def test_a_window_of_recent_events_is_one_of_what_holds(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with context(store, model, tmp_path, session={"recent_events": 10}) as oda:
        session = await oda.sessions.create("calculator", user)
        kept = [f"kept {n}" for n in range(8)]
        for text in kept:
            await session.ask(text)
        rewound = [await say(session, f"rewound {n}") for n in range(12)]
        await session.rewind(rewound[4])
        await session.rewind(rewound[0])
        await session.ask("after")
        assert prompt(model) == [*kept[-5:], "after"]
        for n in range(3):
            await session.ask(f"later {n}")
        assert not any("rewound" in text for text in prompt(model))


async def test_turns_are_retried_and_resumed_after_a_rewind(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with context(store, model, tmp_path, session={"recent_events": 10}) as oda:
        session = await oda.sessions.create("calculator", user)
        await session.ask("one")
        model.play([ADD] * 8 + [Text(text="5")])
        rewound = await say(session, "two")
        await session.rewind(rewound)
        model.play([ADD, Error(status=500), ADD, Error(status=503), Text(text="Done.")])
        reply = await session.ask("three")
        assert (reply.status, reply.text) == ("succeeded", "Done.")
        assert prompt(model) == ["one", "three"]
        assert sum(len(m.tool_results) for m in model.requests[-1].messages) == 2
        assert session.state["sums"] == 2
        assert reply.invocation_id is not None
        again = [event async for event in session.resume(reply.invocation_id)]
        assert spoken(again) == ["Done."]
        gone = [event async for event in session.resume(rewound)]
        assert gone[-1].error_code == "NON_RETRYABLE_ERROR"
    assert spoken(await _stored(store, model, tmp_path, user, session)) == [
        *("one", "You said: one", "three", "Done.")
    ]


async def _stored(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str, session: OdaSession
) -> list[Event]:
    """The history as another process reads it; what is only in memory is read from there."""
    if store.get("session_service") == "memory://":
        return await session.history()
    async with context(store, model, tmp_path) as oda:
        return await (await oda.sessions.get("calculator", user, session.session_id)).history()


async def test_an_interrupted_turn_that_was_rewound_is_not_sealed_again(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create("calculator", user)
    await session.ask("one")
    model.play([PAY])
    waiting = await session.ask("pay")
    assert waiting.status == "waiting_input"
    await session.rewind(waiting.invocation_id or "")
    model.play([])
    await session.ask("two")
    assert spoken(await session.history()) == ["one", "You said: one", "two", "You said: two"]
    assert all(not event.get_function_responses() for event in await session.history())


async def test_no_rewind_while_a_turn_runs(oda: OdaContext, model: ModelServer, user: str) -> None:
    session = await oda.sessions.create("calculator", user)
    first = await say(session, "one")
    async with running(session, model):
        with pytest.raises(SessionBusyError):
            await session.rewind(first, on_busy="reject")
    await session.rewind(first)
    assert await session.history() == []


class running:
    """A turn that runs until the end of the block."""

    def __init__(self, session: OdaSession, model: ModelServer) -> None:
        self.session = session
        model.play([HANG])

    async def __aenter__(self) -> None:
        calls = asyncio.Event()

        async def turn() -> None:
            async for event in self.session.stream("wait"):
                if event.get_function_calls():
                    calls.set()

        self.task = asyncio.create_task(turn())
        await asyncio.wait_for(calls.wait(), PATIENCE_S)

    async def __aexit__(self, *_: object) -> None:
        await self.session.cancel()
        await asyncio.wait_for(self.task, PATIENCE_S)


async def test_a_fork_has_history_and_state_of_then_and_goes_its_own_way(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create("calculator", user, state={"given": 1, "user:name": "Ann"})
    model.play([ADD, Text(text="5")])
    first = await say(session, "one")
    await session.state.set("given", 2)
    model.play([ADD, Text(text="5")])
    second = await say(session, "two")
    whole = await session.history()

    fork = await oda.sessions.fork(session, turn_id=first)
    assert spoken(await fork.history()) == ["one", "5"]
    assert fork.state.to_dict() == {"given": 1, "sums": 1, "user:name": "Ann"}
    assert (fork.turns, fork.user_id) == (1, user)
    model.play([])
    await fork.ask("other")
    assert prompt(model) == ["one", "other"]
    assert await session.history() == whole

    all_of_it = await oda.sessions.fork(session, session_id="mine")
    assert all_of_it.session_id == "mine"
    assert spoken(await all_of_it.history()) == spoken(whole)
    assert all_of_it.state.to_dict() == session.state.to_dict()
    await all_of_it.rewind(second)
    assert all_of_it.state.to_dict() == {"given": 2, "sums": 1, "user:name": "Ann"}
    await all_of_it.rewind(first)
    assert all_of_it.state.to_dict() == {"given": 1, "user:name": "Ann"}
    with pytest.raises(SessionExistsError):
        await oda.sessions.fork(session, session_id="mine")
    newest = await oda.sessions.list("calculator", user)
    assert newest.sessions[0].session_id == "mine"


async def test_what_was_rewound_is_not_forked(oda: OdaContext, user: str) -> None:
    session = await oda.sessions.create("calculator", user)
    turns = [await say(session, text) for text in ("one", "two", "three")]
    await session.rewind(turns[1])
    last = await say(session, "four")
    fork = await oda.sessions.fork(session, turn_id=last)
    assert [text for text in spoken(await fork.history()) if "said" not in text] == ["one", "four"]
    with pytest.raises(TurnNotFoundError):
        await oda.sessions.fork(session, turn_id=turns[1])


async def test_turns_that_have_not_ended_stay_behind(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create("calculator", user)
    await session.ask("one")
    model.play([PAY])
    waiting = await session.ask("pay")
    model.play([])
    await session.ask("two")
    async with running(session, model):
        fork = await oda.sessions.fork(session)
        with pytest.raises(ConflictError):
            await oda.sessions.fork(session, turn_id=waiting.invocation_id)
    assert [t for t in spoken(await fork.history()) if "said" not in t] == ["one", "two"]
    model.play([])
    await fork.ask("three")
    assert prompt(model) == ["one", "two", "three"]


async def test_artifacts_go_back_and_along(oda: OdaContext, model: ModelServer, user: str) -> None:
    session = await oda.sessions.create("keeper", user)
    turns = []
    for text in ("a", "b"):
        model.play([_note("note.txt", text), _note("user:card.txt", text), Text(text="Noted.")])
        turns.append(await say(session, text))
    await session.artifacts.save("upload.bin", "image/png", b"\x01")
    assert (await session.artifacts.load("note.txt")).data == b"b"

    fork = await oda.sessions.fork(session, turn_id=turns[0])
    assert [info.name for info in await fork.artifacts.list()] == ["note.txt", "user:card.txt"]
    assert (await fork.artifacts.load("note.txt")).data == b"a"
    await fork.rewind(turns[0])
    with pytest.raises(ArtifactNotFoundError):
        await fork.artifacts.load("note.txt")

    await session.rewind(turns[1])
    assert (await session.artifacts.load("note.txt")).data == b"a"
    whole = await oda.sessions.fork(session)
    assert (await whole.artifacts.load("note.txt")).data == b"a"
    assert (await whole.artifacts.load("upload.bin")).data == b"\x01"
    await session.rewind(turns[0])
    assert [info.name for info in await session.artifacts.list()] == [
        *("upload.bin", "user:card.txt")
    ]
    with pytest.raises(ArtifactNotFoundError):
        await session.artifacts.load("note.txt")
    empty = await oda.sessions.fork(session)
    assert [info.name for info in await empty.artifacts.list()] == ["upload.bin", "user:card.txt"]
    assert (await session.artifacts.load("user:card.txt")).data == b"b"


def _note(name: str, text: str) -> ToolCalls:
    return ToolCalls(calls=(Call(name="note", args={"name": name, "text": text}),))


async def test_artifacts_of_a_deleted_session_are_gone(oda: OdaContext, user: str) -> None:
    session = await oda.sessions.create("calculator", user, "s")
    await session.artifacts.save("a/b.txt", "text/plain", b"mine")
    await session.artifacts.save("user:c.txt", "text/plain", b"kept")
    await oda.sessions.delete("calculator", user, "s")
    again = await oda.sessions.create("calculator", user, "s")
    assert [info.name for info in await again.artifacts.list()] == ["user:c.txt"]


@pytest.mark.parametrize("store", ["sqlite", *SERVERS], indirect=True)
async def test_what_another_node_does_is_seen(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with (
        context(store, model, tmp_path / "a") as one,
        context(store, model, tmp_path / "b") as two,
    ):
        here = await one.sessions.create("calculator", user, "s", state={"a": 1})
        there = await two.sessions.get("calculator", user, "s")
        here.state.set("pending", True)
        await there.state.set("a", 2)
        turn = await say(there, "hello")
        assert (await one.sessions.current("calculator", user, "s")) is here
        assert here.state.to_dict() == {"a": 2, "pending": True}
        assert here.turns == 1
        assert here.updated_at == pytest.approx((await _session(two, there)).last_update_time)
        await here.rewind(turn)
        assert spoken(await there.history()) == []
        await two.sessions.delete("calculator", user, "s")
        with pytest.raises(SessionNotFoundError):
            await one.sessions.current("calculator", user, "s")
        with pytest.raises(SessionNotFoundError):
            await one.sessions.get("calculator", user, "s")


async def _session(oda: OdaContext, session: OdaSession) -> Any:
    return await oda.services.session.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.session_id
    )


@pytest.mark.parametrize("store", SERVERS[:1], indirect=True)
async def test_a_revision_sees_what_is_stored_and_loses_nothing(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    """Only PostgreSQL locks a session that several processes write to."""
    async with (
        context(store, model, tmp_path / "a") as one,
        context(store, model, tmp_path / "b") as two,
    ):
        here = await one.sessions.create("calculator", user, "s", state={"n": 0})
        there = await two.sessions.get("calculator", user, "s")

        def count(state: dict[str, Any]) -> dict[str, Any]:
            return {"n": state["n"] + 1}

        for _ in range(10):
            await asyncio.gather(here.revise(count), there.revise(count))
        assert (await one.sessions.current("calculator", user, "s")).state["n"] == 20


async def test_a_revision_waits_for_a_turn_but_not_for_long(
    oda: OdaContext, model: ModelServer, user: str
) -> None:
    session = await oda.sessions.create("calculator", user)
    async with running(session, model):
        with pytest.raises(SessionBusyError):
            await session.revise(lambda _: {"a": 1}, within_s=0.01)
    assert await session.revise(lambda _: {"a": 1}, within_s=0.01) == {"a": 1}
