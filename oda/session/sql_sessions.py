"""Sessions in the tables of ADK's own `DatabaseSessionService`, which can read and continue them.

ADK writes each event through SQLAlchemy's ORM, in its own transaction and on a connection that
competes with the journal's. Here events go through the journal and share the turns' transactions.
"""

import asyncio
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import Session, _session_util
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.migration import _schema_check_utils as versions
from google.adk.sessions.schemas import v1
from google.adk.sessions.state import State
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    insert,
    literal,
    select,
    text,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from oda.agent.turn_plugin import SessionKey
from oda.database.database import Database
from oda.database.write_queue import writes_of_turn
from oda.errors import ConfigurationError
from oda.message.storable import storable, storable_json
from oda.session.kept_events import KeptEvents
from oda.session.listing import ListedSession, Position
from oda.session.past_state import META

T = TypeVar("T")

_metadata = cast("Table", v1.StorageMetadata.__table__)
_sessions = cast("Table", v1.StorageSession.__table__)
_events = cast("Table", v1.StorageEvent.__table__)
_app_states = cast("Table", v1.StorageAppState.__table__)
_user_states = cast("Table", v1.StorageUserState.__table__)

_BY_TIME = text(
    "CREATE INDEX IF NOT EXISTS oda_sessions_by_time "
    "ON sessions (app_name, user_id, update_time, id)"
)
_PREPARATION_LOCK = 0x0DA1
"""Key of the advisory lock that serializes the preparations of processes starting together."""
_TICK_S = 2e-6
"""Smallest time step that survives the database's rounding to microseconds."""
_STATES = (_app_states.c.state.label("of_app"), _user_states.c.state.label("of_user"))


class SqlSessions(BaseSessionService):
    """Session service for all apps.

    Concurrent changes of `user:` and `app:` state are merged key by key.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._appending: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()
        self._kept = KeptEvents()
        self._prepared = False
        self._insert_event = _insert_event(database.engine.dialect.name)

    async def prepare_tables(self) -> None:
        """Create ADK's tables and the index for pages of sessions, if they are missing.

        Raises:
            ConfigurationError: the tables have the schema of another ADK version.
        """
        if not self._prepared:
            await self.database.journal.run(_prepare)
            self._prepared = True

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Store a new session atomically.

        Raises:
            AlreadyExistsError: the id is taken.
        """
        await self.prepare_tables()
        key = (app_name, user_id, session_id or str(uuid.uuid4()))
        given = _session_util.extract_json_safe_state_delta(storable(state or {}))
        now = datetime.now(UTC).replace(tzinfo=None)

        def create(connection: Connection) -> Session:
            _make_states(connection, key)
            row = dict(zip(("app_name", "user_id", "id"), key, strict=True))
            times = {"create_time": now, "update_time": now}
            connection.execute(insert(_sessions), [{**row, **times, "state": given["session"]}])
            _merge_shared(connection, key, given)
            return _session(key, connection.execute(_session_query(key)).one(), [])

        try:
            return await _run_to_completion(self.database.journal.run(create))
        except IntegrityError as error:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.") from error

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        await self.prepare_tables()
        if (writes := writes_of_turn(self.database.journal)) is not None:
            await writes.flushed()
        key, wanted = (app_name, user_id, session_id), config or GetSessionConfig()

        recent = wanted.num_recent_events
        is_plain = recent != 0 and not wanted.after_timestamp
        known = self._kept.revision(key, recent) if is_plain else None

        def load(connection: Connection) -> tuple[Any, list[Event], list[int]] | None:
            row = connection.execute(_session_query(key)).one_or_none()
            if row is None:
                return None
            if recent == 0 or known == _marker(row.update_time):
                return row, [], []
            found = connection.execute(_events_query(key, wanted)).all()[::-1]
            return row, [_event(*one) for one in found], [len(one[2]) for one in found]

        loaded = await self.database.read(load)
        if loaded is None:
            self._kept.forget(key)
            return None
        row, events, sizes = loaded
        revision = _marker(row.update_time)
        if is_plain and known == revision:
            if self._kept.revision(key, recent) != revision:  # changed during the read: try again
                return await self.get_session(
                    app_name=app_name, user_id=user_id, session_id=session_id, config=config
                )
            events = self._kept.recent(key, recent)
        elif is_plain:
            whole = recent is None or len(events) < recent
            self._kept.put(key, revision, events, sizes, whole=whole)
        return _session(key, row, events)

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of one or all users without events, least recently updated first."""
        await self.prepare_tables()
        query = (
            select(_sessions, *_STATES)
            .select_from(_with_states())
            .where(_sessions.c.app_name == app_name)
            .order_by(_sessions.c.update_time, _sessions.c.user_id, _sessions.c.id)
        )
        if user_id is not None:
            query = query.where(_sessions.c.user_id == user_id)
        rows = await self.database.rows(query)
        return ListSessionsResponse(
            sessions=[_session((row.app_name, row.user_id, row.id), row, []) for row in rows]
        )

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return a page; rows are found through an index, and only their state is read."""
        await self.prepare_tables()
        row = _sessions.c
        page = (
            select(row.id, row.update_time, type_coerce(row.state, JSON)[META].label("meta"))
            .where(row.app_name == app_name, row.user_id == user_id)
            .order_by(row.update_time.desc(), row.id.desc())
            .limit(limit)
        )
        if behind is not None:
            at = datetime.fromtimestamp(behind.updated_at, UTC).replace(tzinfo=None)
            place = tuple_(row.update_time, row.id)
            page = page.where(place < tuple_(literal(at), literal(behind.session_id)))
        return [
            ListedSession.of(app_name, user_id, one.id, _epoch(one.update_time), one.meta)
            for one in await self.database.rows(page)
        ]

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self.prepare_tables()
        key = (app_name, user_id, session_id)
        self._kept.forget(key)
        gone = delete(_sessions).where(_is(key))
        # The foreign key of the events cascades.
        await _run_to_completion(
            self.database.journal.run(lambda connection: connection.execute(gone))
        )

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        await self.prepare_tables()
        row = _user_states.c
        query = select(row.state).where(row.app_name == app_name, row.user_id == user_id)
        found: dict[str, Any] | None = await self.database.scalar(query)
        return found or {}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event at the end of the session.

        In a turn of the engine it goes through the turn's write queue, so it is stored soon, but
        before later writes of the turn. The output of a graph node is stored before the next node
        begins.

        Events are sorted by timestamp. An event that is not later than its predecessor, because of
        a slow clock or in the same microsecond, gets the next free timestamp.

        Raises:
            SessionNotFoundError: the session has been deleted.
            StaleSessionError: the session has changed since `session` was read, or has an event
                with that id.
        """
        if event.partial:
            return event
        key = (session.app_name, session.user_id, session.id)
        async with self._appending.setdefault(key, asyncio.Lock()):
            await _run_to_completion(self._append(session, event))
        return event

    async def _append(self, session: Session, event: Event) -> None:
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        key = (session.app_name, session.user_id, session.id)
        if session.events:
            event.timestamp = max(event.timestamp, session.events[-1].timestamp + _TICK_S)
        at = datetime.fromtimestamp(event.timestamp, UTC).replace(tzinfo=None)
        delta = _session_util.extract_json_safe_state_delta(event.actions.state_delta or {})
        data = storable_json(_json_of(event)).decode()
        row = {
            "id": event.id,
            "app_name": session.app_name,
            "user_id": session.user_id,
            "session_id": session.id,
            "invocation_id": event.invocation_id,
            "timestamp": at,
            "data": data,
        }
        writes = writes_of_turn(self.database.journal)
        seen = session._storage_update_marker
        missed = False

        def append(connection: Connection) -> None:
            nonlocal missed
            missed = not _advance(connection, key, seen, at, delta["session"])
            # A turn owns its session: concurrent writes of others must not stop it.
            if missed and writes is None:
                raise StaleSessionError("The session has changed since it was read; read it again.")
            _merge_shared(connection, key, delta)
            connection.execute(self._insert_event, row)

        def forget_if_missed() -> None:
            if missed:
                self._kept.forget(key)

        if writes is not None:
            writes.put_event(event.id, append, then=forget_if_missed)
        else:
            try:
                await self.database.journal.run(append)
            except IntegrityError as error:
                raise StaleSessionError(f"The event {event.id!r} is stored already.") from error
        before, revision = session._storage_update_marker, _marker(at)
        self._kept.append(key, before, revision, event, len(data))
        session.last_update_time = _epoch(at)
        session._storage_update_marker = revision
        self._commit_event_to_session(session, event)
        if writes is not None and _another_node_follows(event):
            await writes.flushed()  # so that a crash during the next node does not repeat this one


def _json_of(event: Event) -> bytes:
    """Return an event as JSON without what reading it adds again: a fifth of it."""
    return event.model_dump_json(exclude_none=True, exclude_defaults=True).encode()


def _another_node_follows(event: Event) -> bool:
    """Return whether an event is the output of a graph node that is not also the root's output."""
    node = event.node_info
    is_output = event.output is not None or node.message_as_output
    return bool(is_output) and all("/" in path for path in (node.path, *(node.output_for or ())))


# --- reading


def _session_query(key: SessionKey) -> Select[Any]:
    columns = (_sessions.c.state, _sessions.c.update_time, *_STATES)
    return select(*columns).select_from(_with_states()).where(_is(key))


def _with_states() -> FromClause:
    of_app = _sessions.c.app_name == _app_states.c.app_name
    of_user = and_(
        _sessions.c.app_name == _user_states.c.app_name,
        _sessions.c.user_id == _user_states.c.user_id,
    )
    return _sessions.outerjoin(_app_states, of_app).outerjoin(_user_states, of_user)


def _events_query(key: SessionKey, config: GetSessionConfig) -> Select[Any]:
    """Select id, invocation id and JSON of events, newest first."""
    row = _events.c
    app_name, user_id, session_id = key
    query = select(row.id, row.invocation_id, sql_cast(row.event_data, Text)).where(
        row.app_name == app_name, row.user_id == user_id, row.session_id == session_id
    )
    if config.after_timestamp:
        after = datetime.fromtimestamp(config.after_timestamp, UTC).replace(tzinfo=None)
        query = query.where(row.timestamp >= after)
    query = query.order_by(row.timestamp.desc(), row.id.desc())
    return query.limit(config.num_recent_events)


def _session(key: SessionKey, row: Any, events: list[Event]) -> Session:
    """Create a session from a row of `state`, `update_time`, `of_app` and `of_user`."""
    app_name, user_id, session_id = key
    state = dict(row.state or {})
    state |= {State.APP_PREFIX + name: value for name, value in (row.of_app or {}).items()}
    state |= {State.USER_PREFIX + name: value for name, value in (row.of_user or {}).items()}
    session = Session(
        app_name=app_name,
        user_id=user_id,
        id=session_id,
        state=state,
        events=events,
        last_update_time=_epoch(row.update_time),
    )
    session._storage_update_marker = _marker(row.update_time)
    return session


def events_by_id(
    connection: Connection, key: SessionKey, ids: Sequence[str]
) -> Mapping[str, Event]:
    """Return those events of a session that exist, by id."""
    row = _events.c
    app_name, user_id, session_id = key
    query = select(row.id, row.invocation_id, sql_cast(row.event_data, Text)).where(
        row.app_name == app_name,
        row.user_id == user_id,
        row.session_id == session_id,
        row.id.in_(ids),
    )
    return {one[0]: _event(*one) for one in connection.execute(query)}


def _event(event_id: str, invocation_id: str, data: str) -> Event:
    event = Event.model_validate_json(data)
    event.id, event.invocation_id = event_id, invocation_id
    return event


def _epoch(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


def _marker(moment: datetime) -> str:
    """Return the revision of a session in the format of ADK's own service."""
    return moment.isoformat(timespec="microseconds")


# --- writing, in operations of the journal


def _prepare(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        # Of transactions that create a table at once, `IF NOT EXISTS` lets some fail.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _PREPARATION_LOCK})
    version = versions.get_db_schema_version_from_connection(connection)
    if version != versions.LATEST_SCHEMA_VERSION:
        raise ConfigurationError(
            f"the tables of the sessions are of version {version} of ADK's schema, this version "
            f"knows {versions.LATEST_SCHEMA_VERSION}",
            remedy="bring them up to date with `adk migrate session`",
        )
    v1.Base.metadata.create_all(connection)
    for index in _events.indexes:  # a table of an earlier ADK may lack it
        index.create(connection, checkfirst=True)
    row = {"key": versions.SCHEMA_VERSION_KEY, "value": version}
    connection.execute(_insert(connection, _metadata).values(row).on_conflict_do_nothing())
    connection.execute(_BY_TIME)


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return the dialect's own `INSERT`, which supports `ON CONFLICT`."""
    insert_of = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return insert_of(table)


def _insert_event(dialect: str) -> Any:
    """Return a statement that takes an event's JSON as text, so that it is not encoded twice."""
    data: ColumnElement[Any] = bindparam("data", type_=Text)
    if dialect == "postgresql":
        data = sql_cast(data, postgresql.JSONB)
    given = ("id", "app_name", "user_id", "session_id", "invocation_id", "timestamp")
    return insert(_events).values({**{name: bindparam(name) for name in given}, "event_data": data})


def _make_states(connection: Connection, key: SessionKey) -> None:
    app_name, user_id, _ = key
    for table, row in (
        (_app_states, {"app_name": app_name}),
        (_user_states, {"app_name": app_name, "user_id": user_id}),
    ):
        new = _insert(connection, table).values({**row, "state": {}})
        connection.execute(new.on_conflict_do_nothing())


def _advance(
    connection: Connection,
    key: SessionKey,
    seen: str | None,
    at: datetime,
    delta: Mapping[str, Any],
) -> bool:
    """Update a session's revision and state; return whether its revision was `seen` before.

    Raises:
        SessionNotFoundError: the session has been deleted.
    """
    if seen is not None and not delta:
        known = and_(_is(key), _sessions.c.update_time == datetime.fromisoformat(seen))
        if connection.execute(update(_sessions).where(known).values(update_time=at)).rowcount:
            return True
    row = connection.execute(
        select(_sessions.c.state, _sessions.c.update_time).where(_is(key)).with_for_update()
    ).one_or_none()
    if row is None:
        raise SessionNotFoundError(f"Session {key[2]} not found.")
    changes: dict[str, Any] = {"update_time": at}
    if delta:
        changes["state"] = {**(row.state or {}), **delta}
    connection.execute(update(_sessions).where(_is(key)).values(changes))
    return seen is None or seen == _marker(row.update_time)


def _merge_shared(
    connection: Connection, key: SessionKey, delta: Mapping[str, Mapping[str, Any]]
) -> None:
    """Merge the `app` and `user` parts of a change into their rows, under a row lock."""
    app_name, user_id, _ = key
    row = _user_states.c
    for table, mine, changes in (
        (_app_states, _app_states.c.app_name == app_name, delta["app"]),
        (_user_states, and_(row.app_name == app_name, row.user_id == user_id), delta["user"]),
    ):
        if changes:
            held = select(table.c.state).where(mine).with_for_update()
            state = {**(connection.scalar(held) or {}), **changes}
            connection.execute(update(table).where(mine).values(state=state))


def _is(key: SessionKey) -> ColumnElement[bool]:
    app_name, user_id, session_id = key
    row = _sessions.c
    return and_(row.app_name == app_name, row.user_id == user_id, row.id == session_id)


async def _run_to_completion(write: Coroutine[Any, Any, T]) -> T:
    """Await a write, delaying a cancellation of the caller until the write has ended."""
    writing = asyncio.create_task(write)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise
