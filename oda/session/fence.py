"""Whoever writes to a session on behalf of a turn must still be the one to run it."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

Fence = Callable[[], Awaitable[None]]
"""Raises `OwnershipLostError` when another node has taken the turn over."""

current_fence: ContextVar[Fence | None] = ContextVar("oda_session_fence", default=None)
"""Asked before each event that the running task, and what it starts, adds to a session."""
