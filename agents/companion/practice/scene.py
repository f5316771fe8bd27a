"""The scene `practice`: idle -> practising; questions that went wrong come back."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from mcp_tools.homework import OTHER_TOPIC
from oda.message.language import Language
from oda.orchestration import Reply, SceneTurn, Workflow
from oda.orchestration.state import Data
from oda.orchestration.wording import Wording

from ..chat.aside import aside
from ..homework.answering import said_to, taken
from ..homework.collecting import behind_question
from ..homework.correcting import CorrectRequest, GivenItem, homework_correct
from ..homework.memory import LAST_LEVEL
from ..homework.sentences import controls
from ..homework.tutoring import TutorRequest, homework_tutor
from ..rules import agreement_in
from ..wording import wording
from .memory import Memory, Practice
from .steps import DueRequest, PracticeRequest, due_mistakes, save_practice


@cache
def say() -> Wording:
    """The sentences of the scene."""
    return wording(Path(__file__).parent)


class PracticeScene(Workflow):
    """Asks the questions that are due, judges as homework is judged, and plans the next time.

    The first answer to a question is put on record and decides when the question comes back.
    """

    name = "practice"
    purpose = "practising questions that went wrong before, from the child's mistakes book"
    titles: ClassVar[Mapping[Language, str]] = {"zh": "练练错题", "en": "practise your mistakes"}
    phases = ("idle", "practising")
    steps = (due_mistakes, save_practice, homework_correct, homework_tutor)

    async def run(self, turn: SceneTurn) -> Reply:
        """Go on with the current question, or begin."""
        memory = Memory.of(turn.data)
        if turn.phase != "practising" or not memory.items or turn.entry is not None:
            return await _begin(turn)
        control = controls().find(turn.text)
        topic = control.topic if control is not None else None
        if topic in ("hint", "tell"):
            return await _hint(turn, memory, "hint")
        if topic == "wait":
            return _say(turn, memory, say()("take_your_time", turn.language))
        if topic == "skip":
            return _next(turn, memory, say()("skipped", turn.language))
        if topic == "enough":
            return _end(turn, say()("stopped", turn.language))
        if topic in ("understood", "more"):
            return _say(turn, memory, _asked(memory, turn.language))
        return await _hear(turn, memory)

    def expects(self, text: str, phase: str, data: Data) -> bool:
        """An answer to the current question, and what is usually said about it."""
        memory = Memory.of(data)
        if phase != "practising" or not memory.items:
            return False
        if controls().find(text) is not None:
            return True
        if memory.unsure and agreement_in(text) != "unclear":
            return True
        return said_to(text, memory.item.question).kind == "answer"


async def _begin(turn: SceneTurn) -> Reply:
    due = await turn.step(due_mistakes, DueRequest())
    if due.mistakes:
        items = [
            Practice(question=one.title, subject=one.subject, topic=one.topic)
            for one in due.mistakes
        ]
        memory = Memory(items=items)
        begin = say()("begin", turn.language, count=str(len(items)))
        return _say(turn, memory, f"{begin}\n{_asked(memory, turn.language)}")
    if due.next_due is None:
        return _end(turn, say()("no_mistakes", turn.language))
    day = {"month": str(due.next_due.month), "day": str(due.next_due.day)}
    return _end(turn, say()("none_due", turn.language, **day))


async def _hear(turn: SceneTurn, memory: Memory) -> Reply:
    """Take an answer; answer a remark, and come back to the question."""
    memory, doubted = memory.with_changes(unsure=None), memory.unsure
    agreement, said = agreement_in(turn.text), said_to(turn.text, memory.item.question)
    if doubted and agreement == "confirm":
        return await _answer(turn, memory, doubted)
    if said.kind == "answer":
        return await _answer(turn, memory, said.answer)
    if agreement != "unclear":
        return _say(turn, memory, _asked(memory, turn.language))
    return await _aside(turn, memory, None if doubted or said.kind == "aside" else said.answer)


async def _answer(turn: SceneTurn, memory: Memory, said: str) -> Reply:
    item = memory.item
    answer = behind_question(said, item.question)
    request = CorrectRequest(
        subject=item.subject,
        items=[GivenItem(question=item.question, answer=answer)],
        language=turn.language,
    )
    (found,) = (await turn.step(homework_correct, request)).items
    if found.correct is None and found.topic == OTHER_TOPIC:
        return _next(turn, memory, say()("for_a_grown_up", turn.language))
    if found.correct is None:
        return _say(turn, memory, say()("cannot_tell", turn.language))
    if memory.answer is None:
        memory = await _on_record(turn, memory, answer, correct=found.correct)
    if found.correct:
        sentence = "right_with_help" if memory.level or memory.answer else "right"
        right = memory.right + (sentence == "right")
        when = _when(memory, turn.language)
        return _next(
            turn, memory.with_changes(right=right), say()(sentence, turn.language, when=when)
        )
    if memory.level >= LAST_LEVEL:
        when = _when(memory, turn.language)
        return _next(turn, memory, say()("later", turn.language, when=when))
    return await _hint(turn, memory.with_changes(answer=answer), "not_yet", answer=answer)


async def _on_record(turn: SceneTurn, memory: Memory, answer: str, *, correct: bool) -> Memory:
    """Put the first answer on record, which plans when the question comes back."""
    item = memory.item
    request = PracticeRequest(
        question=item.question,
        answer=answer,
        correct=correct,
        hint_level=memory.level,
        subject=item.subject,
        topic=item.topic,
    )
    return memory.with_changes(days=max(1, (await turn.step(save_practice, request)).days))


def _when(memory: Memory, language: Language) -> str:
    if memory.days == 1:
        return say()("tomorrow", language)
    return say()("in_days", language, days=str(memory.days))


async def _hint(turn: SceneTurn, memory: Memory, sentence: str, **details: str) -> Reply:
    level = min(memory.level + 1, LAST_LEVEL)
    request = TutorRequest.model_validate(
        {
            "question": memory.item.question,
            "answer": memory.answer,
            "hint_level": level,
            "language": turn.language,
        }
    )
    found = await turn.step(homework_tutor, request)
    sentence = "revealed" if found.reveals_answer else sentence
    text = say()(sentence, turn.language, hint=found.hint, **details)
    return _say(turn, memory.with_changes(level=level), text)


async def _aside(turn: SceneTurn, memory: Memory, doubtful: str | None) -> Reply:
    """Answer a remark and come back to the question; ask about what may be an answer to it."""
    item = memory.item
    talk = await aside(
        turn,
        "practice",
        item.question,
        doubtful=doubtful is not None,
        question_number=memory.at + 1,
        hints_given=memory.level,
    )
    if (answer := taken(talk.answer, item.question)) is not None:
        return await _answer(turn, memory, answer)
    if doubtful is not None and not talk.answered:
        text = say()("is_it_your_answer", turn.language, answer=doubtful)
        actions = say().choices("yes_or_no", turn.language)
        asked = _say(turn, memory.with_changes(unsure=doubtful), text)
        return asked.model_copy(update={"suggested_actions": actions})
    back = say()(
        "question_back",
        turn.language,
        number=str(memory.at + 1),
        question=memory.item.question,
    )
    return _say(turn, memory, f"{talk.reply}\n{back}").model_copy(update={"means": talk.means})


def _next(turn: SceneTurn, memory: Memory, said: str) -> Reply:
    """Ask the next question, or sum up."""
    count = len(memory.items)
    if memory.at + 1 < count:
        memory = memory.with_changes(at=memory.at + 1, level=0, answer=None, days=1)
        return _say(turn, memory, f"{said}\n{_asked(memory, turn.language)}")
    sentence = "all_right" if memory.right == count else "some_right"
    summary = say()(sentence, turn.language, count=str(count), right=str(memory.right))
    return _end(turn, f"{said}\n{summary}")


def _asked(memory: Memory, language: Language) -> str:
    number = str(memory.at + 1)
    return say()("ask", language, number=number, question=memory.item.question)


def _say(turn: SceneTurn, memory: Memory, text: str) -> Reply:
    return Reply(
        text=text,
        phase="practising",
        data=memory.kept(turn.data),
        suggested_actions=say().choices("while_practising", turn.language),
    )


def _end(turn: SceneTurn, text: str) -> Reply:
    return Reply(
        text=text,
        phase="idle",
        data=Memory().kept(turn.data),
        suggested_actions=say().choices("when_done", turn.language),
        leaves=True,
    )
