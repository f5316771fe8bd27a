"""A relay in front of a server: it counts what goes through, and can lose an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Relay:
    """What has gone through, and what shall be lost."""

    port: int = 0
    bytes_passed: int = 0
    lose_answer_to: bytes | None = None
    """The next request with these bytes is passed on; then its connection is cut."""
    lost: int = 0

    async def carry(
        self,
        server: tuple[str, int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Serve one connection to its end."""
        upstream_reader, upstream_writer = await asyncio.open_connection(*server)
        try:
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._requests(reader, upstream_writer, writer))
                directions.create_task(self._answers(upstream_reader, writer))
        except* OSError:
            pass
        finally:
            writer.close()
            upstream_writer.close()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(65536):
            self.bytes_passed += len(data)
            if self.lose_answer_to and self.lose_answer_to in data:
                self.lose_answer_to = None
                self.lost += 1
                client.close()
            upstream.write(data)
            await upstream.drain()
        upstream.write_eof()

    async def _answers(self, upstream: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while data := await upstream.read(65536):
            self.bytes_passed += len(data)
            if not client.is_closing():
                client.write(data)
                await client.drain()
        client.close()


@asynccontextmanager
async def open_relay(host: str, port: int) -> AsyncIterator[Relay]:
    """A relay to a server; it listens on `relay.port`."""
    relay = Relay()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await relay.carry((host, port), reader, writer)

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
