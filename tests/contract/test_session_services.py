"""Every store of sessions gives the same conversation: one suite, run on all of them."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from oda import OdaContext
from oda.errors import InvalidRequestError, SessionExistsError, SessionNotFoundError
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Call, Error, Text, ToolCalls

AGENTS = Path(__file__).parents[1] / "support" / "agents"
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))


def open_context(store: dict[str, Any], model: ModelServer, tmp_path: Path) -> OdaContext:
    return OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=tmp_path,
        config_dir=tmp_path,
        model="openai/stub",
        model_api_base=model.openai_base,
        retry={"initial_delay_s": 0.01},
        **store,
    )


async def test_a_turn_survives_failures_with_its_message_once(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    model.play([Error(status=500), ADD, Error(status=429), Error(status=503), Text(text="Five.")])
    async with open_context(store, model, tmp_path) as oda:
        session = await oda.sessions.create("calculator", user)
        reply = await session.ask("2 + 3?")
        history = await session.history()
    assert (reply.status, reply.text) == ("succeeded", "Five.")
    assert [e.error_code for e in reply.events if e.error_code] == ["RETRY_ATTEMPT"] * 3
    assert sum(event.author == "user" for event in history) == 1
    assert sum(bool(event.get_function_responses()) for event in history) == 1
    assert session.state["sums"] == 1


async def test_events_come_back_in_the_order_in_which_they_happened(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with open_context(store, model, tmp_path) as oda:
        session = await oda.sessions.create("calculator", user)
        for number in range(5):
            model.add(ADD, Text(text=f"answer {number}"))
            await session.ask(f"message {number}")
        history = await session.history()
    spoken = [part.text for event in history if event.content for part in event.content.parts or ()]
    assert [text for text in spoken if text] == [
        text for number in range(5) for text in (f"message {number}", f"answer {number}")
    ]


async def test_state_commits_with_events_and_is_there_after_a_restart(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with open_context(store, model, tmp_path) as oda:
        session = await oda.sessions.create("calculator", user, "s", state={"given": [1, "二"]})
        await session.state.set("at once", True)
        session.state.set("with the turn", {"n": 1})
        await session.ask("hello")
        session.state.delete("given")
        await session.state.set("user:name", "Ann")
        if store.get("session_service") == "memory://":
            return
    async with open_context(store, model, tmp_path) as oda:
        again = await oda.sessions.get("calculator", user, "s")
        assert again.state.to_dict() == {
            "at once": True,
            "with the turn": {"n": 1},
            "user:name": "Ann",
        }
        assert again.turns == 1
        other = await oda.sessions.create("calculator", user)
        assert other.state["user:name"] == "Ann"


async def test_ids_are_taken_once_and_deleted_sessions_are_gone(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with open_context(store, model, tmp_path) as oda:
        await oda.sessions.create("calculator", user, "taken")
        with pytest.raises(SessionExistsError):
            await oda.sessions.create("calculator", user, "taken")
        await oda.sessions.delete("calculator", user, "taken")
        with pytest.raises(SessionNotFoundError):
            await oda.sessions.get("calculator", user, "taken")
        assert (await oda.sessions.list("calculator", user)).sessions == []


@pytest.mark.parametrize(
    "position", [[1e999, "x"], [-1.0, "x"], [1e15, "x"], [1.0, "\0"], [1.0], {}, [None, "x"]]
)
async def test_a_cursor_that_was_never_given_out_is_refused(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str, position: Any
) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(position).encode()).decode()
    async with open_context(store, model, tmp_path) as oda:
        with pytest.raises(InvalidRequestError, match="cursor"):
            await oda.sessions.list("calculator", user, cursor=cursor)


async def test_users_do_not_see_each_other(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with open_context(store, model, tmp_path) as oda:
        await oda.sessions.create("calculator", user, "mine")
        with pytest.raises(SessionNotFoundError):
            await oda.sessions.get("calculator", f"{user}-other", "mine")


async def test_many_sessions_at_once_do_not_disturb_each_other(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    async with open_context(store, model, tmp_path) as oda:
        sessions = [await oda.sessions.create("calculator", user) for _ in range(24)]
        replies = await asyncio.gather(
            *(session.ask(f"I am {n}") for n, session in enumerate(sessions))
        )
    assert [reply.text for reply in replies] == [f"You said: I am {n}" for n in range(24)]


async def test_the_window_of_recent_events_never_cuts_the_running_turn(
    store: dict[str, Any], model: ModelServer, tmp_path: Path, user: str
) -> None:
    many = [ADD for _ in range(12)]
    model.play([Text(text="before"), *many, Error(status=500), Text(text="Done.")])
    clock = FakeClock(start=1_800_000_000.0)
    context = OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=tmp_path,
        config_dir=tmp_path,
        model="openai/stub",
        model_api_base=model.openai_base,
        session={"recent_events": 10},
        clock=clock,
        **store,
    )
    async with context as oda:
        session = await oda.sessions.create("calculator", user)
        await session.ask("first")
        reply = await session.ask("second")
    assert reply.text == "Done."
    seen = model.requests[-1].messages
    assert [m.text for m in seen if m.role == "user"][-1] == "second"
    assert sum(len(m.tool_results) for m in seen) == 12
