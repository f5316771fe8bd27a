"""When a message that could not be sent is tried again; pure."""

from datetime import timedelta

_DELAYS_S = (2.0, 10.0, 60.0, 300.0, 900.0)
_LATER_S = 3_600.0
_ATTEMPTS = 28
"""With the delays, about a day."""


def delay_after(attempts: int) -> timedelta | None:
    """Return when to try again after so many attempts; None is never."""
    if attempts >= _ATTEMPTS:
        return None
    return timedelta(seconds=_DELAYS_S[attempts - 1] if attempts <= len(_DELAYS_S) else _LATER_S)
