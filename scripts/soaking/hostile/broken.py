"""Malformed requests and interrupted answers."""

import zlib

from scripts.soaking.hostile.silent import upgrade
from scripts.soaking.hostile.target import Finding, Target, as_json, connected, status_of

_REFUSED = (*range(400, 500),)
_IMPORT = "/api/agent/cv-tools/import"
_READABLE = (201, *_REFUSED)
_WITHOUT_READERS = (501, 503)
_FRAMES = {
    "an unmasked frame": b"\x81\x05hello",
    "a reserved opcode": b"\x83\x80\0\0\0\0",
    "reserved bits": b"\xf1\x80\0\0\0\0",
    "a frame of 2**63 bytes": b"\x81\xff" + b"\x7f" + b"\xff" * 7 + b"\0\0\0\0",
    "bytes that are no UTF-8": b"\x81\x82\0\0\0\0\xff\xfe",
    "a long ping": b"\x89\xfe\x01\x00\0\0\0\0" + bytes(256),
}


async def half_a_request(target: Target) -> None:
    """Send requests that end in the middle."""
    path = f"/v1/apps/assistant/sessions/{target.session}/turns"
    whole = target.request("POST", path, as_json({"message": "hello"}))
    for share in (0.1, 0.5, 0.9):
        async with connected(target) as wire:
            await wire.send(whole[: int(len(whole) * share)])


async def torn_answer(target: Target) -> None:
    """Disconnect in the middle of a stream; the turn must continue."""
    path = f"/v1/apps/assistant/sessions/{target.session}/turns"
    body = as_json({"message": "tear this"})
    async with connected(target) as wire:
        await wire.send(target.request("POST", path, body, {"Accept": "text/event-stream"}))
        await wire.read(60.0, most=200)


async def no_http(target: Target) -> None:
    """Send the beginning of a TLS handshake, garbage, and a request with two content lengths."""
    for nonsense in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 64 + b"\r\n\r\n"):
        async with connected(target) as wire:
            await wire.send(nonsense)
            await wire.ends_within(target.patience.head_s)
    headers = {"Transfer-Encoding": "chunked", "Content-Length": "3"}
    smuggled = target.request(
        "POST", "/v1/apps/cv/sessions", b"0\r\n\r\nGET /livez HTTP/1.1", headers
    )
    async with connected(target) as wire:
        await wire.send(smuggled)
        if (status := status_of(await wire.read(60.0) or b"")) not in (0, *_REFUSED):
            raise Finding(f"two lengths are answered by {status}")


async def no_json(target: Target) -> None:
    """Send bodies that are not JSON, or not text."""
    path = f"/v1/apps/assistant/sessions/{target.session}/turns"
    for body in (b'{"message": "\xff\xfe"}', b'{"message": "x', b'{"message": NaN}', b"[" * 50_000):
        await target.ask("POST", path, body, expect=(400, 422, 429))


async def broken_frames(target: Target) -> None:
    """Send WebSocket frames that clients must not send; the server must hang up."""
    for name, frame in _FRAMES.items():
        async with connected(target) as wire:
            await upgrade(target, wire)
            await wire.send(frame)
            heard = await wire.read(60.0)
            while heard and not heard.startswith(b"\x88"):
                heard = await wire.read(60.0)
            if heard is None:
                raise Finding(f"{name} leaves the WebSocket open")


async def torn_form(target: Target) -> None:
    """Send a form that ends in the middle of its file."""
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7'
    await target.ask("POST", _IMPORT, begin, headers, expect=_REFUSED)


async def hostile_files(target: Target) -> None:
    """Upload PDFs with endless nesting, a huge claimed size, or huge decompressed content."""
    headers = {"Content-Type": "application/pdf"}
    packed = zlib.compress(b"0 0 m " * 5_000_000, 9)
    stream = b"<< /Length %d /Filter /FlateDecode >> stream\n%s\nendstream"
    for content in (
        b"1 0 obj " + b"[" * 50_000 + b" endobj",
        b"1 0 obj << /Length 99999999999 >> stream\nx\nendstream endobj",
        b"1 0 obj << /Type /Catalog /Pages 1 0 R /Kids [1 0 R] >> endobj",
        b"1 0 obj " + stream % (len(packed), packed) + b" endobj",
    ):
        pdf = b"%PDF-1.7\n" + content + b"\ntrailer << /Root 1 0 R >>\n%%EOF\n"
        expect = (*_READABLE, *_WITHOUT_READERS)
        await target.ask("POST", _IMPORT, pdf, headers, expect=expect)
