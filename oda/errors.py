"""Errors raised by `oda`.

    OdaError
    ├── ConfigurationError          a file, variable or definition is wrong; nothing was started
    │   └── AgentLoadError          an agent folder exists but cannot be loaded
    ├── InvalidRequestError         the caller's input is malformed
    │   ├── MalformedError          it cannot be parsed
    │   └── IdempotencyConflictError    an Idempotency-Key was used with another body
    ├── UnauthenticatedError        there is no valid credential
    ├── ForbiddenError              the caller lacks the permission
    ├── NotFoundError
    │   ├── AgentNotFoundError
    │   ├── SessionNotFoundError
    │   ├── ArtifactNotFoundError
    │   └── TurnNotFoundError
    ├── CursorExpiredError          the position a cursor refers to no longer exists
    ├── ConflictError               the input is fine, the current state does not allow it
    │   ├── SessionExistsError
    │   ├── SessionBusyError        a turn is running and the caller asked not to wait
    │   ├── AgentStateError         the call is not allowed in this phase of the agent's life cycle
    │   └── StaleStateError         the state changed since the caller read it
    ├── CrashLoopError              a turn whose process has died repeatedly
    ├── OwnershipLostError          another node has taken a turn over
    ├── CancelRequestedError        a cancelled turn is about to begin
    ├── WorkspaceError              an operation on a workspace is not allowed
    │   ├── PathRefusedError        a path leads out of it, or not to a plain file
    │   └── QuotaExceededError      it is full, or a file is too large
    ├── SandboxUnavailableError     no sandbox for code is available
    ├── InvalidArgumentsError       the arguments of a tool call cannot be stored
    ├── ToolRefusedError            the policy bars a tool, or a person has refused it
    ├── OverloadedError             a bounded queue or cache is full; try again later
    │   └── DailyLimitError         a user has used up a daily limit
    ├── StorageQuotaError           a user's storage quota is used up
    ├── UnavailableError            a dependency cannot be reached
    ├── NoContentError              a run or a model has ended without an answer
    ├── NotConfiguredError          the request needs a setting that is missing
    ├── IncompleteAnswerError       a model's stream ended without a finish reason
    ├── CircuitOpenError            calls of a model are paused after repeated failures
    ├── ToolTimeoutError            a tool call exceeded its time limit
    ├── LimitExceededError          a turn used up its model calls, time, tokens or money
    └── FatalToolError              raised by a tool to end the turn instead of answering the model

`code` is stable and part of the API; `remedy` tells the caller what to do about the error.
"""

from typing import ClassVar


class OdaError(Exception):
    """Base of all errors of `oda`."""

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class ConfigurationError(OdaError):
    """Raised at start when a file, an environment variable or a definition is wrong."""

    code = "configuration_error"


class AgentLoadError(ConfigurationError):
    """Raised when an agent folder exists but its code or YAML cannot be loaded."""

    code = "agent_load_error"


class InvalidRequestError(OdaError):
    """Raised when the caller's input is malformed."""

    code = "invalid_request"


class MalformedError(InvalidRequestError):
    """Raised when input cannot be parsed, e.g. as JSON."""

    code = "malformed"


class UnauthenticatedError(OdaError):
    """Raised when a request has no credential, or one that does not hold."""

    code = "unauthenticated"


class ForbiddenError(OdaError):
    """Raised when it is known who asks, and they may not do this."""

    code = "forbidden"


class NotFoundError(OdaError):
    """Raised when what the caller names does not exist, or is not theirs."""

    code = "not_found"


class AgentNotFoundError(NotFoundError):
    """Raised when no agent has the given name."""

    code = "agent_not_found"


class SessionNotFoundError(NotFoundError):
    """Raised when the session does not exist or belongs to another user."""

    code = "session_not_found"


class TurnNotFoundError(NotFoundError):
    """Raised when the turn does not exist, has been dropped, or belongs to another user."""

    code = "turn_not_found"


class ArtifactNotFoundError(NotFoundError):
    """Raised when a session has no such artifact, or not in that version."""

    code = "artifact_not_found"


class CursorExpiredError(OdaError):
    """Raised when the place from which to read on has been taken back."""

    code = "cursor_expired"


class ConflictError(OdaError):
    """Raised when the request is well-formed but the current state does not allow it."""

    code = "conflict"


class SessionExistsError(ConflictError):
    """Raised when a session is created under an id that is taken."""

    code = "session_exists"


class SessionBusyError(ConflictError):
    """Raised when a turn is running in the session and the caller asked not to wait for it."""

    code = "session_busy"
    retryable = True


class AgentStateError(ConflictError):
    """Raised when an agent is used in a way that its life cycle does not allow now."""

    code = "agent_state"


class StaleStateError(ConflictError):
    """Raised when a conditional write finds that the state has changed since it was read."""

    code = "stale_state"


class IdempotencyConflictError(InvalidRequestError):
    """Raised when an idempotency key is used again for something else."""

    code = "idempotency_conflict"


class CrashLoopError(OdaError):
    """Raised instead of running a turn once more that has outlived too many processes."""

    code = "crash_loop"


class OwnershipLostError(OdaError):
    """Raised when a node wants to go on with a turn that another has taken over."""

    code = "ownership_lost"


class CancelRequestedError(OdaError):
    """Raised when a cancelled turn is about to start, or to make its first model call."""

    code = "cancelled"


class OverloadedError(OdaError):
    """Raised when a bounded queue is full."""

    code = "overloaded"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after_s = retry_after_s


class DailyLimitError(OverloadedError):
    """Raised when a user has used up the model calls, tokens or dollars of a day."""

    code = "daily_limit"


class StorageQuotaError(OdaError):
    """Raised when a user would exceed their storage quota; deleting data makes room."""

    code = "storage_quota"


class UnavailableError(OdaError):
    """Raised when a database or another part that we depend on cannot be reached."""

    code = "unavailable"
    retryable = True


class SessionsUnavailableError(UnavailableError):
    """Raised when the store of the sessions cannot be reached."""


class StorageFullError(UnavailableError):
    """Raised when a database has no space left for a write."""

    code = "storage_full"


class NoContentError(OdaError):
    """Raised when a run has ended without an answer and without an error."""

    code = "no_content"
    retryable = True


class NotConfiguredError(OdaError):
    """Raised when something is asked for that needs a model or a service that is not set up."""

    code = "not_configured"


class IncompleteAnswerError(OdaError):
    """Raised when a model's stream ends without a finish reason."""

    code = "connection"
    retryable = True


class MalformedAnswerError(OdaError):
    """Raised when a model's server sends a malformed answer."""

    code = "malformed_output"
    retryable = True


class CircuitOpenError(OdaError):
    """Raised instead of calling a model that has failed many times in a row."""

    code = "circuit_open"
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after_s = retry_after_s


class ToolTimeoutError(OdaError):
    """Raised when a call of a tool has taken longer than it may."""

    code = "tool_timeout"
    retryable = True


class LimitExceededError(OdaError):
    """Raised when a turn has used up its model calls, wall time, tokens or cost."""

    code = "limit_exceeded"


class FatalToolError(OdaError):
    """Raised by a tool whose failure must end the turn; other exceptions answer the model."""

    code = "fatal_tool_error"


class WorkspaceError(OdaError):
    """Raised when an operation on a workspace is not possible; the message is for the model."""

    code = "workspace_error"


class PathRefusedError(WorkspaceError):
    """Raised when a path leads out of a workspace, or to something that is no plain file."""

    code = "path_refused"


class QuotaExceededError(WorkspaceError):
    """Raised when a workspace has no room for a write, or a file is too large."""

    code = "quota_exceeded"


class SandboxUnavailableError(OdaError):
    """Raised when no sandbox can be had; code is not run then."""

    code = "sandbox_unavailable"


class InvalidArgumentsError(OdaError):
    """Raised when a tool is called with arguments that cannot be stored as they are."""

    code = "invalid_arguments"


class ToolRefusedError(OdaError):
    """Raised when a call is made of a tool that the policy bars."""

    code = "tool_refused"
