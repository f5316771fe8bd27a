"""The results of a run, as plain values."""

from dataclasses import dataclass
from statistics import fmean, median

TURNS_PER_SESSION = 4
"""In a short session."""
EARLY_TURN, FULL_TURN, LATE_TURN = 5, 32, 200
"""Turns of a long session that are compared; at the second one the window of events is full."""


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
    """Median CPU of a turn at three places of a session, measured in alternation."""

    early_ms: float
    full_ms: float
    late_ms: float


@dataclass(frozen=True, kw_only=True)
class Paced:
    """Turns with a model at the pace of a real one, so many at a time, in sessions of their own."""

    at_once: int
    wall_ms: tuple[float, ...]
    """Of each turn that came to its answer."""
    first_token_late_ms: tuple[float, ...]
    """Time from the model's first token of the answer to the client's; empty if it is not told."""
    failures: tuple[str, ...]
    duration_s: float
    cpu_ms: float
    """Mean CPU of a turn."""

    @property
    def turns_per_s(self) -> float:
        return len(self.wall_ms) / self.duration_s

    @property
    def p99_to_p50(self) -> float:
        walls = sorted(self.wall_ms)
        return walls[int(0.99 * (len(walls) - 1))] / median(walls)


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
    paced: tuple[Paced, ...]
    growth: Growth | None
    line: Line | None
    bytes_per_turn: float | None
    """Of the database, in short sessions; None without one."""
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

    def at_once(self, number: int) -> Paced | None:
        return next((paced for paced in self.paced if paced.at_once == number), None)

    @property
    def failures(self) -> list[str]:
        return [failure for paced in self.paced for failure in paced.failures]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A whole run."""

    targets: dict[str, TargetResult]
    spin_ms: tuple[float, ...]
    """A fixed loop in the driver, timed in each round: how steady the machine was."""
