"""Every error that `oda` raises on purpose.

    OdaError
    ├── ConfigurationError          a file, variable or definition is wrong; nothing was started
    │   └── AgentLoadError          an agent folder exists but cannot be loaded
    ├── InvalidRequestError         the caller's input is malformed
    │   ├── MalformedError          it cannot even be read
    │   └── IdempotencyConflictError    an Idempotency-Key was used with another body
    ├── UnauthenticatedError        nobody knows who asks
    ├── ForbiddenError              who asks may not do this
    ├── NotFoundError
    │   ├── AgentNotFoundError
    │   ├── SessionNotFoundError
    │   ├── ArtifactNotFoundError
    │   └── TurnNotFoundError
    ├── CursorExpiredError          what a page was to go on from is not there any more
    ├── ConflictError               the input is fine, the current state does not allow it
    │   ├── SessionExistsError
    │   ├── SessionBusyError        a turn is running and the caller asked not to wait
    │   ├── AgentStateError         a call that the agent's life cycle does not allow now
    │   └── StaleStateError         the state changed since the caller read it
    ├── CrashLoopError              a turn whose process died with it again and again
    ├── OwnershipLostError          another node has taken a turn over
    ├── WorkspaceError              what an agent or a client wants of a workspace is not allowed
    │   ├── PathRefusedError        a path leads out of it, or to what is no plain file
    │   └── QuotaExceededError      it is full, or a file is too large
    ├── SandboxUnavailableError     there is no sandbox in which code may run
    ├── ToolRefusedError            the policy bars a tool, or a person has said no
    ├── OverloadedError             a bounded queue or cache is full; try again later
    │   └── DailyLimitError         a user has used up what a day allows
    ├── UnavailableError            a part that we depend on cannot be reached
    ├── NoContentError              a run or a model has ended without an answer
    ├── NotConfiguredError          what is asked for needs a setting that is not there
    ├── IncompleteAnswerError       a model's stream ended without saying that it is complete
    ├── CircuitOpenError            a model failed so often that it is left alone for a while
    ├── ToolTimeoutError            a tool call took too long and was cut off
    ├── LimitExceededError          a turn used up its model calls, time, tokens or money
    └── FatalToolError              raised by a tool to end the turn instead of answering the model

`code` is stable and goes on the wire; `remedy` says what to do about it.
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
    """Raised when what came is not what can be read at all, such as JSON."""

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


class UnavailableError(OdaError):
    """Raised when a database or another part that we depend on cannot be reached."""

    code = "unavailable"
    retryable = True


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
    """Raised when a workspace does not give what is asked of it; the message is for the model."""

    code = "workspace_error"


class PathRefusedError(WorkspaceError):
    """Raised when a path leads out of a workspace, or to something that is no plain file."""

    code = "path_refused"


class QuotaExceededError(WorkspaceError):
    """Raised when a workspace has no room for what is to be written, or a file is too large."""

    code = "quota_exceeded"


class SandboxUnavailableError(OdaError):
    """Raised when no sandbox can be had; code is not run then."""

    code = "sandbox_unavailable"


class ToolRefusedError(OdaError):
    """Raised when a call is made of a tool that the policy bars."""

    code = "tool_refused"
