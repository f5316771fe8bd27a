"""`oda sessions sweep`: what has expired in orchestrated sessions is reset, and nothing else."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oda import OdaSession
from oda.clock import Clock, SystemClock
from oda.context import OdaContext
from oda.identity.audit import AuditLog
from oda.message.content import to_content
from oda.orchestration.state import STATE_KEY, TIME_ZONE_KEY
from oda.session.sweep import Sweep, Swept, orchestrators
from oda.testing import FakeClock, ModelServer
from oda.testing.script import Hang
from oda.turn.submission import Submission
from tests.support.oda_command import Ended, Home

SCENES = Path(__file__).parents[1] / "support" / "scene_agents"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

State = dict[str, Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'oda.db'}"


@asynccontextmanager
async def node(
    tmp_path: Path, database_url: str | None = None, **settings: Any
) -> AsyncIterator[OdaContext]:
    """One of the processes that serve the database."""
    url = database_url or f"sqlite:///{tmp_path / 'oda.db'}"
    data = tmp_path / "data"
    async with OdaContext.from_settings(
        agents_dir=SCENES, data_dir=data, database_url=url, **settings
    ) as oda:
        yield oda


async def telling(oda: OdaContext, user: str, session_id: str = "s") -> OdaSession:
    """A session that has come to the middle of the scene `story`."""
    session = await oda.sessions.create("butler", user, session_id)
    assert (await session.ask("story")).text == "What about?"
    return session


async def change(session: OdaSession, **fields: Any) -> None:
    """Make the stored state another one, as if it had been left so."""
    await session.state.set(STATE_KEY, {**session.state[STATE_KEY], **fields})


def ago(**times: float) -> dict[str, str]:
    """The fields of a session that nobody has written to for a time."""
    then = datetime.now(UTC) - timedelta(**times)
    return {
        "last_activity": then.isoformat(),
        "ttl_deadline": (then + timedelta(minutes=10)).isoformat(),
    }


async def state_of(oda: OdaContext, user: str, session_id: str = "s") -> State:
    session = await oda.sessions.current("butler", user, session_id)
    state: State = session.state[STATE_KEY]
    return state


async def swept(
    oda: OdaContext,
    clock: Clock | None = None,
    unfinished: Callable[[OdaSession], Awaitable[bool]] | None = None,
) -> list[Swept]:
    async def of_all_nodes(session: OdaSession) -> bool:
        return bool(await oda.turns.unfinished(session))

    sweep = Sweep(oda.sessions, unfinished or of_all_nodes, clock or SystemClock())
    butler = orchestrators(oda.definitions)["butler"]
    return [one async for one in sweep.of_app("butler", butler)]


def command(tmp_path: Path, database_url: str) -> Callable[..., Awaitable[Ended]]:
    home = Home(tmp_path / "home", variables={"ODA_DATABASE_URL": database_url})

    async def run(*arguments: str) -> Ended:
        return await home.run("sessions", "sweep", "--agents", str(SCENES), *arguments)

    return run


async def test_the_command_resets_what_a_message_would_reset(
    tmp_path: Path, database_url: str
) -> None:
    sweep = command(tmp_path, database_url)
    async with node(tmp_path, database_url) as oda:
        for user in ("sound", "idle", "old", "spoilt", "elsewhere"):
            session = await telling(oda, user)
            match user:
                case "idle":
                    # none of the others may be idle, so midnight is not in between
                    await change(session, ttl_deadline=ago(minutes=11)["ttl_deadline"])
                case "old":
                    await change(session, **ago(hours=25))
                case "spoilt":
                    await change(session, scene_state="nonsense")
                case "elsewhere":
                    await change(session, active_scene="gone")
        await oda.sessions.create("butler", "silent", "s")

        told = json.loads((await sweep("--json")).stdout)["apps"]
        assert [{**app, "sessions": []} for app in told] == [
            {
                "app": "butler",
                "reset": 4,
                "valid": 1,
                "busy": 0,
                "failed": 0,
                "resets": {"idle": 1, "expired": 1, "bad_shape": 1, "unknown_scene": 1},
                "sessions": [],
            }
        ]
        reasons = {one["user_id"]: one["resets"] for one in told[0]["sessions"]}
        assert reasons == {
            "idle": ["idle"],
            "old": ["expired"],
            "spoilt": ["bad_shape"],
            "elsewhere": ["unknown_scene"],
        }
        for user in reasons:
            state = await state_of(oda, user)
            assert (state["active_scene"], state["scene_state"]) == ("chat", {"phase": "idle"})
        assert (await state_of(oda, "sound"))["active_scene"] == "story"

        again = await sweep("--app", "butler")
        assert (again.code, again.stdout) == (
            0,
            "butler: 0 reset, 5 valid, 0 busy, 0 failed\n",
        )
        written = await AuditLog(oda.database, SystemClock()).read()
    assert {entry.target for entry in written} == {f"butler/{user}/s" for user in reasons}


async def test_an_app_without_an_orchestrator_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    refused = await home.run("sessions", "sweep", "--app", "greeter")
    assert (refused.code, refused.stdout) == (2, "")
    assert "has no orchestrator" in refused.stderr
    none = await home.run("sessions", "sweep")
    assert (none.code, none.stdout) == (0, "no app has an orchestrator\n")


async def test_a_day_ends_when_the_users_does(tmp_path: Path) -> None:
    clock = FakeClock(NOON.timestamp())
    async with node(tmp_path) as oda:
        for user, zone in (("london", "Europe/London"), ("shanghai", "Asia/Shanghai")):
            session = await telling(oda, user)
            await session.state.set(TIME_ZONE_KEY, zone)
            # 20:00 in Shanghai and 13:00 in London; five hours later it is tomorrow in one of them
            kept_until = NOON + timedelta(days=1)
            await change(
                session, last_activity=NOON.isoformat(), ttl_deadline=kept_until.isoformat()
            )
        await clock.sleep(5 * 3600)
        outcomes = {one.user_id: one.resets for one in await swept(oda, clock)}
    assert outcomes["shanghai"] == ("new_day",)
    assert "new_day" not in outcomes["london"]


async def test_a_session_whose_turn_runs_is_left_alone(tmp_path: Path) -> None:
    async with ModelServer([Hang()]) as model, AsyncExitStack() as nodes:
        named = {"model": "gemini-stub", "model_api_base": model.url}
        one, other = [await nodes.enter_async_context(node(tmp_path, **named)) for _ in range(2)]
        session = await telling(one, "anna")
        await change(session, **ago(minutes=1))
        submitted = await one.turns.submit(session, Submission(to_content("cats")))
        await model.wait_until(lambda server: server.in_flight == 1, timeout_s=10)
        await other.sessions.get("butler", "anna", "s")
        for oda in (one, other):
            assert [found.outcome for found in await swept(oda, tomorrow())] == ["busy"]
        await one.turns.cancel(submitted.turn.turn_id)
        assert [found.outcome for found in await swept(other, tomorrow())] == ["reset"]


def tomorrow() -> FakeClock:
    return FakeClock((datetime.now(UTC) + timedelta(days=1)).timestamp())


async def test_a_message_that_comes_while_a_session_is_looked_at_is_never_undone(
    tmp_path: Path,
) -> None:
    async with node(tmp_path) as one, node(tmp_path) as other:
        await change(await telling(one, "anna"), active_scene="gone")
        said: list[str] = []

        async def faster(session: OdaSession) -> bool:
            """Say something in another process, right after it was found that nothing runs."""
            found = await other.sessions.get("butler", "anna", "s")
            said.append((await found.ask("story")).text)
            return False

        assert [found.outcome for found in await swept(one, unfinished=faster)] == ["busy"]
        assert said == ["What about?"]
        assert (await state_of(one, "anna"))["active_scene"] == "story"
