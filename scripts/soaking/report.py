"""The results of a run as a section of docs/reliability.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.soaking.tally import Tally, percentile
from scripts.soaking.verdict import Rule
from scripts.soaking.watch import Sample

_BEGIN, _END = "<!-- soak: begin -->\n", "<!-- soak: end -->\n"
_MOST_ROWS = 13
_MOST_TOLD = 20
_LONGEST = 400
_SAME = 60
"""Length of the common prefix by which messages are grouped, in characters."""


def report(command: str, samples: Sequence[Sample], tally: Tally, found: Sequence[Rule]) -> str:
    """Return the section as Markdown."""
    return "\n".join(_lines(command, samples, tally, found)) + "\n"


def replace_section(file: Path, section: str) -> None:
    """Replace the section of the previous run.

    Raises:
        ValueError: the file has no markers of the section.
    """
    text = file.read_text()
    head, begin, rest = text.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{file} has no lines {_BEGIN.strip()} and {_END.strip()}")
    file.write_text(f"{head}{begin}{section}{end}{tail}")


def _lines(
    command: str, samples: Sequence[Sample], tally: Tally, found: Sequence[Rule]
) -> Iterator[str]:
    yield f"`{command}`"
    yield ""
    yield "| rule | seen | holds |"
    yield "|---|---|---|"
    for rule in found:
        yield f"| {rule.name} | {rule.seen} | {'yes' if rule.holds else '**no**'} |"
    yield ""
    visits, attacks = sum(tally.served.values()), sum(tally.attacks.values())
    latencies = tally.latencies_s
    p50, p99 = (1000 * percentile(latencies, share) for share in (0.5, 0.99))
    yield (
        f"{visits} visits of honest users with {len(latencies)} requests "
        f"(p50 {p50:.0f} ms, p99 {p99:.0f} ms), beside {attacks} attacks."
    )
    yield ""
    yield "| minute | memory MiB | files | connections | threads | requests | p50 ms | p99 ms |"
    yield "|---|---|---|---|---|---|---|---|"
    step = max(1, len(samples) // (_MOST_ROWS - 1))
    for s in samples[::step]:
        numbers = (s.memory_mib, s.files, s.connections, s.threads, s.requests, s.p50_ms, s.p99_ms)
        yield f"| {s.at_s / 60:.1f} | " + " | ".join(f"{one:.0f}" for one in numbers) + " |"
    yield ""
    yield "| attack | times |"
    yield "|---|---|"
    for name, count in sorted(tally.attacks.items()):
        yield f"| {name} | {count} |"
    for title, told in (("Errors", tally.errors), ("Findings", tally.findings)):
        if told:
            yield ""
            yield f"{title}, the first of each kind:"
            first = {one[:_SAME]: one for one in reversed(told)}
            yield from (f"- {one[:_LONGEST]}" for one in list(first.values())[::-1][:_MOST_TOLD])
