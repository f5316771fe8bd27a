"""ADK's application, which is imported and opened by the first request that is for it."""

import asyncio
import os
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from fastapi import FastAPI

from oda.context import OdaContext

SEGMENTS = frozenset(
    {"agent-identity", "apps", "list-apps", "run", "run_live", "run_sse", "version"}
)
"""First segments of the paths that ADK's application serves and ours does not."""
DEV_SEGMENTS = frozenset({"config", "dev", "dev-ui"})
"""Those that its dev UI adds."""

_EXPORTERS = "OTEL_EXPORTER_OTLP_"
"""How the variables begin for which ADK's application sets up OpenTelemetry's exporters."""


def first_segment(path: str) -> str:
    return path.lstrip("/").split("/", 1)[0]


class AdkOnDemand:
    """ADK's application over a context, as an async context manager that closes what was opened.

    Its import takes half a second and 20 MB, and it records the spans of every turn.
    """

    def __init__(self, oda: OdaContext, *, dev_ui: bool) -> None:
        self._oda = oda
        self._dev_ui = dev_ui
        self._segments = SEGMENTS | DEV_SEGMENTS if dev_ui else SEGMENTS
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._app: FastAPI | None = None

    def serves(self, path: str) -> bool:
        return first_segment(path) in self._segments

    async def app(self) -> FastAPI:
        """Return the application, opened."""
        async with self._opening:
            if self._app is None:
                await asyncio.to_thread(_import, dev_ui=self._dev_ui)
                from oda.server.adk.application import open_adk_app

                opened = open_adk_app(self._oda, dev_ui=self._dev_ui)
                self._app = await self._stack.enter_async_context(opened)
            return self._app

    async def __aenter__(self) -> Self:
        if any(name.startswith(_EXPORTERS) for name in os.environ):
            await self.app()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()


def _import(*, dev_ui: bool) -> None:
    """Import ADK's application in the calling thread."""

    if dev_ui:
        import google.adk.cli.dev_server  # noqa: F401
