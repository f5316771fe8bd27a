"""The results of a run, as plain values."""

from dataclasses import dataclass
from statistics import fmean

TURNS_PER_SESSION = 4
"""In a short session."""
EARLY_TURN, LATE_TURN = 5, 200
"""Turns of a long session that are compared."""


@dataclass(frozen=True, kw_only=True)
class StartUp:
    """One start of a target and its first turn."""

    ready_s: float
    first_turn_s: float
    """The first turn after it said that it is ready."""
    ready_rss_mib: float
    first_turn_rss_mib: float


@dataclass(frozen=True, kw_only=True)
class Block:
    """Turns of one round, one after the other in short sessions."""

    cpu_ms: float
    """Mean CPU of a turn, of the target alone."""
    stub_cpu_ms: float
    """Mean CPU of the model stub for a turn: its share of the walls."""
    wall_ms: tuple[float, ...]
    """Of each turn."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Median CPU of a turn early and late in a session, measured in alternation."""

    early_ms: float
    late_ms: float

    @property
    def ratio(self) -> float:
        return self.late_ms / self.early_ms


@dataclass(frozen=True, kw_only=True)
class Burst:
    """Turns sent all at once, each in a session of its own."""

    sent: int
    failures: tuple[str, ...]
    duration_s: float
    cpu_ms: float
    """Mean CPU of a turn."""

    @property
    def turns_per_s(self) -> float:
        return (self.sent - len(self.failures)) / self.duration_s


@dataclass(frozen=True, kw_only=True)
class Line:
    """Messages sent to one session all at once."""

    sent: int
    fault: str | None
    """The error of one of them, or of their order; None if there is none."""
    duration_s: float


@dataclass(frozen=True, kw_only=True)
class TargetResult:
    """All of one target, in the order measured; rounds were interleaved with other targets'."""

    about: str
    starts: tuple[StartUp, ...]
    blocks: tuple[Block, ...]
    bursts: tuple[Burst, ...]
    growth: Growth | None
    line: Line | None
    final_rss_mib: float

    def wall_ms(self, quantile: float) -> float:
        """Wall time of a turn without the model stub's share."""
        stub = fmean(block.stub_cpu_ms for block in self.blocks)
        walls = sorted(wall for block in self.blocks for wall in block.wall_ms)
        return walls[int(quantile * (len(walls) - 1))] - stub

    def cpu_ratios(self, reference: "TargetResult") -> list[float]:
        """CPU of a turn relative to `reference`, round by round."""
        pairs = zip(self.blocks, reference.blocks, strict=True)
        return [mine.cpu_ms / theirs.cpu_ms for mine, theirs in pairs]

    @property
    def failures(self) -> list[str]:
        return [failure for burst in self.bursts for failure in burst.failures]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A whole run."""

    targets: dict[str, TargetResult]
    spin_ms: tuple[float, ...]
    """A fixed loop in the driver, timed in each round: how steady the machine was."""
