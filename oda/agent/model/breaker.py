"""Circuit breaker: a model that keeps failing is not called for a while."""

from dataclasses import dataclass

from oda.errors import CircuitOpenError


@dataclass
class Breaker:
    """Circuit that opens after `failures` consecutive failures.

    Every `pause_s` seconds, one call is let through. Times are seconds of the caller's clock.
    """

    failures: int
    pause_s: float
    _in_a_row: int = 0
    _opened_at: float | None = None

    def check(self, name: str, now: float) -> None:
        """Check that a call is allowed.

        Raises:
            CircuitOpenError: the circuit is open; `retry_after_s` is the remaining time.
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
        """Count a failure caused by the model rather than by the request."""
        self._in_a_row += 1
        if self._in_a_row >= self.failures:
            self._opened_at = now

    def succeeded(self) -> None:
        """Close the circuit."""
        self._in_a_row = 0
        self._opened_at = None
