"""The door for desktop shells: requests and events as JSON lines.

`agents/<app>/sidecar.py` has a function `actions()` that gives the app's actions by their names;
each takes a request and the conversations of the user, and yields events. A request is
`{"id": …, "action": …, …}`; each line of an answer is `{"id": …, "event": …, …}`:

    accepted    with `turn_id`: from here on `cancel` ends the turn
    …           whatever the action tells on the way
    result      the action has ended well, or
    cancelled   it was cancelled, or
    error       {"code", "message", "remedy"}: it has failed, or was refused

`{"id": 2, "action": "cancel", "target": 1}` cancels the request 1; without a target, its own id.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from oda.agent.failure import classify
from oda.errors import ConflictError, InvalidRequestError, MalformedError, OdaError, OverloadedError
from oda.message.storable import storable
from oda.server.conversations import AppConversations
from oda.telemetry import get_logger

log = get_logger(__name__)

Told = dict[str, Any]
"""An event: its name under `event`, and what belongs to it."""

Action = Callable[[Told, AppConversations], AsyncGenerator[Told, None]]
"""Answers a request, which it gets without id and action."""

Emit = Callable[[Told], Awaitable[None]]

CANCEL = "cancel"
_AT_ONCE = 16

RequestId = Annotated[str, Field(max_length=128)] | int


class _Request(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    id: RequestId
    action: Annotated[str, Field(max_length=64)]


class _Cancel(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    target: RequestId | None = None


class Sidecar:
    """Answers lines, several at a time; whatever a line is, it gets an answer and harms no other.

    Args:
        actions: By their names.
        emit: Writes one event; waits as long as its reader is slow.
    """

    def __init__(
        self, actions: Mapping[str, Action], conversations: AppConversations, emit: Emit
    ) -> None:
        self._actions = actions
        self._conversations = conversations
        self._emit = emit
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._turns: dict[RequestId, str] = {}
        """Turn ids by the accepted requests."""
        self._to_cancel: set[RequestId] = set()

    async def take(self, line: bytes) -> None:
        """Begin to answer a line, or say what is wrong with it."""
        request_id: RequestId | None = None
        try:
            decoded = _decoded(line)
            request_id = _id_of(decoded)
            request = _checked(_Request, decoded)
            await self._begin(request)
        except OdaError as error:
            await self._emit(_error(request_id, error))

    async def drain(self, within_s: float) -> None:
        """Wait for running answers; give up those that take longer, while their turns continue."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=within_s)
        for task in (left := [*self._running.values()]):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    # --- inside

    async def _begin(self, request: _Request) -> None:
        if request.action == CANCEL:
            target = _checked(_Cancel, request.model_extra or {}).target
            await self._cancel(request.id if target is None else target, asked_by=request.id)
            return
        if request.id in self._running:
            raise ConflictError(
                f"The request {request.id!r} is being answered.", remedy="use an id of its own"
            )
        if len(self._running) >= _AT_ONCE:
            raise OverloadedError(
                f"{_AT_ONCE} requests are being answered.",
                retry_after_s=1.0,
                remedy="wait until one has ended",
            )
        if request.action not in self._actions:
            known = ", ".join(sorted([*self._actions, CANCEL]))
            raise InvalidRequestError(
                f"There is no action {request.action[:64]!r}.", remedy=f"there are: {known}"
            )
        answer = self._answer(request.id, self._actions[request.action], request.model_extra or {})
        self._running[request.id] = asyncio.create_task(answer)

    async def _cancel(self, target: RequestId, *, asked_by: RequestId) -> None:
        if target not in self._running:
            raise ConflictError(
                f"No request {target!r} is being answered.", remedy="it may have ended already"
            )
        self._to_cancel.add(target)
        if asked_by != target:
            await self._emit({"id": asked_by, "event": "result", "cancelling": target})
        await self._cancel_turn(target)

    async def _cancel_turn(self, request_id: RequestId) -> None:
        if (turn_id := self._turns.get(request_id)) is not None:
            await self._conversations.cancel(await self._conversations.turn(turn_id))

    async def _answer(self, request_id: RequestId, action: Action, asked: Told) -> None:
        try:
            async with aclosing(action(asked, self._conversations)) as events:
                async for told in events:
                    await self._emit({"id": request_id, **storable(told)})
                    if told["event"] == "accepted":
                        self._turns[request_id] = told["turn_id"]
                        if request_id in self._to_cancel:
                            await self._cancel_turn(request_id)
        except OdaError as error:
            await self._emit(_error(request_id, error))
        except Exception as error:
            log.error("sidecar_action_failed", exc_info=error)
            failure = classify(error, now=0.0)
            await self._emit(
                {"id": request_id, "event": "error", "code": failure.code}
                | {"message": "The request has failed; the log says why.", "remedy": None}
            )
        finally:
            del self._running[request_id]
            self._turns.pop(request_id, None)
            self._to_cancel.discard(request_id)


def _decoded(line: bytes) -> dict[str, JsonValue]:
    try:
        decoded = storable(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise MalformedError("The line is no JSON.", remedy="send one object a line") from error
    if not isinstance(decoded, dict):
        raise MalformedError("The line is no JSON object.", remedy="send one object a line")
    return decoded


def _id_of(decoded: Mapping[str, JsonValue]) -> RequestId | None:
    """The id of a request that is perhaps wrong in other ways."""
    found = decoded.get("id")
    return found if isinstance(found, str | int) and len(str(found)) <= 128 else None


def _checked(kind: type[Any], decoded: Mapping[str, JsonValue]) -> Any:
    try:
        return kind.model_validate(decoded)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidRequestError(
            f"{first['loc'][0]}: {first['msg']}", remedy='send {"id": …, "action": …, …}'
        ) from error


def _error(request_id: RequestId | None, error: OdaError) -> Told:
    told: Told = {"id": request_id, "event": "error", "code": error.code}
    return told | {"message": error.message, "remedy": error.remedy}
