"""Conversion of a turn's request body to the engine's submission."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from oda.agent.limits import Limits, TurnLimits
from oda.context import OdaContext
from oda.errors import InvalidRequestError
from oda.message.content import parse_content
from oda.message.storable import storable
from oda.server.access import turns_at_once
from oda.server.idempotency import key_of_request
from oda.server.problems import Refusal
from oda.server.v1.wire import SubmitTurn, TurnNotify
from oda.session.oda_session import OdaSession
from oda.settings import WebhookSettings
from oda.turn.submission import Submission
from oda.webhooks.client import checked_url
from oda.webhooks.notify import Notify

_QUICK = 1 << 16
"""Length of a text below which parsing takes at most some milliseconds."""


async def to_submission(
    oda: OdaContext,
    session: OdaSession,
    body: SubmitTurn,
    *,
    streamed: bool,
    idempotency_key: str | None,
) -> Submission:
    """Build the submission of a client's message to a session.

    Args:
        streamed: Whether the client receives the events as a stream; it then gets partial texts,
            unless it opts out.

    Raises:
        InvalidRequestError: the message is empty or malformed, or the metadata cannot be stored.
        Refusal: text and metadata exceed the limit of bodies without files, or the address that
            is to be told is refused.
    """
    make = partial(
        _submission, oda, session, body, streamed=streamed, idempotency_key=idempotency_key
    )
    is_short = isinstance(body.message, str) and len(body.message) <= _QUICK
    return make() if is_short else await asyncio.to_thread(make)


def _submission(
    oda: OdaContext,
    session: OdaSession,
    body: SubmitTurn,
    *,
    streamed: bool,
    idempotency_key: str | None,
) -> Submission:
    fields = body.model_dump(mode="json", include=set(SubmitTurn.model_fields))
    if body.notify is None:  # keys of requests before there was such a field
        del fields["notify"]
    _check_size(fields, oda.settings.limits.small_body_bytes)
    return Submission(
        message=parse_content(body.message),
        agent=body.agent,
        on_busy=body.on_busy,
        limits=_within(oda, body.limits),
        metadata=storable_metadata(body.metadata),
        stream_tokens=streamed if body.stream_tokens is None else body.stream_tokens,
        key=key_of_request(
            idempotency_key,
            f"{session.app_name}/{session.session_id}",
            fields,
        ),
        turns_at_once=turns_at_once(oda),
        notify=_notified(oda.settings.webhooks, body.notify),
    )


def _check_size(fields: dict[str, Any], most: int) -> None:
    """Refuse a body that exceeds the limit without counting the data of files."""
    written = json.dumps(fields, ensure_ascii=False)
    # Lone surrogates are replaced later on; here they only count.
    size = len(written.encode(errors="surrogatepass")) - sum(map(len, _files_of(fields["message"])))
    if size > most:
        raise Refusal(
            413,
            f"Text and metadata of the message are larger than {most} bytes.",
            remedy="send long texts as files: as inlineData, or as artifacts of the session",
        )


def _files_of(message: str | dict[str, Any]) -> Iterator[str]:
    parts = message.get("parts") if isinstance(message, dict) else None
    for part in parts if isinstance(parts, list) else ():
        blob = isinstance(part, dict) and (part.get("inlineData") or part.get("inline_data"))
        if isinstance(blob, dict) and isinstance(data := blob.get("data"), str):
            yield data


def storable_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a client's metadata in storable form.

    Raises:
        InvalidRequestError: the metadata cannot be stored.
    """
    try:
        stored: dict[str, Any] = storable(metadata)
    except ValueError as error:
        raise InvalidRequestError("metadata: no store takes all of its names.") from error
    return stored


def _notified(settings: WebhookSettings, asked: TurnNotify | None) -> tuple[Notify, ...]:
    """Return who is told of a turn.

    Raises:
        Refusal: nothing is sent from here, or not to this address.
    """
    if asked is None:
        return ()
    try:
        if settings.secret is None:
            raise ValueError("this server sends no webhooks, for it has no ODA_WEBHOOKS__SECRET")
        url = checked_url(asked.url, allow_private=settings.allow_private)
    except ValueError as error:
        wrong = {"field": "notify.url", "message": str(error)}
        raise Refusal(422, f"notify.url: {error}", errors=[wrong]) from error
    return (Notify(url=url, events=tuple(asked.events)),)


def _within(oda: OdaContext, asked: Limits | None) -> TurnLimits | None:
    """A client may lower the limits of the settings, not raise them."""
    if asked is None:
        return None
    return oda.agents.limits().within(asked.model_dump(exclude_unset=True))
