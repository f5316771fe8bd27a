"""A circuit breaker: a model that keeps failing is left alone for a while."""

from dataclasses import dataclass

from oda.errors import CircuitOpenError


@dataclass
class Breaker:
    """Closed, until `failures` in a row open it; after `pause_s` seconds one call may try.

    Times are passed in as seconds of one clock.
    """

    failures: int
    pause_s: float
    _in_a_row: int = 0
    _opened_at: float | None = None

    def check(self, name: str, now: float) -> None:
        """Let a call through, or refuse it.

        Raises:
            CircuitOpenError: the circuit is open; the error says for how long.
        """
        if self._opened_at is None:
            return
        wait = self._opened_at + self.pause_s - now
        if wait > 0:
            raise CircuitOpenError(
                f"The model {name!r} has failed {self._in_a_row} times in a row and is left alone.",
                retry_after_s=wait,
            )
        self._opened_at = now

    def failed(self, now: float) -> None:
        """Count a failure that the model, not the request, is to blame for."""
        self._in_a_row += 1
        if self._in_a_row >= self.failures:
            self._opened_at = now

    def succeeded(self) -> None:
        """Close the circuit."""
        self._in_a_row = 0
        self._opened_at = None
