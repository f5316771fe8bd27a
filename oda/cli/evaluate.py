"""`oda eval`: the cases of an application's evaluation sets, on a model or on recorded answers."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from oda.agent.model.registry import DEFAULT
from oda.agent.prompt import prompts_in
from oda.cli.exit_code import ExitCode
from oda.cli.listing import print_lines
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.config.files import load_configuration
from oda.errors import AgentNotFoundError, InvalidRequestError
from oda.evaluation.cases import EvaluationSet, sets_of
from oda.evaluation.recording import (
    PromptMark,
    Recording,
    read_recording,
    recording_file,
    write_recording,
)
from oda.evaluation.report import (
    Report,
    comparison,
    failures,
    heading,
    markdown,
    stale_prompts,
    table,
)
from oda.evaluation.running import Run, run_live, run_recorded
from oda.settings import Settings

_CASES_AT_ONCE = 4


def evaluate(
    app: str,
    *,
    only_set: str | None,
    only_case: str | None,
    judge: str | None,
    recorded: bool,
    record: bool,
    compare: Path | None,
    at_least: int,
    agents_dir: Path | None,
    as_json: bool,
) -> ExitCode:
    """Run the cases, print a table, and write the report.

    Raises:
        AgentNotFoundError, AgentLoadError: the app is not there, or broken.
        InvalidRequestError: there is no such set, case, recording or report.
        ConfigurationError: a file or a setting is wrong.
        NotConfiguredError: there is no model, and the answers are not taken from a recording.
    """
    settings = load_settings(agents_dir=agents_dir)
    folder = settings.agents_dir / app
    if not folder.is_dir():
        raise AgentNotFoundError(
            f"There is no agent {app!r} in {settings.agents_dir}.", remedy="see `oda agents`"
        )
    sets = _with_case(sets_of(app, folder, only_set), only_case)
    earlier = None if compare is None else _read_report(compare)
    marks = {prompt.name: PromptMark.of(prompt) for prompt in prompts_in(folder)}
    clock = SystemClock()
    stale: list[str] = []
    if recorded:
        recordings = {name: read_recording(recording_file(folder, name)) for name in sets}
        stale = _stale(sets, recordings, marks)
        model = ", ".join(sorted({f"{one.model} (recorded)" for one in recordings.values()}))
        runs = asyncio.run(run_recorded(settings, app, sets, recordings, clock))
    else:
        model = _model_name(settings)
        live = run_live(settings, app, sets, clock, judge=judge or DEFAULT, at_once=_CASES_AT_ONCE)
        runs = asyncio.run(live)
    report = Report(
        app=app,
        model=model,
        judge=judge,
        at=datetime.now(UTC),
        prompts=marks,
        stale=tuple(stale),
        results=tuple(run.result for run in runs),
    )
    if record:
        for name, cases in sets.items():
            _record(recording_file(folder, name), cases, name, runs, model, marks)
    compared = list(comparison(report, earlier)) if earlier is not None else []
    written = _write(report, compared, settings.data_dir / "evaluation")
    if as_json:
        print(report.model_dump_json(indent=2))
    else:
        print_lines(_lines(report, compared))
        print_lines([f"report: {written}"])
    return ExitCode.OK if report.share * 100 >= at_least else ExitCode.FAILED


def _with_case(sets: Mapping[str, EvaluationSet], only: str | None) -> Mapping[str, EvaluationSet]:
    """Return the sets with the only case that is wanted."""
    if only is None:
        return sets
    found = {
        name: cases.model_copy(update={"cases": (case,)})
        for name, cases in sets.items()
        for case in cases.cases
        if case.name == only
    }
    if not found:
        known = ", ".join(case.name for cases in sets.values() for case in cases.cases)
        raise InvalidRequestError(f"There is no case {only!r}.", remedy=f"there are: {known}")
    return found


def _read_report(file: Path) -> Report:
    try:
        return Report.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise InvalidRequestError(
            f"{file} is no report of `oda eval`.", remedy="name a JSON file that it has written"
        ) from error


def _model_name(settings: Settings) -> str:
    known = load_configuration(settings.config_dir).models.get(DEFAULT)
    return settings.model or (known.model if known is not None else "none")


def _stale(
    sets: Mapping[str, EvaluationSet],
    recordings: Mapping[str, Recording],
    marks: Mapping[str, PromptMark],
) -> list[str]:
    """Return the prompts of the sets that have changed since these were recorded."""
    found: dict[str, None] = {}
    for name, cases in sets.items():
        used = {prompt: marks[prompt] for prompt in cases.prompts}
        found |= dict.fromkeys(recordings[name].stale(used))
    return list(found)


def _record(
    file: Path,
    cases: EvaluationSet,
    name: str,
    runs: Sequence[Run],
    model: str,
    marks: Mapping[str, PromptMark],
) -> None:
    """Write down the answers to a set's cases; those of cases that were not run stay."""
    before = read_recording(file) if file.exists() else Recording()
    now = {run.result.case: tuple(run.answers) for run in runs if run.result.set == name}
    prompts = {prompt: marks[prompt] for prompt in cases.prompts}
    answers = {**before.answers, **now}
    write_recording(file, Recording(model=model, prompts=prompts, answers=answers))


def _write(report: Report, compared: Sequence[str], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{report.app}-{report.at:%Y%m%dT%H%M%S}.json"
    file.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    file.with_suffix(".md").write_text(markdown(report, compared), encoding="utf-8")
    return file


def _lines(report: Report, compared: Sequence[str]) -> Iterator[str]:
    yield heading(report)
    yield from stale_prompts(report)
    yield from table(report)
    yield from failures(report)
    yield from compared
