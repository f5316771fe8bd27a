"""Fencing: a node may write to a session on behalf of a turn only while it owns the turn."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

Fence = Callable[[], Awaitable[None]]
"""Raises `OwnershipLostError` if another node has taken over the turn."""

current_fence: ContextVar[Fence | None] = ContextVar("oda_session_fence", default=None)
"""Fence to await before the running task and its children append an event to a session."""
