"""Clients that send a byte now and then, and clients that never read."""

import asyncio
from itertools import count

from scripts.soaking.hostile.target import GRACE_S, Finding, Target, Wire, connected

_BETWEEN_BYTES_S = 0.5
_LARGE = 4 * 2**20
_NUMBERS = count()
_LATE_S = 10.0
"""Tolerance for the time at which a stalled answer is cut off, in seconds."""


async def dripping_head(target: Target) -> None:
    """Send a request head that never ends."""
    async with connected(target) as wire:
        await wire.send(target.request("GET", "/v1/apps")[:-4])
        await _drip(wire, target.patience.head_s, "head")


async def dripping_body(target: Target) -> None:
    """Send a body that never ends."""
    async with connected(target) as wire:
        path = f"/v1/apps/assistant/sessions/{target.session}/turns"
        await wire.send(target.request("POST", path, length=100_000))
        await _drip(wire, target.patience.body_s, "body")


async def never_reading(target: Target) -> None:
    """Request a large answer and never read it."""
    path = f"/v1/apps/assistant/sessions/{target.session}/artifacts/large-{next(_NUMBERS)}.bin"
    headers = {"Content-Type": "application/octet-stream"}
    await target.ask("PUT", path, bytes(_LARGE), headers, expect=(201, 413, 429, 507))
    async with connected(target, receive_buffer=4096) as wire:
        await wire.send(target.request("GET", path))
        await asyncio.sleep(target.patience.stall_s + _LATE_S)
        if len(await wire.answer()) > _LARGE:
            raise Finding("who does not read an answer keeps it")
    await target.ask("DELETE", path, expect=(204, 404, 429))


async def _drip(wire: Wire, patience_s: float, what: str) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + patience_s + GRACE_S
    while loop.time() < until:
        heard = await wire.read(_BETWEEN_BYTES_S)
        if heard is not None or not await wire.send(b"a"):
            return
    raise Finding(f"a {what} that comes byte by byte is waited for")
