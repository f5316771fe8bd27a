"""A search engine's HTTP API: one request, one JSON object, and what failures mean."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from mcp_tools.web.errors import (
    SearchAnswerError,
    SearchDeniedError,
    SearchQuotaError,
    SearchUnavailableError,
)

MAX_ANSWER_BYTES = 2_000_000


async def ask(
    client: httpx.AsyncClient,
    request: httpx.Request,
    *,
    provider: str,
    denied: str,
    denied_statuses: Iterable[int] = (401, 403),
    quota_statuses: Iterable[int] = (429,),
) -> Mapping[str, Any]:
    """Send a request and return the JSON object of the response.

    `denied` is the error message for the operator if access is denied.

    Raises:
        SearchError: the kind depends on the status or the failure.
    """
    try:
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.status_code in denied_statuses:
                raise SearchDeniedError(f"{provider} refuses: {denied}")
            if response.status_code in quota_statuses:
                raise SearchQuotaError(provider, retry_after_s=_retry_after(response.headers))
            if response.status_code >= 500:
                raise SearchUnavailableError(
                    f"{provider} fails with the status {response.status_code}: try again later"
                )
            if response.status_code != 200:
                raise SearchAnswerError(
                    f"{provider} answers with the status {response.status_code}"
                )
            return _object(await _body(response, provider), provider)
        finally:
            await response.aclose()
    except httpx.TimeoutException as error:
        raise SearchUnavailableError(f"{provider} does not answer in time") from error
    except httpx.DecodingError as error:
        raise SearchAnswerError(f"{provider} sends a damaged answer") from error
    except httpx.TransportError as error:
        raise SearchUnavailableError(
            f"{provider} cannot be reached: {type(error).__name__}"
        ) from error


async def _body(response: httpx.Response, provider: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise SearchAnswerError(f"{provider} sends more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _object(body: bytes, provider: str) -> Mapping[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SearchAnswerError(f"{provider} sends something that is no JSON") from error
    if not isinstance(answer, Mapping):
        raise SearchAnswerError(f"{provider} sends JSON that is no object")
    return answer


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds, from either form of the header."""
    value = headers.get("retry-after", "")
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
