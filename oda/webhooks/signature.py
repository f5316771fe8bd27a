"""Signatures of Standard Webhooks: HMAC-SHA-256 with a secret that both sides know."""

import base64
import hmac
from collections.abc import Mapping

from pydantic import SecretStr

_PREFIX = "whsec_"
_VERSION = "v1"
TOLERANCE_S = 300
"""Greatest difference of a timestamp from the time of its receiver."""


class SignatureError(Exception):
    """Raised when a message is not proven to be what its sender has signed just now."""


def signing_key(secret: SecretStr) -> SecretStr:
    """Check and return a secret: `whsec_` and base64.

    Raises:
        ValueError: it has another form.
    """
    _key(secret.get_secret_value())
    return secret


def signed_headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that sign a message.

    Args:
        message_id: The same for all attempts to send it.
        timestamp: Time of this attempt, in seconds.
    """
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": _signature(secret, message_id, timestamp, body),
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str:
    """Return the id of a message that is signed with the secret.

    Args:
        headers: By names in lower case.
        now: The time, in seconds.

    Raises:
        SignatureError: headers are missing, the time is another, or no signature fits.
    """
    message_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not message_id or not (timestamp.isascii() and timestamp.isdecimal()):
        raise SignatureError("The headers webhook-id and webhook-timestamp are needed.")
    if len(timestamp) > 12 or abs(now - int(timestamp)) > TOLERANCE_S:
        raise SignatureError("The webhook-timestamp is too far from the time here.")
    expected = _signature(secret, message_id, int(timestamp), body).encode()
    given = headers.get("webhook-signature", "").encode()
    if not any(hmac.compare_digest(expected, one) for one in given.split()):
        raise SignatureError("No webhook-signature fits.")
    return message_id


def _signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.digest(_key(secret), signed, "sha256")
    return f"{_VERSION},{base64.b64encode(digest).decode()}"


def _key(secret: str) -> bytes:
    if not secret.startswith(_PREFIX):
        raise ValueError(f"it must begin with {_PREFIX}")
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError(f"behind {_PREFIX} it must be base64") from error
    if not key:
        raise ValueError(f"behind {_PREFIX} there must be a key")
    return key
