"""Extraction of the delay that a server requested from the errors of client libraries.

See RFC 9110 section 10.2.3 (`Retry-After`) and google.rpc.RetryInfo. LiteLLM keeps the response
headers in `litellm_response_headers`, other clients in `response.headers`.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"?(\d+(?:\.\d+)?)s?\b')


def retry_after_seconds(error: BaseException, now: float) -> float | None:
    """Return the seconds that the server asked to wait, or None if it did not ask.

    Args:
        error: The error of the client library.
        now: Epoch seconds, to evaluate a `Retry-After` given as a date.
    """
    explicit = getattr(error, "retry_after_s", None)
    if isinstance(explicit, int | float):
        return _clamp_delay(explicit)
    for headers in _headers_of(error):
        for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            value = headers.get(name) or headers.get(name.title())
            seconds = _parse_retry_after(value, now) if value else None
            if seconds is not None:
                return seconds * scale
    return _retry_info_delay(error)


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


def _parse_retry_after(value: str, now: float) -> float | None:
    """Return the seconds to wait from either form of `Retry-After`, a number or a date."""
    try:
        return _clamp_delay(float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return _clamp_delay((when - datetime.fromtimestamp(now, UTC)).total_seconds())


def _clamp_delay(seconds: float) -> float | None:
    return max(0.0, float(seconds)) if math.isfinite(seconds) else None


def _retry_info_delay(error: BaseException) -> float | None:
    """Return the delay from a `RetryInfo` detail in the body of a Google API error."""
    details = getattr(error, "details", None)
    try:
        text = details if isinstance(details, str) else json.dumps(details, default=str)
    except (TypeError, ValueError):
        return None
    found = _RETRY_DELAY.search(text)
    return _clamp_delay(float(found[1])) if found else None
