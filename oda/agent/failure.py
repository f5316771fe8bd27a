"""Classification of failed attempts: the reason, and whether a retry may help.

Pure functions that turn an exception or an error event into a `Failure`. Errors of client libraries
are recognized by class name and attributes, so none of them is imported here. The codes follow the
error tables of LiteLLM, google-genai and Anthropic.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oda.agent.retry_after import retry_after_seconds
from oda.errors import DailyLimitError, OdaError
from oda.message.redaction import redact

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
"""HTTP statuses to retry, in addition to all 5xx."""

_HTTP_STATUS = re.compile(r"[1-5][0-9][0-9]")

_STATUS_CODES = {
    400: "bad_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    408: "timeout",
    409: "conflict",
    413: "request_too_large",
    422: "bad_request",
    425: "too_early",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

_BY_CLASS_NAME = {
    "ContextWindowExceededError": ("context_overflow", False),
    "ContentPolicyViolationError": ("content_policy", False),
    "LlmCallsLimitExceededError": ("limit_exceeded", False),
    "NodeTimeoutError": ("timeout", True),
    "SessionNotFoundError": ("session_not_found", False),
    "StaleSessionError": ("session_conflict", True),
    "JSONDecodeError": ("malformed_output", True),
    "ValidationError": ("malformed_output", True),
    "JSONSchemaValidationError": ("malformed_output", True),
    "APIResponseValidationError": ("malformed_output", True),
    "UnknownApiResponseError": ("malformed_output", True),
    "MidStreamFallbackError": ("connection", True),
    "ResponseNotRead": ("connection", True),
}

_NETWORK_LIBRARIES = frozenset(
    {"aiohttp", "anthropic", "httpcore", "httpx", "httpx2", "litellm", "openai", "requests"}
)
_NETWORK_WORDS = (
    "Connect",
    "Disconnected",
    "Network",
    "Payload",
    "Protocol",
    "ReadError",
    "WriteError",
)
_STORE_ERRORS = frozenset({"OperationalError", "InterfaceError", "IntegrityError"})
"""Names of SQL errors to retry. After an `IntegrityError` for an id that another node has stored,
the next attempt finds the stored row."""

_EVENT_CODES: Mapping[str, tuple[str, bool]] = {
    "MALFORMED_FUNCTION_CALL": ("malformed_output", True),
    "MALFORMED_RESPONSE": ("malformed_output", True),
    "MISSHAPEN_ANSWER": ("malformed_output", True),
    "UNEXPECTED_TOOL_CALL": ("malformed_output", True),
    "MISSING_THOUGHT_SIGNATURE": ("malformed_output", True),
    "TOO_MANY_TOOL_CALLS": ("malformed_output", True),
    "MODEL_RETURNED_NO_CONTENT": ("no_content", True),
    "OTHER": ("model_error", True),
    "FINISH_REASON_UNSPECIFIED": ("model_error", True),
    "UNKNOWN_ERROR": ("model_error", True),
    "RESOURCE_EXHAUSTED": ("rate_limited", True),
    "UNAVAILABLE": ("overloaded", True),
    "INTERNAL": ("server_error", True),
    "DEADLINE_EXCEEDED": ("timeout", True),
    "ABORTED": ("conflict", True),
    "MAX_TOKENS": ("output_limit", False),
    "SAFETY": ("content_policy", False),
    "RECITATION": ("content_policy", False),
    "BLOCKLIST": ("content_policy", False),
    "PROHIBITED_CONTENT": ("content_policy", False),
    "SPII": ("content_policy", False),
    "LANGUAGE": ("content_policy", False),
    "IMAGE_SAFETY": ("content_policy", False),
    "IMAGE_PROHIBITED_CONTENT": ("content_policy", False),
    "MODEL_ARMOR": ("content_policy", False),
    "JAILBREAK": ("content_policy", False),
}

_OVERFLOW_PHRASES = (
    "context length",
    "context window",
    "context_length",
    "maximum context",
    "too many tokens",
    "prompt is too long",
    "input token count",
)
_POLICY_PHRASES = (
    "content management policy",
    "content_policy",
    "content policy",
    "content filtering policy",
    "safety system",
    "safety settings",
)

_BODY_MESSAGE = re.compile(r"""["']message["']\s*:\s*(["'])((?:(?!\1)[^\\]|\\.)+)\1""")

_REMEDIES = {
    "authentication": "check ODA_MODEL_API_KEY or the provider's own key variable",
    "permission_denied": "check that the key may use this model",
    "not_found": "check ODA_MODEL and ODA_MODEL_API_BASE",
    "context_overflow": "start a new session or send less",
    "payment_required": "check the account at the model's provider",
}


@dataclass(frozen=True)
class Failure:
    """Why an attempt failed, without secrets, so that clients may see it."""

    code: str
    """Stable code such as `rate_limited`, `timeout`, `authentication` or `programming_error`."""
    message: str
    """Redacted message of one line."""
    error_type: str
    """Name of the exception class, or the model's own error code."""
    retryable: bool
    retry_after_s: float | None = None
    """Seconds to wait, as requested by the server."""


class ModelReportedError(Exception):
    """Raised when a model reports an error in its answer instead of raising one."""

    def __init__(self, error_code: str, error_message: str | None) -> None:
        super().__init__(error_message or error_code)
        self.error_code = error_code
        self.error_message = error_message


def classify(error: BaseException, *, now: float) -> Failure:
    """Classify an exception.

    Args:
        error: The exception; groups and wrappers are unpacked.
        now: Epoch seconds, to evaluate a `Retry-After` given as a date.
    """
    failures = [_classify_one(cause, now) for cause in _root_causes(error)]
    for failure in failures:
        if not failure.retryable:
            return failure
    return max(failures, key=lambda failure: failure.retry_after_s or 0.0)


def classify_event(error_code: str, error_message: str | None) -> Failure:
    """Classify an error that a model reported in an event."""
    code, retryable = _EVENT_CODES.get(error_code, ("model_error", False))
    if _HTTP_STATUS.fullmatch(error_code):
        code, retryable = _by_status(int(error_code), error_message or "")
    return Failure(
        code=code,
        message=redact(error_message or "") or f"The model reported {error_code}.",
        error_type=str(getattr(error_code, "value", error_code)),
        retryable=retryable,
    )


def _root_causes(
    error: BaseException, seen: frozenset[int] = frozenset()
) -> Iterator[BaseException]:
    """Unpack exception groups, ADK's node errors and its `RuntimeError`s around plugin errors."""
    inner: Sequence[BaseException] = ()
    if isinstance(error, BaseExceptionGroup):
        inner = error.exceptions
    elif isinstance(carried := getattr(error, "error", None), BaseException):
        inner = (carried,)
    elif type(error) is RuntimeError and error.__cause__ is not None:
        inner = (error.__cause__,)
    if not inner or id(error) in seen:
        yield error
        return
    for cause in inner:
        yield from _root_causes(cause, seen | {id(error)})


def _classify_one(error: BaseException, now: float) -> Failure:
    if isinstance(error, ModelReportedError):
        return classify_event(error.error_code, error.error_message)
    code, retryable = _code_of(error)
    message = _message_of(error, code)
    return Failure(
        code=code,
        message=message,
        error_type=type(error).__name__.lstrip("_"),
        retryable=retryable,
        retry_after_s=retry_after_seconds(error, now) if retryable else None,
    )


def _code_of(error: BaseException) -> tuple[str, bool]:
    if isinstance(error, DailyLimitError):
        return error.code, False  # retryable, but not within a turn: it would wait for the next day
    if isinstance(error, OdaError):
        return error.code, error.retryable
    names = {cls.__name__ for cls in type(error).__mro__}
    for name, known in _BY_CLASS_NAME.items():
        if name in names:
            return known
    status = _status_of(error)
    if status is not None:
        return _by_status(status, str(error))
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return "timeout", True
    if isinstance(error, ConnectionError) or _is_network_error(error):
        return "connection", True
    if _is_store_error(error):
        return "store_unavailable", True
    return "programming_error", False


def _by_status(status: int, text: str) -> tuple[str, bool]:
    lowered = text.lower()
    if status < 400:  # an error within an answer that began with a success status
        return "malformed_output", True
    if status in (400, 413, 422):
        if any(phrase in lowered for phrase in _OVERFLOW_PHRASES):
            return "context_overflow", False
        if any(phrase in lowered for phrase in _POLICY_PHRASES):
            return "content_policy", False
    retryable = status in RETRYABLE_STATUS or 500 <= status <= 599
    fallback = "server_error" if status >= 500 else "bad_request"
    return _STATUS_CODES.get(status, fallback), retryable


def _status_of(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
    ):
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    return None


def _is_network_error(error: BaseException) -> bool:
    return any(
        cls.__module__.split(".")[0] in _NETWORK_LIBRARIES
        and any(word in cls.__name__ for word in _NETWORK_WORDS)
        for cls in type(error).__mro__
    )


def _is_store_error(error: BaseException) -> bool:
    return any(
        cls.__module__.split(".")[0] in ("sqlalchemy", "sqlite3", "psycopg", "redis")
        and (cls.__name__ in _STORE_ERRORS or "Connection" in cls.__name__)
        for cls in type(error).__mro__
    )


def _message_of(error: BaseException, code: str) -> str:
    if code == "programming_error":
        return f"The agent's code failed with {type(error).__name__}: {redact(str(error))}".rstrip(
            ": "
        )
    text = redact(_provider_message(str(error))) or type(error).__name__
    remedy = _REMEDIES.get(code)
    return f"{text} ({remedy})" if remedy else text


def _provider_message(text: str) -> str:
    """Extract the provider's message from an error body that a client library quotes."""
    found = _BODY_MESSAGE.search(text)
    return found[2].replace("\\" + found[1], found[1]) if found else text
