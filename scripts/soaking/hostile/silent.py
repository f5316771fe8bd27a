"""Clients that connect and send nothing."""

import asyncio
import base64

from scripts.soaking.hostile.target import GRACE_S, Finding, Target, Wire, connected

_SILENCE_S = 20.0


async def nothing_said(target: Target) -> None:
    """Open a connection and send no request."""
    async with connected(target) as wire:
        if not await wire.ends_within(target.patience.head_s + GRACE_S):
            raise Finding("a connection without a request is kept")


async def nothing_more_said(target: Target) -> None:
    """Keep a connection alive after a request without using it."""
    async with connected(target) as wire:
        await wire.send(target.request("GET", "/livez", headers={"Connection": "keep-alive"}))
        await wire.read(GRACE_S)
        if not await wire.ends_within(target.patience.head_s + GRACE_S):
            raise Finding("a connection that is not used any more is kept")


async def silent_socket(target: Target) -> None:
    """Open a WebSocket and send nothing; a user may have a limited number of them."""
    async with connected(target) as wire:
        await upgrade(target, wire)
        await asyncio.sleep(_SILENCE_S)


async def upgrade(target: Target, wire: Wire) -> None:
    """Upgrade a connection to a WebSocket.

    Raises:
        Finding: the upgrade is refused for a reason other than too many connections.
    """
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
    }
    path = f"/v1/apps/assistant/sessions/{target.session}/ws"
    await wire.send(target.request("GET", path, headers=headers))
    heard = await wire.read(GRACE_S)
    if heard is None or not heard.startswith((b"HTTP/1.1 101", b"HTTP/1.1 429")):
        raise Finding(f"a WebSocket is answered by {heard!r}")
