"""A relay in front of a server: it counts, loses answers, falls silent, leads to another server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Relay:
    """Carries connections to a server, counts bytes, and loses what it is told to lose."""

    server: tuple[str, int]
    """Host and port that new connections lead to."""
    port: int = 0
    bytes_passed: int = 0
    lose_answer_to: bytes | None = None
    """The next request with these bytes is passed on; then its connection is cut."""
    lost: int = 0
    silent_after: bytes | None = None
    """The next request with these bytes is passed on; then the relay falls silent."""
    silent_before: bytes | None = None
    """The next request with these bytes is not passed on any more: the relay falls silent."""
    fell_silent: asyncio.Event = field(default_factory=asyncio.Event)
    _silence: int = 0
    _speaks: asyncio.Event = field(default_factory=asyncio.Event)
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._speaks.set()

    def fall_silent(self) -> None:
        """Take connections and requests, and answer none; what is under way then is lost."""
        self._silence += 1
        self._speaks.clear()
        self.fell_silent.set()

    def speak(self) -> None:
        """Serve again, on new connections; those of before stay silent for ever."""
        self.fell_silent.clear()
        self._speaks.set()

    def cut(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.cancel()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection until it ends or is cut."""
        carrying = asyncio.create_task(self._carry(reader, writer))
        self._connections.add(carrying)
        carrying.add_done_callback(self._connections.discard)
        await asyncio.wait({carrying})

    async def close(self) -> None:
        """Close all connections, and wait for their ends."""
        self.cut()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        upstream_writer = None
        try:
            await self._speaks.wait()
            upstream_reader, upstream_writer = await asyncio.open_connection(*self.server)
            era = self._silence
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._requests(reader, upstream_writer, writer, era))
                directions.create_task(self._answers(upstream_reader, writer, era))
        except* OSError:
            pass
        finally:
            writer.close()
            if upstream_writer is not None:
                upstream_writer.close()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        era: int,
    ) -> None:
        while data := await reader.read(65536):
            if self.silent_before and self.silent_before in data:
                self.silent_before = None
                self.fall_silent()
            if era != self._silence:
                await asyncio.Event().wait()
            if self.silent_after and self.silent_after in data:
                self.silent_after = None
                self.fall_silent()
            self.bytes_passed += len(data)
            if self.lose_answer_to and self.lose_answer_to in data:
                self.lose_answer_to = None
                self.lost += 1
                client.close()
            upstream.write(data)
            await upstream.drain()
        upstream.write_eof()

    async def _answers(
        self, upstream: asyncio.StreamReader, client: asyncio.StreamWriter, era: int
    ) -> None:
        while data := await upstream.read(65536):
            if era != self._silence:
                await asyncio.Event().wait()
            self.bytes_passed += len(data)
            if not client.is_closing():
                client.write(data)
                await client.drain()
        client.close()


@asynccontextmanager
async def open_relay(host: str, port: int) -> AsyncIterator[Relay]:
    """A relay to a server; it listens on `relay.port`."""
    relay = Relay((host, port))
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        await relay.close()
