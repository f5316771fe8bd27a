"""What `schemathesis` has to know to ask our API: our string formats, and idempotency keys."""

from base64 import b64encode
from itertools import count
from typing import Any

import schemathesis
from hypothesis import strategies as st

_NUMBERS = count()


def _is_an_id(text: str) -> bool:
    plain = text.isprintable() and text == text.strip()
    return plain and "/" not in text and text not in (".", "..")


def _is_a_name(text: str) -> bool:
    reserved = text.casefold() in ("versions", "metadata.json")
    return _is_an_id(text) and not reserved and not text.endswith(".") and "\\" not in text


schemathesis.openapi.format("id", st.text(min_size=1, max_size=128).filter(_is_an_id))
schemathesis.openapi.format("artifact-name", st.text(min_size=1, max_size=40).filter(_is_a_name))
schemathesis.openapi.format(
    "base64", st.binary(max_size=40).map(lambda data: b64encode(data).decode())
)


@schemathesis.hook
def filter_body(context: Any, body: Any) -> bool:
    """Ask for no session or user whose name only looks right; words of answers are tried as names.

    No pattern can say all that a name must be.
    """
    if not isinstance(body, dict):
        return True
    named = [
        name for field in ("session_id", "user_id") if isinstance(name := body.get(field), str)
    ]
    return all(_is_an_id(name) for name in named if 0 < len(name) <= 128)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Use no idempotency key for two bodies."""
    headers = case.headers or {}
    key = headers.get("idempotency-key")
    if isinstance(key, str) and 1 <= len(key) <= 255 and key.isascii() and key.isprintable():
        headers["idempotency-key"] = f"key-{next(_NUMBERS)}"
