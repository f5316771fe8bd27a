"""Periodic removal of unused workspaces while a process lives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from oda.telemetry import get_logger
from oda.workspace.workspaces import Workspaces

log = get_logger(__name__)

_DAY_S = 86_400.0


@asynccontextmanager
async def kept_swept(workspaces: Workspaces) -> AsyncIterator[None]:
    """Sweep now, and once a day while the block runs."""
    sweeping = asyncio.create_task(_sweep_daily(workspaces), name="oda workspaces")
    try:
        yield
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


async def _sweep_daily(workspaces: Workspaces) -> None:
    while True:
        try:
            if count := await workspaces.sweep():
                log.info("workspaces_removed", count=count)
        except Exception as error:
            log.warning("workspaces_not_removed", exc_info=error)
        await asyncio.sleep(_DAY_S)
