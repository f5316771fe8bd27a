"""Messages and cards about a judged round."""

from collections.abc import Sequence

from pydantic import JsonValue

from oda.orchestration import Reply, SceneTurn

from ..learning.records import Recitation
from .memory import MAX_ROUNDS, Material, Memory
from .sentences import say

_SMILE = {"type": "smile"}
_DANCE = {"type": "dance"}
_NEARLY = 70.0


def passed(turn: SceneTurn, memory: Memory, material: Material, record: Recitation) -> Reply:
    """Praise, and what comes next."""
    titles = [*memory.today.passed, material.title]
    today = memory.today.model_copy(update={"passed": list(dict.fromkeys(titles))})
    perfect = "perfect" if not record.errors else "passed"
    return Reply(
        text=say()(perfect, turn.language, title=material.title, score=str(int(record.score))),
        phase="done",
        data=memory.about(material).with_changes(today=today).kept(),
        card=_card(material, record, ()),
        suggested_actions=_next(turn, memory.with_changes(today=today)),
        device_actions=(_DANCE, _SMILE),
    )


def not_passed(
    turn: SceneTurn,
    memory: Memory,
    material: Material,
    record: Recitation,
    tips: Sequence[str],
) -> Reply:
    """Tips, and another round while there is one."""
    left = MAX_ROUNDS - record.round
    text = say()(
        _outcome(record.score) if left else "last_round",
        turn.language,
        title=material.title,
        score=str(int(record.score)),
        left=str(left),
        tips="".join(f"\n· {tip}" for tip in tips),
    )
    if not left:
        return Reply(
            text=text,
            phase="done",
            data=memory.about(material).kept(),
            card=_card(material, record, tips),
            suggested_actions=_next(turn, memory),
            device_actions=(_SMILE,),
        )
    again = memory.with_changes(said="", hinted=None, round=record.round + 1)
    return Reply(
        text=text,
        phase="listening",
        data=again.kept(),
        card=_card(material, record, tips),
        suggested_actions=say().choices("next_round", turn.language),
    )


def _outcome(score: float) -> str:
    return "nearly" if score >= _NEARLY else "not_passed"


def _card(material: Material, record: Recitation, tips: Sequence[str]) -> dict[str, JsonValue]:
    return {
        "kind": "recitation",
        "title": material.title,
        "author": material.author,
        "score": record.score,
        "passed": record.passed,
        "round": record.round,
        "max_rounds": MAX_ROUNDS,
        "errors": list(record.errors),
        "tips": list(tips),
    }


def _next(turn: SceneTurn, memory: Memory) -> tuple[str, ...]:
    due = [
        say()("recite_title", turn.language, title=item.title)
        for item in memory.today.to_recite[:2]
    ]
    return (*due, *say().choices("when_done", turn.language))
