"""`oda keys`: who may use the server."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from oda.cli.exit_code import ExitCode
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.database.database import Database, open_database
from oda.database.migrate import current_revision, upgrade
from oda.identity.keys import ApiKey, ApiKeys
from oda.identity.principal import Scope
from oda.settings import Settings


def create_key(
    user: str, scope: Scope, *, note: str, expires_days: int | None, as_json: bool
) -> ExitCode:
    """Make a key and print it, alone on stdout.

    Raises:
        InvalidRequestError: the user, the note or the time is not allowed.
        UnavailableError: the database cannot be reached.
    """

    async def create() -> tuple[ApiKey, str]:
        expires_in = None if expires_days is None else timedelta(days=expires_days)
        async with _open_database() as database:
            keys = ApiKeys(database, SystemClock())
            made, text = await keys.create(user, scope, note, expires_in=expires_in)
            await record_command(
                database,
                "oda keys create",
                made.key_id,
                user_id=made.user_id,
                detail={"scope": made.scope},
            )
            return made, text

    key, text = asyncio.run(create())
    print(json.dumps({"key": text, **_shown(key)}) if as_json else text)
    print(
        f"This is key {key.key_id} of {key.user_id} ({key.scope}); it is shown only this once.",
        file=sys.stderr,
    )
    return ExitCode.OK


def list_keys(*, as_json: bool) -> ExitCode:
    """Print what is known of all keys.

    Raises:
        UnavailableError: the database cannot be reached.
    """

    async def read() -> Sequence[ApiKey]:
        async with _open_database() as database:
            return await ApiKeys(database, SystemClock()).list()

    found = asyncio.run(read())
    if as_json:
        print(json.dumps({"keys": [_shown(key) for key in found]}, indent=2))
    else:
        _print_list(found)
    return ExitCode.OK


def revoke_key(key_id: str, *, as_json: bool) -> ExitCode:
    """End a key at once, also for servers that run.

    Raises:
        NotFoundError: there is no such key.
        UnavailableError: the database cannot be reached.
    """

    async def revoke() -> ApiKey:
        async with _open_database() as database:
            key = await ApiKeys(database, SystemClock()).revoke(key_id)
            await record_command(database, "oda keys revoke", key_id, user_id=key.user_id)
            return key

    key = asyncio.run(revoke())
    print(json.dumps(_shown(key)) if as_json else f"{key.key_id} of {key.user_id} is revoked")
    return ExitCode.OK


async def any_key_configured(settings: Settings) -> bool:
    """Return whether the database of these settings has ever had a key.

    Raises:
        ConfigurationError: its URL is invalid.
        UnavailableError: it cannot be reached.
    """
    async with open_database(settings.resolved_database_url) as database:
        with database.reaching():
            if await current_revision(database.engine) is None:
                return False
            await upgrade(database.engine)
            return await ApiKeys(database, SystemClock()).any_configured()


@asynccontextmanager
async def _open_database() -> AsyncIterator[Database]:
    settings = load_settings(agents_dir=None)
    async with open_database(settings.resolved_database_url) as database:
        with database.reaching():
            await upgrade(database.engine)
            yield database


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(key).items()
    }


def _print_list(keys: Sequence[ApiKey]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    if not keys:
        console.print("no keys")
        return
    users = max(len(key.user_id) for key in keys)
    now = datetime.now(UTC)
    for key in keys:
        line = f"{key.key_id}  {key.user_id:<{users}}  {key.scope:<5}  {_state(key, now)}"
        console.print(
            Text(f"{line}  {key.note}".rstrip(), style="" if key.holds_at(now) else "dim")
        )


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return f"since {key.created_at:%Y-%m-%d}"
    word = "until" if key.holds_at(now) else "expired"
    return f"{word} {key.expires_at:%Y-%m-%d}"
