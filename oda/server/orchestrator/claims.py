"""One WebSocket for each session: the newest that uses it."""

from typing import Protocol

SessionName = tuple[str, str]
"""A user and one of their sessions."""


class Holder(Protocol):
    """An owner of sessions, such as a socket."""

    def dismiss(self, session_id: str) -> None:
        """Another one has taken a session over."""
        ...


class Claims:
    """Which socket of this process has which session. A socket may have several."""

    def __init__(self) -> None:
        self._holders: dict[SessionName, Holder] = {}

    def claim(self, session: SessionName, holder: Holder) -> None:
        """Claim a session; dismiss its previous holder."""
        before = self._holders.get(session)
        self._holders[session] = holder
        if before is not None and before is not holder:
            before.dismiss(session[1])

    def release(self, holder: Holder) -> None:
        """Give up all that a holder has."""
        for session in [name for name, other in self._holders.items() if other is holder]:
            del self._holders[session]
