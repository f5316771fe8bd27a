"""A model that stands in for the configured ones, while a turn has used up its limits."""

from contextvars import ContextVar

stand_in: ContextVar[str | None] = ContextVar("oda_stand_in_model", default=None)
"""Its configured or raw name; None when each name means itself."""
