"""`oda webhooks`: what others are told of turns, for operators; works while a server is running."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any

from oda.cli.exit_code import ExitCode
from oda.cli.listing import print_lines
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.webhooks.deliveries import Deliveries, Delivery, DeliveryStatus


def list_deliveries(
    *, status: DeliveryStatus | None, turn_id: str | None, limit: int, as_json: bool
) -> ExitCode:
    """Print the newest deliveries that match all given criteria.

    Raises:
        UnavailableError: the database cannot be reached.
    """

    async def find() -> Sequence[Delivery]:
        async with _open_database() as database:
            found = Deliveries(database, SystemClock())
            return await found.find(status=status, turn_id=turn_id, limit=limit)

    found = asyncio.run(find())
    if as_json:
        print(json.dumps({"deliveries": [_shown(one) for one in found]}, indent=2))
    elif found:
        print_lines(map(_line, found))
    else:
        print("no deliveries")
    return ExitCode.OK


def retry_delivery(delivery_id: str, *, as_json: bool) -> ExitCode:
    """Have a delivery sent again by a server or worker that runs.

    Raises:
        NotFoundError: there is none of that id, or it is no longer kept.
        UnavailableError: the database cannot be reached.
    """

    async def retry() -> Delivery:
        async with _open_database() as database:
            again = await Deliveries(database, SystemClock()).retry(delivery_id)
            await record_command(database, "oda webhooks retry", delivery_id, user_id=again.user_id)
            return again

    again = asyncio.run(retry())
    print(json.dumps(_shown(again)) if as_json else f"{delivery_id} will be sent again")
    return ExitCode.OK


@asynccontextmanager
async def _open_database() -> AsyncIterator[Database]:
    settings = load_settings(agents_dir=None)
    async with open_database(settings.resolved_database_url) as database:
        with database.reaching():
            await upgrade(database.engine)
            yield database


def _shown(delivery: Delivery) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(delivery).items()
    }


def _line(delivery: Delivery) -> str:
    line = (
        f"{delivery.delivery_id}  {delivery.created_at:%Y-%m-%d %H:%M:%S}  {delivery.status:<9}  "
        f"{delivery.type}  {delivery.turn_id}  {delivery.url}"
    )
    tried = f"  tried {delivery.attempts} times" if delivery.attempts > 1 else ""
    again = f", again at {delivery.next_at:%Y-%m-%d %H:%M:%S}" if delivery.next_at else ""
    problem = f"  {delivery.problem}{again}" if delivery.problem else ""
    return f"{line}{tried}{problem}"
