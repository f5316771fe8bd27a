"""API keys: random, stored as a hash, revocable, shown once."""

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Row, insert, select, update

from oda.clock import Clock
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.database.schema import api_keys
from oda.errors import InvalidRequestError, NotFoundError
from oda.identity.principal import Principal, Scope, check_id

PREFIX = "oda_"
_KEY = re.compile(rf"{PREFIX}(?P<key_id>[0-9a-f]{{16}})_(?P<secret>[A-Za-z0-9_-]{{43}})")
_MAX_NOTE_LENGTH = 255


@dataclass(frozen=True)
class ApiKey:
    """The stored data of a key, which excludes its secret."""

    key_id: str
    user_id: str
    scope: Scope
    note: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    def holds_at(self, moment: datetime) -> bool:
        """Return whether the key is valid at a time."""
        return self.revoked_at is None and (self.expires_at is None or moment < self.expires_at)


class ApiKeys:
    """The keys of a database. Each check reads it, so that a revocation holds at once.

    Raises (all methods): SQLAlchemyError: the database cannot be reached.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self, user_id: str, scope: Scope, note: str = "", *, expires_in: timedelta | None = None
    ) -> tuple[ApiKey, str]:
        """Make a key; returns what is stored, and the text that is never seen again.

        Raises:
            InvalidRequestError: the user, the note or the time is not allowed.
        """
        check_id("user_id", user_id)
        if len(note) > _MAX_NOTE_LENGTH or (note and not note.isprintable()):
            raise InvalidRequestError(
                f"The note must be at most {_MAX_NOTE_LENGTH} printable characters."
            )
        now = self._now()
        key = ApiKey(
            key_id=secrets.token_hex(8),
            user_id=user_id,
            scope=scope,
            note=note,
            created_at=now,
            expires_at=_later(now, expires_in),
            revoked_at=None,
        )
        secret = secrets.token_urlsafe(32)
        row = {**asdict(key), "digest": _digest(key.key_id, secret)}

        def store(connection: Connection) -> None:
            connection.execute(insert(api_keys).values(row))

        await self._database.journal.run(store, within_s=REQUEST_S)
        return key, f"{PREFIX}{key.key_id}_{secret}"

    async def list(self) -> Sequence[ApiKey]:
        """All keys that there ever were, the oldest first."""
        query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        return [_api_key(row) for row in await self._database.rows(query)]

    async def revoke(self, key_id: str) -> ApiKey:
        """End a key; one that has been revoked keeps its time.

        Raises:
            NotFoundError: there is no such key.
        """
        now = self._now()
        this = api_keys.c.key_id == key_id

        def end(connection: Connection) -> Row[tuple[object, ...]] | None:
            still_valid = api_keys.c.revoked_at.is_(None)
            connection.execute(update(api_keys).where(this, still_valid).values(revoked_at=now))
            return connection.execute(select(api_keys).where(this)).one_or_none()

        row = await self._database.journal.run(end, within_s=REQUEST_S)
        if row is None:
            raise NotFoundError(
                f"There is no API key {key_id!r}.", remedy="`oda keys list` shows the ids"
            )
        return _api_key(row)

    async def verify(self, text: str) -> Principal | None:
        """Return the principal of a key; None if the key is unknown, revoked or expired."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        query = select(api_keys).where(api_keys.c.key_id == match["key_id"])
        rows = await self._database.rows(query)
        if not rows:
            return None
        (row,) = rows
        digest: str = row.digest
        if not hmac.compare_digest(digest, _digest(match["key_id"], match["secret"])):
            return None
        key = _api_key(row)
        if not key.holds_at(self._now()):
            return None
        return Principal(key.user_id, key.scope, actor=key.user_id, key_id=key.key_id)

    async def any_configured(self) -> bool:
        """Return whether any key exists, including revoked and expired ones.

        Revoking the last key must not open a server.
        """
        any_key = select(api_keys.c.key_id).limit(1)
        return await self._database.scalar(any_key) is not None

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _later(now: datetime, delta: timedelta | None) -> datetime | None:
    if delta is None:
        return None
    try:
        moment = now + delta
    except OverflowError:
        moment = now
    if moment <= now:
        raise InvalidRequestError("The time until a key expires must be positive and reasonable.")
    return moment


def _digest(key_id: str, secret: str) -> str:
    return hmac.digest(key_id.encode(), secret.encode(), "sha256").hex()


def _api_key(row: Row[tuple[object, ...]]) -> ApiKey:
    return ApiKey(**{field.name: row._mapping[field.name] for field in fields(ApiKey)})
