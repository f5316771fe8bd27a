"""Rules that decide whether a run has passed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scripts.soaking.honest import SCENES
from scripts.soaking.hostile.crowd import LANES
from scripts.soaking.tally import Tally
from scripts.soaking.watch import Sample

_SETTLED_S = 600.0
"""Time after which a server has loaded and cached what it needs."""
_WINDOW_S = 120.0
_MOST_GROWTH = 1.10
_MOST_GROWTH_SHORT = 1.5
"""Growth limit for short runs, which end before the caches are full: they only show runaway growth.
"""
_MORE_LEFT = 60
"""Allowance for files and connections that pools keep open at the end of a run."""
_BROKEN = re.compile(r"request_broken|never retrieved|was destroyed but it is pending")
"""Matches log messages that a correct server never writes."""


@dataclass(frozen=True)
class Rule:
    """A requirement and the values measured for it."""

    name: str
    seen: str
    holds: bool


def rules(
    samples: Sequence[Sample], tally: Tally, log: str, *, idle: Sample, settled: Sample
) -> list[Rule]:
    """Evaluate all rules.

    Args:
        samples: Taken under load.
        idle: Taken before the load.
        settled: Taken after the load.
    """
    broken = _BROKEN.findall(log)
    unserved = sorted(SCENES - set(tally.served))
    unmade = sorted({lane.name for lane in LANES} - set(tally.attacks))
    return [
        _memory(samples),
        Rule("honest errors", str(len(tally.errors)), not tally.errors),
        Rule("attacks that ended otherwise", str(len(tally.findings)), not tally.findings),
        Rule("every scene was played", ", ".join(unserved) or "all", not unserved),
        Rule("every attack was made", ", ".join(unmade) or "all", not unmade),
        _left("connections", idle.connections, settled.connections),
        _left("open files", idle.files, settled.files),
        Rule("broken requests in the log", str(len(broken)), not broken),
    ]


def _memory(samples: Sequence[Sample]) -> Rule:
    end_s = samples[-1].at_s
    is_long = end_s > _SETTLED_S + 2 * _WINDOW_S
    since_s, window_s = (_SETTLED_S, _WINDOW_S) if is_long else (end_s / 3, end_s / 3)
    most = _MOST_GROWTH if is_long else _MOST_GROWTH_SHORT
    before = median(s.memory_mib for s in samples if since_s <= s.at_s <= since_s + window_s)
    after = median(s.memory_mib for s in samples if s.at_s >= end_s - window_s)
    return Rule(
        f"memory at the end, beside that after {since_s / 60:.1f} minutes: at most × {most:.2f}",
        f"{before:.0f} → {after:.0f} MiB, × {after / before:.2f}",
        after <= before * most,
    )


def _left(what: str, before: int, after: int) -> Rule:
    return Rule(f"{what} left", f"{before} → {after}", after <= before + _MORE_LEFT)
