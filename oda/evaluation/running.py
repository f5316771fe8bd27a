"""Runs evaluation sets, each case in a session of its own, in a context that is thrown away."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from google.adk.models.llm_response import LlmResponse
from pydantic import SecretStr
from pydantic_core import to_json

from oda.agent.model.gate import listener
from oda.agent.model.registry import DEFAULT
from oda.agent.outcome import outcome_of
from oda.clock import Clock
from oda.context import OdaContext
from oda.errors import NotConfiguredError, OdaError
from oda.evaluation.cases import Case, EvaluationSet, Said
from oda.evaluation.checks import Seen, problems
from oda.evaluation.judge import Judge
from oda.evaluation.recording import Recording, steps_of
from oda.evaluation.report import CaseResult, Exchange
from oda.message.reply import Reply
from oda.session.oda_session import OdaSession
from oda.settings import Settings
from oda.testing.model_server import ModelServer
from oda.testing.script import Error, Script, Step

_NONE_LEFT = Error(
    status=400,
    message="no recorded answer is left for this call; record them again: oda eval APP --record",
    times=None,
)


@dataclass(frozen=True)
class Run:
    """A case as it went."""

    result: CaseResult
    answers: Sequence[Step]
    """What the model has answered, the judge included."""


async def run_live(
    settings: Settings,
    app: str,
    sets: Mapping[str, EvaluationSet],
    clock: Clock,
    *,
    judge: str = DEFAULT,
    at_once: int,
) -> list[Run]:
    """Run sets on the configured model.

    Args:
        judge: The name of the judging model.
        at_once: How many cases to run at the same time.

    Raises:
        NotConfiguredError: there is no model.
        AgentNotFoundError, AgentLoadError: the app is not there, or broken.
        ConfigurationError: a setting is wrong, or a key is missing.
    """
    async with _opened(settings, app) as oda:
        if oda.models.record(DEFAULT) is None:
            raise NotConfiguredError(
                "no model is configured that could be evaluated",
                remedy="set ODA_MODEL, for example to openai/gpt-4o or gemini-2.5-flash, and the "
                "provider's key; or take the recorded answers: --recorded",
            )
        places = asyncio.Semaphore(at_once)

        async def run(name: str, cases: EvaluationSet, case: Case) -> Run:
            async with places:
                return await _CaseRun(oda, app, Judge(judge), clock).run(name, cases, case)

        runs = [run(name, cases, case) for name, cases in sets.items() for case in cases.cases]
        return await asyncio.gather(*runs)


async def run_recorded(
    settings: Settings,
    app: str,
    sets: Mapping[str, EvaluationSet],
    recordings: Mapping[str, Recording],
    clock: Clock,
) -> list[Run]:
    """Run sets on recorded answers, which a model server plays over HTTP.

    Raises:
        AgentNotFoundError, AgentLoadError: the app is not there, or broken.
        ConfigurationError: a setting is wrong.
    """
    runs = []
    async with ModelServer() as server:
        recorded = {
            "model": "openai/recorded",
            "model_api_base": server.openai_base,
            "model_api_key": SecretStr("no-key-needed"),
            "retry": {"max_retries": 0},
        }
        async with _opened(settings.model_copy(update=recorded), app) as oda:
            for name, cases in sets.items():
                for case in cases.cases:
                    answers = recordings[name].answers.get(case.name, ())
                    server.play(Script(steps=answers, default=_NONE_LEFT))
                    case_run = _CaseRun(oda, app, Judge(DEFAULT), clock)
                    runs.append(await case_run.run(name, cases, case))
    return runs


@asynccontextmanager
async def _opened(settings: Settings, app: str) -> AsyncIterator[OdaContext]:
    with TemporaryDirectory(prefix="oda-eval-") as scratch:
        nowhere = {"data_dir": Path(scratch), "database_url": None, "session_service": None}
        async with OdaContext(settings.model_copy(update=nowhere)) as oda:
            await oda.definitions.load(app)
            await oda.warm_up()
            yield oda


@dataclass
class _CaseRun:
    """One case on its way."""

    oda: OdaContext
    app: str
    judge: Judge
    clock: Clock
    heard: list[LlmResponse] = field(default_factory=list)
    talk: list[Exchange] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    async def run(self, name: str, cases: EvaluationSet, case: Case) -> Run:
        began = self.clock.now()
        listener.set(self.heard.append)
        session = await self.oda.sessions.create(self.app, state=cases.state_of(case))
        reply = None
        for said in case.talk:
            if (reply := await self._exchange(session, said, reply)) is None:
                break
        used = [one.usage_metadata for one in self.heard if one.usage_metadata]
        result = CaseResult(
            set=name,
            case=case.name,
            problems=tuple(self.wrong),
            talk=tuple(self.talk),
            model_calls=len(self.heard),
            tokens_in=sum(one.prompt_token_count or 0 for one in used),
            tokens_out=sum(one.candidates_token_count or 0 for one in used),
            seconds=self.clock.now() - began,
        )
        return Run(result, steps_of(self.heard))

    async def _exchange(self, session: OdaSession, said: Said, last: Reply | None) -> Reply | None:
        """Say a message and check what comes of it; None if the turn has failed."""
        text = said.say if isinstance(said.say, str) else to_json(said.say).decode()
        before, heard = session.state.to_dict(), len(self.heard)
        reply, failure = None, None
        try:
            reply = await _answered(session, text, last)
            failure = reply.error["message"] if reply.error else None
        except OdaError as error:
            failure = str(error)
        await session.refresh()
        seen = _seen(reply, failure, before, session, model_calls=len(self.heard) - heard)
        self.talk.append(Exchange(said=text, reply=seen.reply))
        where = f"message {len(self.talk)}: " if len(self.talk) > 1 else ""
        self.wrong += (f"{where}{problem}" for problem in problems(said.expect, seen))
        if failure is None and (objection := await self._judged(said.expect.judge, seen)):
            self.wrong.append(f"{where}{objection}")
        return None if failure is not None else reply

    async def _judged(self, statement: str | None, seen: Seen) -> str | None:
        if statement is None:
            return None
        try:
            return await self.judge.objection(statement, self.talk, seen.after)
        except Exception as error:  # whatever the judge does, the other cases go on
            return f"the judge failed: {error}"


async def _answered(session: OdaSession, text: str, last: Reply | None) -> Reply:
    """Say a text, or answer with it what the last turn waits for."""
    asked = outcome_of(last.events).pending_input if last is not None else ()
    if not asked:
        return await session.ask(text)
    return await session.ask(await session.answer([(one["id"], None, text) for one in asked]))


def _seen(
    reply: Reply | None,
    failure: str | None,
    before: Mapping[str, object],
    session: OdaSession,
    *,
    model_calls: int,
) -> Seen:
    events = reply.events if reply is not None else ()
    calls = [call.name or "" for event in events for call in event.get_function_calls()]
    return Seen(
        reply=outcome_of(events).reply,
        calls=[name for name in calls if not name.startswith("adk_request_")],
        before=before,
        after=session.state.to_dict(),
        model_calls=model_calls,
        failure=failure,
    )
