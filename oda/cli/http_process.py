"""uvicorn as `oda` uses it: errors are raised, signals end it well, changes start it again."""

import asyncio
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors.basereload import BaseReload

from oda.cli.heap import TRIMMED_EVERY_S, trim
from oda.server.http_protocol import BoundedHttp
from oda.server.websocket_protocol import PING_INTERVAL_S, PING_TIMEOUT_S, BoundedClose
from oda.settings import LimitSettings

GRACE_S = 10
"""How long requests may go on after the signal to stop."""

_OTHER_FILES = 512
"""Files, database connections and processes that are open in addition to client connections."""

_SOURCES = frozenset({".py", ".yaml", ".yml", ".json", ".toml", ".md", ".txt", ".j2", ".env"})


def run_server(
    app: FastAPI, listener: socket.socket, limits: LimitSettings, *, on_ready: Callable[[], None]
) -> None:
    """Serve on a bound socket until SIGINT or SIGTERM, then let requests finish.

    Raises: what the application's lifespan raises.
    """
    _allow_files(limits.connections)
    config = _config(
        app,
        http=partial(BoundedHttp, limits=limits),
        ws=BoundedClose,
        ws_max_size=limits.socket_message_bytes,
        ws_ping_interval=PING_INTERVAL_S,
        ws_ping_timeout=PING_TIMEOUT_S,
        ws_per_message_deflate=False,
    )
    config.load()
    config.lifespan_class = _Lifespan
    _Server(config, on_ready).run(sockets=[listener])


def _allow_files(connections: int) -> None:
    """Raise the process's limit of open files, as far as permitted, to fit the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def reload_on_change(
    target: Callable[[list[socket.socket]], None],
    listener: socket.socket,
    folders: Sequence[Path],
) -> None:
    """Run `target` in a process of its own, and again whenever a file changes, until a signal."""
    _Reloader(_config("", reload=True), target, [listener], folders).run()


def _config(app: Any, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        interface="asgi3",
        access_log=False,
        proxy_headers=False,  # `ODA_TRUSTED_PROXIES` says whose are believed
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        callback_notify=trim,
        timeout_notify=TRIMMED_EVERY_S,
        **options,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._drains = False
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first SIGTERM, else stop.

        As uvicorn's, but a signal that has been obeyed does not kill the process afterwards.
        """
        if sig == signal.SIGTERM and not self._drains and self.started:
            self._drains = True
        else:
            self.force_exit = self.should_exit and sig == signal.SIGINT
            self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        if self._drains and self._draining is None:
            self._draining = asyncio.create_task(self._drain())
        return await super().on_tick(counter)

    async def _drain(self) -> None:
        """Answer on while turns come to their end or are left to others, and stop then."""
        app: Any = self.config.app
        try:
            await app.state.oda.turns.close()
        finally:
            self.should_exit = True


class _Lifespan:
    """Runs the application's lifespan in the server's own task, so that its errors are raised."""

    should_exit = False

    def __init__(self, config: uvicorn.Config) -> None:
        app: Any = config.app
        self._lifespan = app.router.lifespan_context(app)
        self.state: dict[str, Any] = {}

    async def startup(self) -> None:
        self.state.update(await self._lifespan.__aenter__() or {})

    async def shutdown(self) -> None:
        await self._lifespan.__aexit__(None, None, None)


class _Reloader(BaseReload):
    """Starts the server process again when a file of the folders changes."""

    def __init__(
        self,
        config: uvicorn.Config,
        target: Callable[..., None],
        sockets: list[socket.socket],
        folders: Sequence[Path],
    ) -> None:
        super().__init__(config, target, sockets)
        self.reloader_name = "oda"
        self._folders = folders
        self._seen = dict(_stamps(folders))

    def should_restart(self) -> list[Path] | None:
        self.pause()
        now = dict(_stamps(self._folders))
        changed = sorted({path for path, _ in now.items() ^ self._seen.items()})
        self._seen = now
        return changed or None


def _stamps(folders: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    for folder in folders:
        for directory, subdirectories, files in os.walk(folder):
            subdirectories[:] = [name for name in subdirectories if name[0] not in "._"]
            for path in (Path(directory, name) for name in files):
                if (path.suffix or path.name) in _SOURCES:
                    with suppress(FileNotFoundError):
                        yield path, path.stat().st_mtime_ns
