"""The model server: takes model calls of three protocols and plays a script to them."""

import asyncio
import itertools
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from oda.testing.playback import Playback
from oda.testing.script import Error, Script, Step

from .answering import reply_to
from .anthropic import AnthropicWire
from .conversation import JsonObject, ModelCall, RecordedRequest
from .exchange import Exchange, whole
from .gemini import PATH as GEMINI_PATH
from .gemini import GeminiWire
from .http_server import HttpRequest, HttpServer, Reply
from .openai import OpenAIWire
from .transcription import FORM, TranscriptionWire, form_of
from .wire import Wire, cue_of

_OPENAI, _GEMINI, _ANTHROPIC = OpenAIWire(), GeminiWire(), AnthropicWire()
_TRANSCRIPTION = TranscriptionWire()
_RECORDS = TypeAdapter(tuple[RecordedRequest, ...])


class ModelServer:
    """An HTTP server that answers like OpenAI (writing, and to recordings), Gemini and Anthropic,
    by a script.

    It listens while it is entered::

        async with ModelServer([Error(status=429, retry_after=1), Text(text="Hello")]) as server:
            await litellm.acompletion(model="openai/any", api_base=server.openai_base, ...)
        assert [request.model for request in server.requests] == ["any", "any"]

    Other processes steer it over HTTP: `GET /__requests` and `/__stats`, `POST /__script` with the
    JSON of a `Script`, `POST /__reset`.
    """

    def __init__(
        self,
        script: Script | Sequence[Step] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        keep_requests: int | None = None,
    ) -> None:
        """
        Args:
            script: What to answer.
            port: 0 lets the system choose.
            keep_requests: How many of the latest requests to record; None: all.
        """
        self._host = host
        self._port = port
        self._requests: deque[RecordedRequest] = deque(maxlen=keep_requests)
        self._received = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._http = HttpServer(self._handle, on_change=self._wake)
        run = uuid.uuid4().hex[:8]
        self._ids = (f"{run}_{number}" for number in itertools.count())
        self.play(script)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Listen; after `close` at the same address again."""
        self._port = await self._http.open(self._host, self._port)

    async def close(self) -> None:
        """Abort calls that are being answered; new connections are refused from now on."""
        await self._http.close()

    @property
    def url(self) -> str:
        """The address without path; base of Gemini and Anthropic clients."""
        return f"http://{self._host}:{self._port}"

    @property
    def openai_base(self) -> str:
        """The base address of OpenAI clients."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """The model calls received, oldest first."""
        return tuple(self._requests)

    @property
    def received(self) -> int:
        """How many model calls came in since the start or the last reset."""
        return self._received

    @property
    def connections(self) -> int:
        """Number of connections accepted so far."""
        return self._http.accepted

    @property
    def open_connections(self) -> int:
        """How many connections clients keep open now."""
        return self._http.open_connections

    @property
    def in_flight(self) -> int:
        """Calls that are being answered now."""
        return self._http.in_flight

    @property
    def abandoned(self) -> int:
        """Calls whose client left before the answer was complete."""
        return self._http.abandoned

    @property
    def remaining(self) -> tuple[Step, ...]:
        """Steps that no call has taken yet; without those that answer for ever."""
        return self._playback.remaining

    def play(self, script: Script | Sequence[Step]) -> None:
        """Replace the script."""
        self._script = script if isinstance(script, Script) else Script(steps=tuple(script))
        self._playback: Playback[Step] = Playback(self._script.steps, default=self._script.default)

    def add(self, *steps: Step) -> None:
        """Append steps to the script that is being played."""
        self._playback.add(*steps)

    def reset(self) -> None:
        """Forget the requests and start the script again from its beginning."""
        self._requests.clear()
        self._received = 0
        self._http.abandoned = 0
        self.play(self._script)

    async def wait_until(
        self, condition: Callable[["ModelServer"], bool], *, timeout_s: float = 5.0
    ) -> None:
        """Wait until `condition(server)` holds.

        It is looked at whenever a call begins or ends, and when a connection ends.

        Raises:
            TimeoutError: It did not come true in time.
        """
        async with asyncio.timeout(timeout_s):
            while not condition(self):
                change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(change)
                await change

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def _handle(self, request: HttpRequest) -> Reply:
        wire = _wire_for(request.path)
        if wire is None or request.method != "POST":
            return self._control(request)
        try:
            body = _body(request)
            call = wire.read(request.path, body)
            cue = cue_of(wire, call)
            self._record(request, wire, call, body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"not a request of {wire.name}: {error!r}"
            return _refuse(wire.error_body(Error(status=400, message=message)), 400)
        exchange = Exchange(
            wire=wire,
            call=call,
            cue=cue,
            size=len(request.body),
            new_id=lambda word: f"{word}_{next(self._ids)}",
        )
        return reply_to(exchange, self._playback.take(cue))

    def _record(self, request: HttpRequest, wire: Wire, call: ModelCall, body: JsonObject) -> None:
        self._received += 1
        if self._requests.maxlen == 0:
            return
        self._requests.append(
            RecordedRequest(
                protocol=wire.name,
                model=call.model,
                path=request.path,
                stream=call.stream,
                system=call.system,
                messages=tuple(map(wire.message, call.raw_messages)),
                tools=call.tools,
                headers=request.headers,
                body=body,
                received_at=request.received_at,
            )
        )

    def _control(self, request: HttpRequest) -> Reply:
        match request.method, request.path:
            case "GET", "/__requests":
                return whole(_RECORDS.dump_json(self.requests), delay_s=0)
            case "GET", "/__stats":
                return whole(to_json(self._stats()), delay_s=0)
            case "POST", "/__script":
                try:
                    self.play(Script.model_validate_json(request.body))
                except ValidationError as error:
                    return _refuse({"error": str(error)}, 400)
                return whole(b"{}", delay_s=0)
            case "POST", "/__reset":
                self.reset()
                return whole(b"{}", delay_s=0)
            case _:
                return _refuse({"error": f"no {request.method} {request.path} here"}, 404)

    def _stats(self) -> JsonObject:
        return {
            "received": self.received,
            "in_flight": self.in_flight,
            "abandoned": self.abandoned,
            "remaining": len(self.remaining),
        }


def _body(request: HttpRequest) -> JsonObject:
    kind = request.headers.get("content-type", "")
    if kind.startswith(FORM):
        return form_of(kind, request.body)
    body: JsonObject = from_json(request.body)
    return body


def _wire_for(path: str) -> Wire | None:
    if path.endswith("/chat/completions"):
        return _OPENAI
    if path.endswith("/audio/transcriptions"):
        return _TRANSCRIPTION
    if path.endswith("/messages"):
        return _ANTHROPIC
    return _GEMINI if GEMINI_PATH.search(path) else None


def _refuse(body: JsonObject, status: int) -> Reply:
    data = to_json(body)
    return Reply(status=status, pieces=(data,), length=len(data))
