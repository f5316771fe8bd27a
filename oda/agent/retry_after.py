"""How long a server asks to wait, wherever its client library keeps that.

Sources: RFC 9110 section 10.2.3 (`Retry-After`), google.rpc.RetryInfo; LiteLLM keeps the headers of
the answer in `litellm_response_headers`, the other clients in `response.headers`.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"?(\d+(?:\.\d+)?)s?\b')


def retry_after_seconds(error: BaseException, now: float) -> float | None:
    """Seconds that the server asked to wait before the next attempt, or None."""
    explicit = getattr(error, "retry_after_s", None)
    if isinstance(explicit, int | float):
        return _a_wait(explicit)
    for headers in _headers_of(error):
        for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            value = headers.get(name) or headers.get(name.title())
            seconds = _seconds(value, now) if value else None
            if seconds is not None:
                return seconds * scale
    return _retry_info(error)


def _headers_of(error: BaseException) -> Iterator[Mapping[str, str]]:
    response = getattr(error, "response", None)
    original = getattr(error, "original_exception", None)
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(original, "litellm_response_headers", None),
        getattr(response, "headers", None),
        getattr(error, "headers", None),
    ):
        if headers is not None and hasattr(headers, "get"):
            yield headers


def _seconds(value: str, now: float) -> float | None:
    """Seconds to wait, from either form of RFC 9110 `Retry-After`."""
    try:
        return _a_wait(float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return _a_wait((when - datetime.fromtimestamp(now, UTC)).total_seconds())


def _a_wait(seconds: float) -> float | None:
    return max(0.0, float(seconds)) if math.isfinite(seconds) else None


def _retry_info(error: BaseException) -> float | None:
    """Google APIs put the delay into a `RetryInfo` detail of the body."""
    details = getattr(error, "details", None)
    try:
        text = details if isinstance(details, str) else json.dumps(details, default=str)
    except (TypeError, ValueError):
        return None
    found = _RETRY_DELAY.search(text)
    return _a_wait(float(found[1])) if found else None
