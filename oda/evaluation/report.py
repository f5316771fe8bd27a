"""The report of an evaluation: what passed, its cost, a comparison with another. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from oda.evaluation.recording import PromptMark

_COLUMNS = ("set", "passed", "", "model calls", "tokens in", "tokens out", "seconds")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class Exchange(_Value):
    """A message and its reply."""

    said: str
    reply: str


class CaseResult(_Value):
    """What came of a case."""

    set: str
    case: str
    problems: tuple[str, ...] = ()
    talk: tuple[Exchange, ...] = ()
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.problems


class Report(_Value):
    """An evaluation of an application."""

    app: str
    model: str
    judge: str | None = None
    """The model that judged, if it is another one."""
    at: datetime
    prompts: dict[str, PromptMark] = {}
    stale: tuple[str, ...] = ()
    """Prompts that have changed since the answers were recorded."""
    results: tuple[CaseResult, ...] = ()

    @property
    def share(self) -> float:
        """The share of the cases that passed, from 0 to 1."""
        return _share(self.results)


def table(report: Report) -> Iterator[str]:
    """Yield the lines of a table: one for each set, and one for all."""
    by_set: dict[str, list[CaseResult]] = {}
    for result in report.results:
        by_set.setdefault(result.set, []).append(result)
    rows = [_COLUMNS, *(_row(name, some) for name, some in by_set.items())]
    if len(by_set) > 1:
        rows.append(_row("all", report.results))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells])


def heading(report: Report) -> str:
    """Return which application, model and prompts a report is about."""
    prompts = ", ".join(f"{name} {mark.version}" for name, mark in report.prompts.items())
    judge = f", judged by {report.judge}" if report.judge else ""
    return f"{report.app} on {report.model}{judge}; prompts: {prompts or 'none'}"


def failures(report: Report) -> Iterator[str]:
    """Yield a line for each problem."""
    for result in report.results:
        for problem in result.problems:
            yield f"{result.set}/{result.case}: {problem}"


def stale_prompts(report: Report) -> Iterator[str]:
    """Yield a line for each prompt that has changed since the answers were recorded."""
    for name in report.stale:
        yield f"stale: the prompt {name!r} has changed since these answers were recorded"


def comparison(report: Report, earlier: Report) -> Iterator[str]:
    """Yield what is better and worse than in an earlier report."""
    before = {(one.set, one.case): one for one in earlier.results}
    common = [one for one in report.results if (one.set, one.case) in before]
    was = [before[one.set, one.case] for one in common]
    yield f"compared with {heading(earlier)}:"
    yield f"  {_share(was):.0%} -> {_share(common):.0%} of {len(common)} cases"
    for then, now in zip(was, common, strict=True):
        if then.passed != now.passed:
            why = "" if now.passed else f": {now.problems[0]}"
            yield f"  {'better' if now.passed else 'worse'}: {now.set}/{now.case}{why}"


def markdown(report: Report, compared: Sequence[str] = ()) -> str:
    """Return the report for people."""
    lines = [f"# {heading(report)}", "", f"{report.at:%Y-%m-%d %H:%M} UTC", ""]
    lines += ["```", *table(report), "```", ""]
    lines += [f"{line}\n" for line in stale_prompts(report)]
    if compared:
        lines += ["```", *compared, "```", ""]
    for result in report.results:
        if not result.passed:
            lines += [f"## {result.set}/{result.case}", ""]
            lines += [f"- {problem}" for problem in result.problems]
            lines += ["", *(line for one in result.talk for line in _quoted(one))]
    return "\n".join(lines)


def _quoted(exchange: Exchange) -> Iterator[str]:
    for who, text in (("user", exchange.said), ("agent", exchange.reply)):
        yield f"> **{who}**: " + text.replace("\n", "\n> ")
        yield ">"


def _row(name: str, results: Sequence[CaseResult]) -> tuple[str, ...]:
    passed = sum(result.passed for result in results)
    return (
        name,
        f"{passed}/{len(results)}",
        f"{_share(results):.0%}",
        str(sum(result.model_calls for result in results)),
        str(sum(result.tokens_in for result in results)),
        str(sum(result.tokens_out for result in results)),
        f"{sum(result.seconds for result in results):.1f}",
    )


def _share(results: Sequence[CaseResult]) -> float:
    return sum(result.passed for result in results) / len(results) if results else 1.0
