"""Messages and cards about checked homework."""

from pydantic import JsonValue

from mcp_tools.homework import Summary
from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn

from .judging import Corrected
from .memory import Memory
from .sentences import say

_SMILE = {"type": "smile"}
_DANCE = {"type": "dance"}


def corrected(turn: SceneTurn, memory: Memory, score: int | None, summary: Summary) -> Reply:
    """The verdicts, and then the first item that needs another look, or the end."""
    first = memory.to_tutor(0)
    told = _verdict(memory, turn.language)
    if first is None:
        all_right = all(item.correct for item in memory.items)
        judged = any(item.correct is not None for item in memory.items)
        parts = [told, *([summary.summary] if judged else []), say()("what_next", turn.language)]
        return Reply(
            text="\n".join(parts),
            phase="summary",
            data=memory.kept(turn.data),
            card=_card(memory, score, summary),
            suggested_actions=say().choices("when_done", turn.language),
            device_actions=(_DANCE, _SMILE) if all_right else (),
        )
    memory = memory.with_changes(at=first)
    return Reply(
        text=f"{told}\n{look_at(memory, turn.language)}",
        phase="tutoring",
        data=memory.kept(turn.data),
        card=_card(memory, score, summary),
        suggested_actions=say().choices("while_tutoring", turn.language),
    )


def summed_up(turn: SceneTurn, memory: Memory, summary: Summary, praise: str) -> Reply:
    """How it went, when all items have been talked about."""
    parts = [praise]
    if memory.solved:
        parts.append(say()("improved", turn.language, count=str(len(memory.solved))))
    parts += [summary.summary, say()("what_next", turn.language)]
    return Reply(
        text="\n".join(parts),
        phase="summary",
        data=memory.kept(turn.data),
        card=_card(memory, None, summary),
        suggested_actions=say().choices("when_done", turn.language),
        device_actions=(_SMILE,) if memory.solved else (),
    )


def look_at(memory: Memory, language: Language) -> str:
    """Return the message with which the child is shown the current item."""
    item, number = memory.items[memory.at], str(memory.at + 1)
    if item.answer is None:
        return say()("look_at_open", language, number=number, question=item.question)
    return say()(
        "look_at",
        language,
        number=number,
        question=item.question,
        answer=item.answer,
        comment=item.comment,
    )


def _verdict(memory: Memory, language: Language) -> str:
    judged = [item for item in memory.items if item.correct is not None]
    right = sum(item.correct is True for item in judged)
    open_ = sum(item.correct is None and item.answer is not None for item in memory.items)
    if not judged:
        told = say()("none_judged", language)
    elif right == len(memory.items):
        told = say()("all_right", language, count=str(right))
    else:
        sentence = "some_right" if len(judged) == len(memory.items) else "some_judged"
        told = say()(
            sentence,
            language,
            total=str(len(memory.items)),
            count=str(len(judged)),
            right=str(right),
        )
    if open_:
        told += "\n" + say()("not_judged", language, count=str(open_))
    return told


def _card(memory: Memory, score: int | None, summary: Summary) -> dict[str, JsonValue]:
    """Return the card of the result, without the right answers: the child is to find them.

    The score counts only the items that have a verdict.
    """
    card: dict[str, JsonValue] = {
        "kind": "homework",
        "score": score,
        "judged": sum(item.correct is not None for item in memory.items),
        "items": [
            {**_shown(item), "number": number, "solved": number - 1 in memory.solved}
            for number, item in enumerate(memory.items, 1)
        ],
    }
    return {**card, **summary.model_dump(mode="json")}


def _shown(item: Corrected) -> dict[str, JsonValue]:
    return item.model_dump(mode="json", exclude={"expected", "topic"})
