"""Turns that other systems begin: a signed request, and a message from a template."""

import hashlib
import json
import os
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from google.genai.types import Content, Part

from oda.config import TriggerRecord, resolve_secrets
from oda.context import OdaContext
from oda.errors import (
    InvalidRequestError,
    MalformedError,
    NotConfiguredError,
    NotFoundError,
    OverloadedError,
    UnauthenticatedError,
)
from oda.message.storable import storable
from oda.server.access import Context
from oda.server.audit import audit_log_of
from oda.server.auth import count_wrong_signature
from oda.server.idempotency import headers_of
from oda.server.problems import Refusal
from oda.server.trace import trace_id_of
from oda.server.v1.paths import AppName
from oda.turn.admission import Accepted
from oda.turn.submission import IdempotencyKey, Submission
from oda.webhooks.signature import SignatureError, signing_key, verify
from oda.webhooks.template import NotFilledError, fill

router = APIRouter(prefix="/v1", include_in_schema=False)  # no document can sign a request

_ROUTE = "/apps/{app}/triggers/{name}"


@router.post(_ROUTE)
async def pull_trigger(
    app: AppName, name: Annotated[str, Path(max_length=128)], oda: Context, request: Request
) -> Response:
    """Begin the turn that a trigger stands for; the same `webhook-id` again is the same turn."""
    trigger = oda.configuration.current().triggers.get(name)
    if trigger is None or trigger.app != app:
        raise NotFoundError(f"There is no trigger {name!r} of {app!r}.")
    body = await request.body()
    message_id = await _verified(oda, name, trigger, request, body)
    accepted = await _begin(oda, name, trigger, message_id, body, _json_of(request, body))
    turn = accepted.turn
    audit_log_of(request.scope).record(
        actor=f"trigger {name}",
        user_id=turn.user_id,
        key_id=None,
        action=f"POST /v1{_ROUTE}",
        target=request.url.path,
        status=202,
        trace_id=trace_id_of(request.scope),
        detail={"turn_id": turn.turn_id},
    )
    return JSONResponse(turn.model_dump(mode="json"), status_code=202, headers=headers_of(accepted))


async def _verified(
    oda: OdaContext, name: str, trigger: TriggerRecord, request: Request, body: bytes
) -> str:
    """Return the id of a signed request.

    Raises:
        UnauthenticatedError: it is not signed with the trigger's secret.
        OverloadedError: too many requests from its address were not.
        NotConfiguredError: the trigger has no secret.
    """
    try:
        return verify(
            _secret_of(oda, name, trigger), request.headers, body, request.app.state.clock.now()
        )
    except SignatureError as error:
        if wait_s := await count_wrong_signature(request.scope):
            raise OverloadedError(
                "Too many requests from this address were not signed.", retry_after_s=wait_s
            ) from error
        raise UnauthenticatedError(
            str(error), remedy="sign the request as Standard Webhooks says"
        ) from error


def _secret_of(oda: OdaContext, name: str, trigger: TriggerRecord) -> str:
    if trigger.secret is not None:
        secret = resolve_secrets(trigger.secret, os.environ, where=f"triggers.{name}.secret")
        try:
            return signing_key(secret).get_secret_value()
        except ValueError as error:
            raise NotConfiguredError(f"The secret of the trigger {name!r} is none.") from error
    if oda.settings.webhooks.secret is None:
        raise NotConfiguredError(f"The trigger {name!r} has no secret.")
    return oda.settings.webhooks.secret.get_secret_value()


def _json_of(request: Request, body: bytes) -> Any:
    """Return the JSON of a request; an empty object if it has no body."""
    if not body:
        return {}
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if not kind.endswith("json"):
        raise Refusal(415, "Send the body as application/json.")
    try:
        return json.loads(body)
    except ValueError as error:
        raise MalformedError("The body is not valid JSON.") from error


async def _begin(
    oda: OdaContext, name: str, trigger: TriggerRecord, message_id: str, body: bytes, values: Any
) -> Accepted:
    identity = hashlib.sha256(f"{trigger.app}\n{name}\n{message_id}".encode()).hexdigest()
    try:
        text = fill(trigger.message, values)
        session_id = fill(trigger.session, values) if trigger.session else identity[:32]
    except NotFilledError as error:
        raise InvalidRequestError(f"The body lacks what the trigger needs: {error}.") from error
    if not text.strip():
        raise InvalidRequestError("The message of the trigger is empty.")
    if len(text.encode(errors="surrogatepass")) > oda.settings.limits.small_body_bytes:
        raise Refusal(413, "The message of the trigger is too large.")
    session = await oda.sessions.get_or_create(trigger.app, trigger.user, session_id)
    submission = Submission(
        message=Content(role="user", parts=[Part(text=storable(text))]),
        agent=trigger.agent,
        on_busy=trigger.on_busy,
        metadata={"trigger": name},
        key=IdempotencyKey(identity, f"trigger {name}", hashlib.sha256(body).hexdigest()),
    )
    return await oda.turns.submit(session, submission)
