"""A place where servers are killed: data, effects, clients, and at the end all that is known."""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import Engine, select

from oda.agent.resume import text_of
from oda.database.engine import database_engine
from oda.database.schema import turns
from oda.turn.reader import entries_of
from tests.support.checker import (
    FINAL,
    RECOVERED_WITHIN_S,
    Call,
    Effect,
    Fault,
    Frame,
    Response,
    SessionName,
    StoredEvent,
    StoredTurn,
    World,
    faults,
)
from tests.support.crash_points import ARMED_BY, Crash, Point
from tests.support.patient_client import APP, PatientClient
from tests.support.server_lives import Nursery, Server

_LOOK_AGAIN_S = 0.05


class Place:
    """One database with one server on it, or several on PostgreSQL, and its clients.

    Args:
        nursery: Bears the servers.
        directory: Empty; for data, effects and logs.
        database_url: None for SQLite in the directory.
        settings: More `ODA_…` variables.
    """

    def __init__(
        self, nursery: Nursery, directory: Path, database_url: str | None, **settings: str
    ) -> None:
        self.database_url = database_url or f"sqlite:///{directory / 'oda.db'}"
        self.effects = directory / "effects"
        self.servers: list[Server] = []
        self.clients: list[PatientClient] = []
        self._armed = directory / "crash"
        self._directory = directory
        self._nursery = nursery
        self._environment = {
            "ODA_DATABASE_URL": self.database_url,
            "ODA_TURN__SILENT_S": "0.5",
            "ODA_RETRY__INITIAL_DELAY_S": "0.05",
            "ODA_TEST_EFFECTS": str(self.effects),
            ARMED_BY: str(self._armed),
            **settings,
        }

    def server(self) -> Server:
        """One more server; it does not live yet."""
        server = Server(self._nursery, self._directory, self._environment)
        self.servers.append(server)
        return server

    def arm(self, point: Point, times: int = 1) -> None:
        """Let the next process that comes there kill itself."""
        Crash(point=point, times=times).arm(self._armed)

    def disarm(self) -> bool:
        """Whether nobody has come to the armed point; now nobody will die there."""
        try:
            self._armed.unlink()
        except FileNotFoundError:
            return False
        return True

    def client(self, session_id: str, *servers: Server, user_id: str = "local") -> PatientClient:
        """A client with connections of its own; of all servers if none is given."""
        addresses = [server.url for server in servers or self.servers]
        name = f"client-{uuid.uuid4().hex[:8]}"
        client = PatientClient(addresses, name, user_id, session_id)
        self.clients.append(client)
        return client

    async def close(self) -> None:
        """Kill all servers, close all clients."""
        for server in self.servers:
            await server.kill()
        for client in self.clients:
            await client.close()

    async def keeps_all_promises(self, *, since: float | None = None) -> None:
        """Wait until all accepted turns are final, then check all that is known.

        Args:
            since: Epoch seconds of the last restart or take-over.

        Raises:
            AssertionError: naming each promise that is broken.
        """
        engine = database_engine(self.database_url)
        try:
            late = await _all_final(engine, (since or time.time()) + RECOVERED_WITHIN_S)
            world = World(
                talks=[talk for client in self.clients for talk in client.talks],
                turns=await _turns(engine),
                entries=await _entries(engine),
                histories=await self._histories(),
                effects=self.left_effects(),
                restarted_at=since,
            )
        finally:
            engine.dispose()
        broken = [*late, *map(str, faults(world))]
        if broken:
            raise AssertionError(
                "\n".join([f"{len(broken)} broken promises:", *broken, *self._said_of(broken)])
            )

    def _said_of(self, broken: Sequence[str]) -> Iterator[str]:
        """What the servers have said of the turns whose promises are broken."""
        named = set(re.findall(r"turn_[0-9a-f]{32}", "\n".join(broken)))
        for server in self.servers:
            for line in server.said().splitlines():
                if any(turn_id in line for turn_id in named):
                    yield f"{server.url}: {line}"

    async def _histories(self) -> dict[SessionName, Sequence[StoredEvent]]:
        """Read the sessions as ADK's own service does."""
        url = self.database_url.replace("sqlite:///", "sqlite+aiosqlite:///")
        histories: dict[SessionName, Sequence[StoredEvent]] = {}
        async with DatabaseSessionService(url) as service:
            for user_id, session_id in {client.session for client in self.clients}:
                session = await service.get_session(
                    app_name=APP, user_id=user_id, session_id=session_id
                )
                if session is not None:
                    histories[user_id, session_id] = [_stored(event) for event in session.events]
        return histories

    def left_effects(self) -> list[Effect]:
        """What the tools have done, in order."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return [Effect(**json.loads(line)) for line in lines]


async def _all_final(engine: Engine, deadline: float) -> list[str]:
    unfinished = select(turns.c.turn_id, turns.c.status).where(turns.c.status.not_in(FINAL))
    while True:
        with engine.connect() as connection:
            left = connection.execute(unfinished).all()
        if not left:
            return []
        if time.time() > deadline:
            return [str(Fault("G2", f"not final in time: {[tuple(row) for row in left]}"))]
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _turns(engine: Engine) -> list[StoredTurn]:
    with engine.connect() as connection:
        rows = connection.execute(select(turns).order_by(turns.c.position))
    return [
        StoredTurn(
            turn_id=row.turn_id,
            user_id=row.user_id,
            session_id=row.session_id,
            position=row.position,
            status=row.status,
            reply=row.reply,
            finished_at=row.finished_at.timestamp() if row.finished_at else None,
            error=row.error and f"{row.error['code']}: {row.error['message']}",
        )
        for row in rows
    ]


async def _entries(engine: Engine) -> dict[str, Sequence[Frame]]:
    with engine.connect() as connection:
        return {
            turn_id: [
                Frame(entry.number, entry.kind, json.loads(entry.json))
                for entry in entries_of(connection, turn_id)
            ]
            for turn_id in connection.scalars(select(turns.c.turn_id)).all()
        }


def _stored(event: Event) -> StoredEvent:
    return StoredEvent(
        event_id=event.id,
        turn_id=event.invocation_id,
        author=event.author,
        text=text_of(event),
        calls=[
            Call(call.id or "", call.name or "", _amount(call.args))
            for call in event.get_function_calls()
        ],
        responses=[
            Response(response.id or "", response.response or {})
            for response in event.get_function_responses()
        ],
    )


def _amount(arguments: dict[str, Any] | None) -> int:
    return int((arguments or {}).get("amount", 0))
