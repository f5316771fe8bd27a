"""Changes of a session's state by clients, through any interface."""

from collections.abc import Callable, Mapping
from typing import Any

from oda.errors import InvalidRequestError
from oda.session.oda_session import OdaSession
from oda.session.state import refuse_client_keys

_WAIT_S = 3.0
"""Time that a change waits for a running turn, in seconds."""


async def change_state(
    session: OdaSession,
    named: Mapping[str, Any],
    change: Callable[[dict[str, Any]], Mapping[str, Any]],
) -> dict[str, Any]:
    """Change the state of a session and return the new state.

    Args:
        named: The keys that the client wants to write.
        change: See `OdaSession.revise`.

    Raises:
        InvalidRequestError: a key is reserved, or a value cannot be stored.
        SessionBusyError: a turn is running and does not end within some seconds.
    """
    refuse_client_keys(named)
    try:
        return await session.revise(change, within_s=_WAIT_S)
    except ValueError as error:
        raise InvalidRequestError(f"{error}.") from error
