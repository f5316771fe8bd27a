"""Requests at and above the size limits."""

from scripts.soaking.hostile.target import Finding, Target, as_json, connected, status_of

_MOST_BODY = 20 * 2**20
_REFUSED = range(400, 500)
_SERVED = (*range(200, 300), *_REFUSED)


async def body_above_the_limit(target: Target) -> None:
    """Announce a body above the limit; the server need not read it."""
    async with connected(target) as wire:
        path = f"/v1/apps/assistant/sessions/{target.session}/turns"
        await wire.send(target.request("POST", path, length=_MOST_BODY + 1))
        await wire.send(bytes(2**16))
        status = status_of(await wire.read(60.0) or b"")
    if status not in (413, 429):
        raise Finding(f"a body above the limit is answered by {status}")


async def endless_chunks(target: Target) -> None:
    """Send a chunked body, whose length is not announced, above the limit."""
    async with connected(target) as wire:
        path = f"/v1/apps/assistant/sessions/{target.session}/turns"
        headers = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
        await wire.send(target.request("POST", path, headers=headers))
        chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n"
        for _ in range(_MOST_BODY // 2**16 + 2):
            if not await wire.send(chunk):
                return
        status = status_of(await wire.read(60.0) or b"")
    if status not in (0, 408, 413, 429):
        raise Finding(f"an endless body is answered by {status}")


async def upload_at_the_limit(target: Target) -> None:
    """Upload a file of the largest allowed size and delete it."""
    path = f"/v1/apps/assistant/sessions/{target.session}/artifacts/huge.bin"
    headers = {"Content-Type": "application/octet-stream"}
    await target.ask("PUT", path, bytes(_MOST_BODY), headers, expect=_SERVED)
    await target.ask("DELETE", path, expect=_SERVED)


async def deep_json(target: Target) -> None:
    """Send JSON nested deeper than any stack, and JSON nested just below the limit."""
    path = f"/v1/apps/assistant/sessions/{target.session}/turns"
    for depth in (40, 60, 100_000):
        nested = b'{"message": "x", "metadata": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        await target.ask("POST", path, nested, expect=_SERVED if depth < 100 else _REFUSED)


async def wide_json(target: Target) -> None:
    """Send metadata and state of the largest allowed size, and larger."""
    session = f"/v1/apps/assistant/sessions/{target.session}"
    wide = {f"key-{number}": "value" * 4 for number in range(20_000)}
    turn = as_json({"message": "hello", "metadata": wide})
    await target.ask("POST", f"{session}/turns", turn, expect=_SERVED)
    await target.ask("PATCH", f"{session}/state", as_json(wide), expect=_SERVED)
    removed = as_json(dict.fromkeys(wide))
    await target.ask("PATCH", f"{session}/state", removed, expect=_SERVED)


async def costly_resume(target: Target) -> None:
    """Send documents that are small but costly to compare: nested lists, and many entries."""
    nested: object = 1
    for _ in range(18):
        nested = [nested, nested] if isinstance(nested, int) else [nested]
    entries = [{"name": f"company {number}"} for number in range(3000)]
    for document in (
        {"basics": {"name": "A"}, "extra": nested},
        {"work": entries, "workExperience": entries},
    ):
        body = {"message": "hello", "resume_data": document, "replace_resume": True}
        await target.ask("POST", "/api/agent/cv-tools", as_json(body), expect=_SERVED)


async def long_head(target: Target) -> None:
    """Send paths and headers that are too long."""
    await target.ask("GET", f"/v1/apps/{'a' * 20_000}/sessions", expect=_REFUSED)
    await target.ask("GET", f"/v1/apps/{'a' * 60_000}/sessions", expect=(*_REFUSED, 0))
    headers = {f"X-Header-{number}": "x" * 200 for number in range(300)}
    await target.ask("GET", "/livez", headers=headers, expect=(*_REFUSED, 0))
