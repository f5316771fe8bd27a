"""The cost of the resume agent's turns late in a session, relative to early ones.

In this process: an embedded `OdaContext` on SQLite, and a model server in a process of its own.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from oda import OdaContext, OdaSession
from oda.testing.script import Call, Match, Script, Text, ToolCalls
from scripts.benchmark.goals import CV_GROWTH_RATIO, Goal
from scripts.benchmark.model_stub import model_stub
from scripts.benchmark.target import REPOSITORY, TurnFailed

EARLY_TURN, FULL_TURN, LATE_TURN = 5, 40, 500
"""At the second one, all that is bounded is full: window, summary, edits that can be undone."""
_AROUND = 6
_REPETITIONS = 4

_RESUME: dict[str, Any] = {
    "basics": {"name": "张三", "phone": "13800000000"},
    "work": [{"name": "腾讯", "position": "前端工程师", "summary": "写代码"}],
    "skills": [{"name": "Go"}, {"name": "Python"}],
}
SCRIPT = Script(
    steps=(
        Text(match=Match(last_user="Summarise this"), times=None, text="改过电话和工作描述。"),
        Text(match=Match(after_tool=True), times=None, text="已经润色好了。"),
        ToolCalls(
            times=None,
            calls=(
                Call(
                    name="CVEditor",
                    args={"path": "work[0].summary", "action": "update", "value": "负责开发"},
                ),
            ),
        ),
    )
)


@dataclass(frozen=True, kw_only=True)
class CvGrowth:
    """Mean CPU of a turn, in milliseconds, at three places of a session."""

    layer: str
    early_ms: float
    full_ms: float
    late_ms: float

    @property
    def goal(self) -> Goal:
        name = f"cv, {self.layer} turns: CPU of turn {LATE_TURN} / turn {EARLY_TURN}"
        return Goal(name=name, value=self.late_ms / self.early_ms, limit=CV_GROWTH_RATIO)

    def __str__(self) -> str:
        return (
            f"cv, {self.layer} turns: {self.early_ms:.1f} ms around turn {EARLY_TURN}, "
            f"{self.full_ms:.1f} around {FULL_TURN}, {self.late_ms:.1f} around {LATE_TURN}; "
            f"turn {LATE_TURN} / turn {EARLY_TURN}: {self.late_ms / self.early_ms:.2f}, "
            f"/ turn {FULL_TURN}: {self.late_ms / self.full_ms:.2f}"
        )


async def cv_growth(directory: Path) -> list[CvGrowth]:
    """Measure turns that rules answer, and turns that the model answers.

    Raises:
        TurnFailed: a turn came to another end than its answer.
    """
    async with (
        model_stub(directory, SCRIPT) as model,
        OdaContext.from_settings(
            agents_dir=REPOSITORY / "agents",
            data_dir=directory / "data",
            model="openai/stub",
            model_api_base=model.openai_base,
        ) as oda,
    ):
        return [await _growth(oda, "rules"), await _growth(oda, "model")]


async def _growth(oda: OdaContext, layer: str) -> CvGrowth:
    """Compare a long session with short ones, in alternation, as the machine may get slower."""
    long_session = await _session(oda)
    for number in range(LATE_TURN - _AROUND):
        await _turn(long_session, layer, number)
    early, full, late = [], [], []
    number = LATE_TURN - _AROUND
    for _ in range(_REPETITIONS):
        for _ in range(_AROUND):
            late.append(await _turn(long_session, layer, number))
            number += 1
        short_session = await _session(oda)
        costs = [await _turn(short_session, layer, n) for n in range(FULL_TURN + _AROUND)]
        early += costs[EARLY_TURN - 2 : EARLY_TURN + 1]
        full += costs[FULL_TURN:]
    return CvGrowth(layer=layer, early_ms=fmean(early), full_ms=fmean(full), late_ms=fmean(late))


async def _session(oda: OdaContext) -> OdaSession:
    return await oda.sessions.create("cv", state={"resume": _RESUME})


async def _turn(session: OdaSession, layer: str, number: int) -> float:
    """Run one turn; the milliseconds of CPU that it took."""
    message = _polish(number) if layer == "model" else _command(number)
    began = time.process_time()
    reply = await session.ask(message)
    if not reply.ok:
        raise TurnFailed(f"{message}: {reply.error}")
    return (time.process_time() - began) * 1e3


def _command(number: int) -> str:
    return f"把电话改成138{number:08d}" if number % 3 else "看看我的技能"


def _polish(number: int) -> str:
    return f"帮我润色第一段工作的描述，这是第{number}次"
