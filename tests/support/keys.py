"""API keys in the database of a server, made before or while it runs."""

from pathlib import Path

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from oda.identity.principal import Scope


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


async def make_key(data: Path, user: str, scope: Scope = "user") -> str:
    """A new key, which the database of a data directory knows."""
    async with open_database(f"sqlite:///{data / 'oda.db'}") as database:
        await upgrade(database.engine)
        return (await ApiKeys(database, SystemClock()).create(user, scope))[1]
