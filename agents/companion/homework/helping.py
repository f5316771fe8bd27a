"""The phase `tutoring`: one item after the other is put right, with hints, by the child itself."""

from pydantic import JsonValue

from mcp_tools.homework import collect, summarise
from oda.orchestration import Reply, SceneTurn

from ..chat.aside import aside
from ..rules import agreement_in
from .collecting import answer_in
from .correcting import CorrectRequest, GivenItem, homework_correct
from .judging import Corrected
from .memory import LAST_LEVEL, Memory
from .results import look_at, summed_up
from .sentences import controls, say
from .summing_up import SummaryRequest, homework_summary
from .tutoring import TutorRequest, homework_tutor

_LONGEST_ANSWER = 40
_SHORT = 12
"""A question of so few characters with a number in it is an answer that is not sure."""
_QUESTION_MARKS = ("?", "？")


async def tutor(turn: SceneTurn, memory: Memory) -> Reply:
    """Take an answer, give the next hint, or go on to the next item."""
    control = controls().find(turn.text)
    topic = control.topic if control is not None else None
    if topic == "hint":
        return await _hint(turn, memory, "hint")
    if topic == "wait":
        return _say(turn, memory, say()("take_your_time", turn.language))
    if topic == "tell":
        return await _hint(turn, memory, "no_answer_yet")
    if topic in ("skip", "enough", "more"):
        return _next(turn, memory, say()("later", turn.language))
    if topic == "understood":
        if memory.level < LAST_LEVEL:
            return _say(turn, memory, look_at(memory, turn.language))
        return _next(turn, memory, say()("move_on", turn.language))
    if agreement_in(turn.text) != "unclear" and not _has_digits(turn.text):
        return _say(turn, memory, look_at(memory, turn.language))
    if is_question(turn.text):
        return await _question(turn, memory)
    return await _answer(turn, memory)


def is_answer(text: str) -> bool:
    """Return whether a message is clearly an answer to the current item."""
    if controls().find(text) is not None:
        return True
    return _has_digits(text) and len(text) <= _LONGEST_ANSWER and not is_question(text)


def is_question(text: str) -> bool:
    """Return whether a child asks a question instead of answering."""
    if len(text) <= _SHORT and _has_digits(text):
        return False
    return text.rstrip().endswith(_QUESTION_MARKS) or any(
        item.answer is None and "=" not in item.question for item in collect(text[:200])
    )


def _has_digits(text: str) -> bool:
    return any(character.isdigit() for character in text)


async def _answer(turn: SceneTurn, memory: Memory) -> Reply:
    item = memory.items[memory.at]
    answer = answer_in(turn.text, item.question)
    request = CorrectRequest(
        subject=memory.subject,
        items=[GivenItem(question=item.question, answer=answer)],
        language=turn.language,
    )
    (found,) = (await turn.step(homework_correct, request)).items
    if item.answer is None:
        memory = await _first_answer(turn, memory, found)
    if found.correct:
        praise = "praise_with_help" if item.answer is not None else "praise"
        solved = memory.with_changes(solved=[*memory.solved, memory.at])
        return _next(turn, solved, say()(praise, turn.language))
    if found.correct is None and item.topic == found.topic == "other":
        return _next(turn, memory, say()("for_a_grown_up", turn.language))
    if found.correct is None:
        return _say(turn, memory, say()("cannot_tell", turn.language))
    if memory.level >= LAST_LEVEL:
        return _next(turn, memory, say()("later", turn.language))
    return await _hint(turn, memory, "not_yet", answer=answer)


async def _first_answer(turn: SceneTurn, memory: Memory, found: Corrected) -> Memory:
    """Put the first answer to an item on record, as those that came with the work."""
    record = SummaryRequest(session_id=turn.session_id, items=[found], subject=memory.subject)
    await turn.step(homework_summary, record)
    items = list(memory.items)
    items[memory.at] = found
    return memory.with_changes(items=items)


async def _hint(turn: SceneTurn, memory: Memory, sentence: str, **details: str) -> Reply:
    """The next level; the last one shows the way and the answer."""
    item, level = memory.items[memory.at], min(memory.level + 1, LAST_LEVEL)
    request = TutorRequest.model_validate(
        {
            "question": item.question,
            "answer": item.answer,
            "hint_level": level,
            "expected": item.expected,
            "language": turn.language,
        }
    )
    found = await turn.step(homework_tutor, request)
    sentence = "revealed" if found.reveals_answer else sentence
    text = say()(sentence, turn.language, hint=found.hint, **details)
    return _say(turn, memory.with_changes(level=level), text)


def _next(turn: SceneTurn, memory: Memory, said: str) -> Reply:
    """The next item that needs another look, or the end."""
    following = memory.to_tutor(memory.at + 1)
    if following is not None:
        memory = memory.with_changes(at=following, level=0)
        return _say(turn, memory, f"{said}\n{look_at(memory, turn.language)}")
    summary = summarise([item.as_verdict() for item in memory.items], turn.language)
    return summed_up(turn, memory, summary, said)


async def _question(turn: SceneTurn, memory: Memory) -> Reply:
    item = memory.items[memory.at]
    doing: dict[str, JsonValue] = {
        "the child works on": item.question,
        "its wrong answer": item.answer,
    }
    reply = await aside(turn, doing) or say()("no_answer", turn.language)
    back = say()("question_back", turn.language, number=str(memory.at + 1), question=item.question)
    return _say(turn, memory, f"{reply}\n{back}")


def _say(turn: SceneTurn, memory: Memory, text: str) -> Reply:
    return Reply(
        text=text,
        phase="tutoring",
        data=memory.kept(turn.data),
        suggested_actions=say().choices("while_tutoring", turn.language),
    )
