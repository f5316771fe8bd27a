"""A client that gives up on nothing: it comes back until it knows the end of its message."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal

import httpx

from oda.cli.chaos.promises import Frame, SentMessage, SessionName, View

Form = Literal["stream", "plain", "async"]
FORMS: tuple[Form, ...] = ("stream", "plain", "async")

KNOWS_WITHIN_S = 400.0
"""The longest that a message may take, all deaths of the server included."""
_PAUSE_S = 0.02
_LATER = frozenset({429, 500, 502, 503, 504})

_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)

OnFrame = Callable[[Frame], Awaitable[None]]


class PatientClient:
    """Says one thing after the other to one session.

    Args:
        addresses: Of the nodes; it turns to the next one whenever a connection fails.
        name: Of this client, for its keys.
        app, user_id, session_id: The session.
    """

    def __init__(
        self, addresses: Sequence[str], name: str, app: str, user_id: str, session_id: str
    ) -> None:
        self.name = name
        self.sent: list[SentMessage] = []
        self._http = httpx.AsyncClient(timeout=30, limits=_LIMITS, trust_env=False)
        self._addresses = list(addresses)
        self._app = app
        self._user_id = user_id
        self._session_id = session_id
        self._headers = {"X-Oda-User": user_id}

    @property
    def _address(self) -> str:
        return self._addresses[0]

    @property
    def session(self) -> SessionName:
        return self._user_id, self._session_id

    async def close(self) -> None:
        await self._http.aclose()

    async def open_session(self) -> None:
        """Make the session, unless it is there."""

        async def create() -> bool:
            response = await self._http.post(
                f"{self._address}/v1/apps/{self._app}/sessions",
                json={"session_id": self._session_id},
                headers=self._headers,
            )
            return response.status_code in (201, 409)

        await self._until(create)

    async def send(
        self, message: str, *, form: Form, on_frame: OnFrame | None = None
    ) -> SentMessage:
        """Send a message, and return when its end is known or it has been refused for good.

        Args:
            message: Of no other turn of the test.
            form: How the answer is asked for at first.
            on_frame: Awaited after each frame that has been read; an `httpx.ReadError` from it is
                as one from the connection.

        Raises:
            TimeoutError: the end is not known in time; the sent is kept all the same.
        """
        sent = SentMessage(
            user_id=self._user_id,
            session_id=self._session_id,
            client=self.name,
            text=message,
            key=f"{self.name}-{len(self.sent)}",
        )
        self.sent.append(sent)
        await self.finish(sent, form=form, on_frame=on_frame)
        return sent

    async def finish(
        self, sent: SentMessage, *, form: Form, on_frame: OnFrame | None = None
    ) -> None:
        """Go on with a message, sent before or not, until its end is known; otherwise as `say`."""

        async def go_on() -> bool:
            if sent.turn_ids and form != "plain":
                await self._follow(sent, on_frame)
            else:
                await self._post(sent, form, on_frame)
            return sent.ended or sent.refused is not None

        await self._until(go_on)

    async def follow(
        self, sent: SentMessage, *, after: int, on_frame: OnFrame | None = None
    ) -> View:
        """Read a turn's stream once more, from any position, until it or the connection ends."""
        view = View(after)
        sent.views.append(view)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after), **self._headers}
        async with self._http.stream(
            "GET", f"{self._address}/v1/turns/{sent.turn_ids[0]}/events", headers=headers
        ) as response:
            if response.status_code == 200:
                await _read(response, view, on_frame)
            elif response.status_code not in (204, *_LATER):
                sent.refused = response.status_code
        return view

    async def _follow(self, sent: SentMessage, on_frame: OnFrame | None) -> None:
        await self.follow(sent, after=_position(sent), on_frame=on_frame)

    async def _post(self, sent: SentMessage, form: Form, on_frame: OnFrame | None) -> None:
        headers = {"Idempotency-Key": sent.key, **self._headers}
        if form == "stream":
            headers["Accept"] = "text/event-stream"
        if form == "async":
            headers["Prefer"] = "respond-async"
        async with self._http.stream(
            "POST",
            f"{self._address}/v1/apps/{self._app}/sessions/{sent.session_id}/turns",
            json={"message": sent.text},
            headers=headers,
        ) as response:
            if response.is_success:
                await self._take(response, sent, form, on_frame)
            elif response.status_code not in _LATER:
                sent.refused = response.status_code

    async def _take(
        self, response: httpx.Response, sent: SentMessage, form: Form, on_frame: OnFrame | None
    ) -> None:
        if form == "stream":
            sent.turn_ids.append(response.headers["Location"].rpartition("/")[2])
            sent.views.append(View(after=0))
            await _read(response, sent.views[-1], on_frame)
            return
        body = json.loads(await response.aread())
        if form == "async":
            sent.turn_ids.append(body["turn_id"])
        else:
            sent.turn_ids.append(body["turn"]["turn_id"])
            sent.result = body

    async def _until(self, tried: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(KNOWS_WITHIN_S):
            while True:
                try:
                    if await tried():
                        return
                except httpx.TransportError:
                    self._addresses.append(self._addresses.pop(0))
                await asyncio.sleep(_PAUSE_S)


def _position(sent: SentMessage) -> int:
    """Number of the last frame that has been seen."""
    return max((frame.number for frame in sent.frames), default=0)


async def _read(response: httpx.Response, view: View, on_frame: OnFrame | None) -> None:
    async for frame in frames_of(response):
        view.frames.append(frame)
        if on_frame is not None:
            await on_frame(frame)


async def frames_of(response: httpx.Response) -> AsyncIterator[Frame]:
    """Yield the numbered frames of a stream; previews and one that is cut off do not count."""
    fields: dict[str, Any] = {}
    async for line in response.aiter_lines():
        if not line:
            if "data" in fields and "id" in fields:
                yield Frame(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
