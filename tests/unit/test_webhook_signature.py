"""Signatures of Standard Webhooks, both ways with the standard's own package."""

import base64
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook

from oda.webhooks.signature import (
    TOLERANCE_S,
    SignatureError,
    signed_headers,
    signing_key,
    verify,
)

SECRET = f"whsec_{base64.b64encode(b'a key of twenty-four byte').decode()}"
BODY = '{"type": "turn.done", "data": {"reply": "你好"}}'.encode()
NOW = datetime.now(UTC).replace(microsecond=0)


def test_what_is_signed_here_is_verified_by_the_package() -> None:
    headers = signed_headers(SECRET, "msg_1", int(NOW.timestamp()), BODY)
    assert Webhook(SECRET).verify(BODY, headers)["type"] == "turn.done"


def signed(secret: str = SECRET) -> dict[str, str]:
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(NOW.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", NOW, BODY.decode()),
    }


def test_what_the_package_has_signed_is_verified_here() -> None:
    assert verify(SECRET, signed(), BODY, NOW.timestamp()) == "msg_1"
    several = {**signed(), "webhook-signature": f"v1a,x v1,AAAA {signed()['webhook-signature']}"}
    assert verify(SECRET, several, BODY, NOW.timestamp() + TOLERANCE_S) == "msg_1"


@pytest.mark.parametrize(
    "changed",
    [
        *({"webhook-id": "msg_2"}, {"webhook-id": ""}, {"webhook-signature": ""}),
        *({"webhook-timestamp": "1"}, {"webhook-timestamp": "x"}, {"webhook-timestamp": "9" * 500}),
        *({"webhook-signature": "v1,AAAA"}, {"webhook-signature": "v1,你好"}),
        signed(f"whsec_{base64.b64encode(b'another key').decode()}"),
    ],
)
def test_what_is_not_signed_so_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        verify(SECRET, {**signed(), **changed}, BODY, NOW.timestamp())


def test_another_body_or_time_is_refused() -> None:
    with pytest.raises(SignatureError):
        verify(SECRET, signed(), BODY + b" ", NOW.timestamp())
    for away in (TOLERANCE_S + 1, -TOLERANCE_S - 1):
        with pytest.raises(SignatureError, match="time"):
            verify(SECRET, signed(), BODY, NOW.timestamp() + away)


@pytest.mark.parametrize("text", ["", "whsec_", "YWJj", "whsec_ä", "whsec_a"])
def test_what_is_no_secret_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r"whsec_"):
        signing_key(SecretStr(text))
