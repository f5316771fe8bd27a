"""Processes on one database of their own, their clients, and all that is known when they rest."""

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import Engine, Row, Select, select

from oda.agent.resume import text_of
from oda.cli.chaos.crash_points import ARMED_BY, Crash, Point
from oda.cli.chaos.patient_client import PatientClient
from oda.cli.chaos.processes import ForkServer, Kind, Server
from oda.cli.chaos.promises import (
    AT_REST,
    RECOVERED_WITHIN_S,
    Call,
    Fault,
    Frame,
    LedgerCall,
    Response,
    SessionName,
    StoredEvent,
    StoredTurn,
    World,
    faults,
)
from oda.database.engine import database_engine
from oda.database.schema import tool_calls, turns
from oda.turn.reader import entries_of

_LOOK_AGAIN_S = 0.05


class Place:
    """One database with one server on it, or several on PostgreSQL, and its clients.

    Args:
        fork_server: Starts the processes.
        directory: Empty; for data and logs.
        agents: ADK agents folder.
        app: The agent that clients talk to.
        database_url: None for SQLite in the directory.
        environment: More variables of the processes.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        directory: Path,
        *,
        agents: Path,
        app: str,
        database_url: str | None = None,
        environment: Mapping[str, str] = {},
    ) -> None:
        self.app = app
        self.database_url = database_url or f"sqlite:///{directory / 'oda.db'}"
        self.servers: list[Server] = []
        self.workers: list[Server] = []
        self.clients: list[PatientClient] = []
        self._armed = directory / "crash"
        self._directory = directory
        self._agents = agents
        self._fork_server = fork_server
        self._environment = {
            "ODA_DATABASE_URL": self.database_url,
            "ODA_TURN__SILENT_S": "0.5",
            "ODA_RETRY__INITIAL_DELAY_S": "0.05",
            ARMED_BY: str(self._armed),
            **environment,
        }

    @property
    def processes(self) -> Sequence[Server]:
        return [*self.servers, *self.workers]

    @property
    def all_running(self) -> bool:
        return all(process.running for process in self.processes)

    def server(self, **environment: str) -> Server:
        """Add a server; it is not started yet."""
        self.servers.append(self._process("serve", environment))
        return self.servers[-1]

    def worker(self, **environment: str) -> Server:
        """Add a worker; it is not started yet."""
        self.workers.append(self._process("worker", environment))
        return self.workers[-1]

    def _process(self, kind: Kind, environment: Mapping[str, str]) -> Server:
        return Server(
            self._fork_server,
            self._directory,
            {**self._environment, **environment},
            agents=self._agents,
            kind=kind,
        )

    def arm(self, point: Point, times: int = 1) -> None:
        """Let the next process that comes there kill itself."""
        Crash(point=point, times=times).arm(self._armed)

    def disarm(self) -> bool:
        """Let nobody die at the armed point; return whether nobody has yet."""
        try:
            self._armed.unlink()
        except FileNotFoundError:
            return False
        return True

    def client(self, session_id: str, *servers: Server, user_id: str = "local") -> PatientClient:
        """Add a client with connections of its own; of all servers if none is given."""
        addresses = [server.url for server in servers or self.servers]
        name = f"client-{uuid.uuid4().hex[:8]}"
        client = PatientClient(addresses, name, self.app, user_id, session_id)
        self.clients.append(client)
        return client

    async def close(self) -> None:
        """Kill all processes, close all clients."""
        for process in self.processes:
            await process.kill()
        for client in self.clients:
            await client.close()

    async def broken_promises(self, *, since: float = 0.0) -> list[Fault]:
        """Wait until all accepted turns are at rest, then check all that is known.

        Args:
            since: Epoch seconds of the last restart or take-over; 0 for none.
        """
        engine = database_engine(self.database_url)
        try:
            late = await _all_at_rest(engine, time.time() + RECOVERED_WITHIN_S)
            world = await self._world(engine, since)
        finally:
            engine.dispose()
        return [*late, *self.faults(world)]

    def faults(self, world: World) -> Sequence[Fault]:
        """Return what is broken of a world."""
        return faults(world)

    async def _world(self, engine: Engine, since: float) -> World:
        return World(
            sent=[message for client in self.clients for message in client.sent],
            turns=await asyncio.to_thread(_turns, engine),
            entries=await asyncio.to_thread(_entries, engine),
            histories=await self._histories(),
            ledger=await asyncio.to_thread(_ledger, engine),
            restarted_at=since,
        )

    async def _histories(self) -> dict[SessionName, Sequence[StoredEvent]]:
        """Read the sessions as ADK's own service does."""
        url = self.database_url.replace("sqlite:///", "sqlite+aiosqlite:///")
        histories: dict[SessionName, Sequence[StoredEvent]] = {}
        async with DatabaseSessionService(url) as service:
            for user_id, session_id in {client.session for client in self.clients}:
                session = await service.get_session(
                    app_name=self.app, user_id=user_id, session_id=session_id
                )
                if session is not None:
                    histories[user_id, session_id] = [_stored(event) for event in session.events]
        return histories


async def _all_at_rest(engine: Engine, deadline: float) -> list[Fault]:
    unfinished = select(turns.c.turn_id, turns.c.status).where(turns.c.status.not_in(AT_REST))
    while True:
        left = await asyncio.to_thread(_rows, engine, unfinished)
        if not left:
            return []
        if time.time() > deadline:
            return [Fault("G2", f"not final in time: {[tuple(row) for row in left]}")]
        await asyncio.sleep(_LOOK_AGAIN_S)


def _rows(engine: Engine, query: Select[Any]) -> Sequence[Row[Any]]:
    with engine.connect() as connection:
        return connection.execute(query).all()


def _turns(engine: Engine) -> list[StoredTurn]:
    return [
        StoredTurn(
            turn_id=row.turn_id,
            user_id=row.user_id,
            session_id=row.session_id,
            position=row.position,
            status=row.status,
            reply=row.reply,
            created_at=row.created_at.timestamp(),
            finished_at=row.finished_at.timestamp() if row.finished_at else None,
            error=row.error and f"{row.error['code']}: {row.error['message']}",
        )
        for row in _rows(engine, select(turns).order_by(turns.c.position))
    ]


def _entries(engine: Engine) -> dict[str, Sequence[Frame]]:
    with engine.connect() as connection:
        return {
            turn_id: [
                Frame(entry.number, entry.kind, json.loads(entry.json))
                for entry in entries_of(connection, turn_id)
            ]
            for turn_id in connection.scalars(select(turns.c.turn_id)).all()
        }


def _ledger(engine: Engine) -> list[LedgerCall]:
    return [
        LedgerCall(row.invocation_id, row.tool, row.idempotent, row.runs)
        for row in _rows(engine, select(tool_calls))
    ]


def _stored(event: Event) -> StoredEvent:
    return StoredEvent(
        event_id=event.id,
        turn_id=event.invocation_id,
        author=event.author,
        text=text_of(event),
        calls=[
            Call(call.id or "", call.name or "", call.args or {})
            for call in event.get_function_calls()
        ],
        responses=[
            Response(response.id or "", response.response or {})
            for response in event.get_function_responses()
        ],
    )
