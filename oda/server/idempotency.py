"""Idempotency keys: the same key and body stand for the same turn, for 24 hours."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Header
from pydantic import Field

from oda.turn.admission import Accepted
from oda.turn.submission import IdempotencyKey

_MAX_LENGTH = 255

KeyHeader = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=_MAX_LENGTH,
        description="The same key and body stand for the same turn, for 24 hours.",
    ),
]
KeyField = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_MAX_LENGTH,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        description="As the header `Idempotency-Key`, and over the same keys.",
    ),
]
"""In a message of a WebSocket."""


def key_of_request(key: str | None, route: str, fields: Mapping[str, Any]) -> IdempotencyKey | None:
    """Return the idempotency key of a request, if it has one.

    Args:
        route: The route, which is part of the key's identity.
        fields: The body, as JSON.
    """
    if key is None:
        return None
    canonical = json.dumps(fields, sort_keys=True, ensure_ascii=True)
    return IdempotencyKey(key, route, hashlib.sha256(canonical.encode()).hexdigest())


def headers_of(accepted: Accepted) -> dict[str, str]:
    """Return the headers that identify the turn of a request."""
    headers = {"Location": f"/v1/turns/{accepted.turn.turn_id}"}
    return {**headers, "Idempotent-Replayed": "true"} if accepted.replayed else headers
