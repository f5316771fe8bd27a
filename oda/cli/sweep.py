"""`oda sessions sweep`: the sessions of orchestrators, validated without waiting for a message."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from oda.cli.exit_code import ExitCode
from oda.cli.listing import print_lines
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.context import OdaContext
from oda.errors import InvalidRequestError
from oda.orchestration.orchestrator import Orchestrator
from oda.session.oda_session import OdaSession
from oda.session.sweep import Sweep, Swept, orchestrators
from oda.settings import Settings

_OUTCOMES = ("reset", "valid", "busy", "failed")


def sweep_sessions(*, app: str | None, agents_dir: Path | None, as_json: bool) -> ExitCode:
    """Reset what does not hold any more in the orchestrated sessions of all users.

    The code is `FAILED` if a session could not be looked at.

    Raises:
        AgentNotFoundError, AgentLoadError: there is no such app, or it is broken.
        InvalidRequestError: it has no orchestrator.
        ConfigurationError: a file or URL is wrong.
        UnavailableError: the database cannot be reached.
    """
    swept = asyncio.run(_sweep(load_settings(agents_dir=agents_dir), app))
    if as_json:
        print(json.dumps({"apps": [_summary(*one) for one in swept.items()]}, indent=2))
    elif swept:
        print_lines(line for one in swept.items() for line in _lines(*one))
    else:
        print("no app has an orchestrator")
    failed = any(one.outcome == "failed" for sessions in swept.values() for one in sessions)
    return ExitCode.FAILED if failed else ExitCode.OK


async def _sweep(settings: Settings, app: str | None) -> Mapping[str, Sequence[Swept]]:
    async with OdaContext(settings) as oda:

        async def unfinished(session: OdaSession) -> bool:
            return bool(await oda.turns.unfinished(session))

        sweep = Sweep(oda.sessions, unfinished, SystemClock())
        swept: dict[str, list[Swept]] = {}
        for name, orchestrator in _chosen(oda, app).items():
            swept[name] = []
            with oda.database.reaching():
                async with aclosing(sweep.of_app(name, orchestrator)) as sessions:
                    async for one in sessions:
                        swept[name].append(one)
                        if one.outcome == "reset":
                            await _record(oda, name, one)
        return swept


def _chosen(oda: OdaContext, app: str | None) -> Mapping[str, Orchestrator]:
    if app is not None:
        oda.definitions.get(app)
    found = orchestrators(oda.definitions)
    if app is None:
        return found
    if app not in found:
        raise InvalidRequestError(
            f"The app {app!r} has no orchestrator.",
            remedy=f"there are: {', '.join(found) or 'none'}",
        )
    return {app: found[app]}


async def _record(oda: OdaContext, app: str, one: Swept) -> None:
    await record_command(
        oda.database,
        "oda sessions sweep",
        f"{app}/{one.user_id}/{one.session_id}",
        user_id=one.user_id,
        detail={"resets": list(one.resets)},
    )


def _summary(app: str, sessions: Sequence[Swept]) -> dict[str, Any]:
    outcomes: Counter[str] = Counter(one.outcome for one in sessions)
    return {
        "app": app,
        **{outcome: outcomes[outcome] for outcome in _OUTCOMES},
        "resets": Counter(reset for one in sessions for reset in one.resets),
        "sessions": [
            {
                "user_id": one.user_id,
                "session_id": one.session_id,
                "outcome": one.outcome,
                "resets": one.resets,
                "reason": one.reason,
            }
            for one in sessions
            if one.outcome != "valid"
        ],
    }


def _lines(app: str, sessions: Sequence[Swept]) -> Iterator[str]:
    for one in sessions:
        if one.outcome != "valid":
            why = ", ".join(one.resets) or one.reason
            yield f"{one.outcome:6}  {one.session_id}  {one.user_id}  {why}".rstrip()
    summary = _summary(app, sessions)
    counts = ", ".join(f"{summary[outcome]} {outcome}" for outcome in _OUTCOMES)
    reasons = ", ".join(f"{count} {reset}" for reset, count in sorted(summary["resets"].items()))
    yield f"{app}: {counts}" + (f" ({reasons})" if reasons else "")
