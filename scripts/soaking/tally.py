"""Counts, latencies and errors of a run."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Results shared by all users and clients of a run."""

    tell: Callable[[str], None]
    """Called with each error and each finding."""
    served: Counter[str] = field(default_factory=Counter)
    """Number of scenes that honest users have completed, by scene."""
    attacks: Counter[str] = field(default_factory=Counter)
    """Number of attacks that had the expected outcome, by attack."""
    errors: list[str] = field(default_factory=list)
    """Unexpected behaviour seen by honest users."""
    findings: list[str] = field(default_factory=list)
    """Unexpected successes of hostile clients."""
    latencies_s: list[float] = field(default_factory=list)
    """Latencies of honest requests, in order."""

    def error(self, what: str) -> None:
        """Record an error seen by an honest user."""
        self.errors.append(what)
        self.tell(f"error: {what}")

    def finding(self, what: str) -> None:
        """Record a success of a hostile client."""
        self.findings.append(what)
        self.tell(f"finding: {what}")

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Measure one request of an honest user, until its answer has arrived."""
        began = time.perf_counter()
        yield
        self.latencies_s.append(time.perf_counter() - began)


def percentile(values: list[float], share: float) -> float:
    """Return the value that this share of the values does not exceed; 0 if there are none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
