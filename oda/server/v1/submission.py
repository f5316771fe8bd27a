"""From the body of a turn to what the engine takes."""

from typing import Any

from oda.agent.limits import Limits, TurnLimits
from oda.context import OdaContext
from oda.errors import InvalidRequestError
from oda.message.content import parse_content
from oda.message.storable import storable
from oda.server.access import turns_at_once
from oda.server.idempotency import key_of_request
from oda.server.v1.wire import SubmitTurn
from oda.session.oda_session import OdaSession
from oda.turn.submission import Submission


def to_submission(
    oda: OdaContext,
    session: OdaSession,
    body: SubmitTurn,
    *,
    streamed: bool,
    idempotency_key: str | None,
) -> Submission:
    """What a client has asked of a session.

    Args:
        streamed: Whether the client gets the events as they come; then partial texts as well,
            unless it wants none.

    Raises:
        InvalidRequestError: the message is empty or malformed, or the metadata cannot be stored.
    """
    return Submission(
        message=parse_content(body.message),
        agent=body.agent,
        on_busy=body.on_busy,
        limits=_within(oda, body.limits),
        metadata=_storable(body.metadata),
        stream_tokens=streamed if body.stream_tokens is None else body.stream_tokens,
        key=key_of_request(
            idempotency_key,
            f"{session.app_name}/{session.session_id}",
            body.model_dump(mode="json", include=set(SubmitTurn.model_fields)),
        ),
        turns_at_once=turns_at_once(oda),
    )


def _storable(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        stored: dict[str, Any] = storable(metadata)
    except ValueError as error:
        raise InvalidRequestError("metadata: no store takes all of its names.") from error
    return stored


def _within(oda: OdaContext, asked: Limits | None) -> TurnLimits | None:
    """A client may lower the limits of the settings, not raise them."""
    if asked is None:
        return None
    return oda.agents.limits().within(asked.model_dump(exclude_unset=True))
