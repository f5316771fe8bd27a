"""The phases before the verdict: work is collected, and missing answers are asked for."""

import re
from collections.abc import Mapping

from mcp_tools.homework import HomeworkError, Item, collect
from oda.orchestration import Reply, SceneTurn
from oda.orchestration.classification import by_rules

from ..chat.answers import UNCLEAR, small_talk
from ..chat.aside import aside
from ..rules import agreement_in, rules
from .correcting import CorrectRequest, GivenItem, homework_correct
from .memory import Memory
from .results import corrected
from .sentences import controls, say
from .summing_up import SummaryRequest, homework_summary

_SUBJECTS: Mapping[str, str] = {
    "数学": "math",
    "语文": "chinese",
    "英语": "english",
    "math": "math",
    "chinese": "chinese",
    "english": "english",
}
_AROUND = re.compile(
    r"^(?:(?:那|嗯+|呃+|哦|好的?|对)[，,\s]+)?(?:是不是|会不会是|那就是|是)(?=.)"
    r"|^(?:is\s+it|is\s+the\s+answer|maybe|perhaps|it\s+must\s+be)\s+"
    r"|(?:对吗|对不对|是吗|吗|呢|呀)?[?？]*$",
    re.IGNORECASE,
)
"""Words around an answer that a child is not sure of."""


async def take_work(turn: SceneTurn, memory: Memory) -> Reply:
    """Take what the message holds of homework, or ask for it."""
    if _is_talk(turn.text):
        return await _no_work(turn, memory)
    try:
        work = collect(str(turn.slots.get("work") or turn.text), memory.work)
    except HomeworkError as error:
        return _ask(turn, memory, "unreadable", reason=error.message(turn.language))
    memory = Memory(work=work, subject=_subject_in(turn.text) or memory.subject)
    if not work:
        return await _no_work(turn, memory)
    return await _complete(turn, memory, "first_unanswered")


async def take_answer(turn: SceneTurn, memory: Memory) -> Reply:
    """Take the answer to the item that was asked for, and ask for the next one without."""
    control = controls().find(turn.text)
    if control is None:
        answered = _answered(memory, turn.text)
        return await _complete(turn, answered, "next_unanswered")
    if control.topic == "enough":
        return await _correct(turn, memory)
    if control.topic == "wait":
        return _say(turn, memory, say()("take_your_time", turn.language))
    without = memory.with_changes(at=memory.at + 1)
    return await _complete(turn, without, "next_unanswered")


def answer_in(message: str, question: str) -> str:
    """The answer that a message gives: alone, or behind the question that it repeats."""
    said = _AROUND.sub("", message.strip()) or message
    try:
        items = collect(said, [Item(question=question)])
    except HomeworkError:
        return said
    return items[0].answer or said


def _answered(memory: Memory, message: str) -> Memory:
    """The work with the answers of a message: to other items that it names, or to this one."""
    try:
        work = collect(message, memory.work)
    except HomeworkError:
        work = list(memory.work)
    if _count(work) == _count(memory.work):
        question = memory.work[memory.at].question
        work = list(memory.work)
        work[memory.at] = Item(question=question, answer=answer_in(message, question))
    return memory.with_changes(work=work)


def _count(work: list[Item]) -> int:
    return sum(item.answer is not None for item in work)


def _is_talk(message: str) -> bool:
    """Return whether a message is clearly not homework, though it may look like a question."""
    phrase = small_talk().find(message)
    is_small_talk = phrase is not None and phrase.topic != UNCLEAR
    is_control = controls().find(message) is not None
    return is_small_talk or is_control or agreement_in(message) != "unclear"


async def _no_work(turn: SceneTurn, memory: Memory) -> Reply:
    """Ask for work; what else a child says is answered first."""
    control, is_over = controls().find(turn.text), turn.phase == "summary"
    has_none = control is not None and control.topic in ("enough", "understood")
    if is_over and (has_none or agreement_in(turn.text) == "deny"):
        return Reply(
            text=say()("finished", turn.language),
            suggested_actions=say().choices("when_done", turn.language),
            data=memory.kept(turn.data),
            leaves=True,
        )
    wants_to = control is not None or by_rules(turn.text, rules()) is not None
    if turn.entry is not None or wants_to:
        begins = turn.phase in ("idle", "summary")
        return _ask(turn, memory, "ask_for_work" if begins else "no_work")
    waits = {"the companion waits for": "the questions and answers of the child's homework"}
    answer = await aside(turn, waits)
    reply = _ask(turn, memory, "what_next" if is_over else "no_work")
    return reply.model_copy(update={"text": "\n".join(filter(None, (answer, reply.text)))})


async def _complete(turn: SceneTurn, memory: Memory, sentence: str) -> Reply:
    """Ask for the next answer that is missing, or check all."""
    missing = memory.unanswered
    if missing is None:
        return await _correct(turn, memory)
    text = say()(
        sentence,
        turn.language,
        count=str(len(memory.work)),
        number=str(missing + 1),
        question=memory.work[missing].question,
    )
    return _say(turn, memory.with_changes(at=missing), text)


async def _correct(turn: SceneTurn, memory: Memory) -> Reply:
    """Check the work and put it on record."""
    request = CorrectRequest(
        subject=memory.subject,
        items=[GivenItem(question=item.question, answer=item.answer) for item in memory.work],
        language=turn.language,
    )
    correction = await turn.step(homework_correct, request)
    record = SummaryRequest(
        session_id=turn.session_id,
        items=correction.items,
        subject=memory.subject,
        language=turn.language,
    )
    summary = await turn.step(homework_summary, record)
    memory = Memory(items=correction.items, subject=memory.subject)
    return corrected(turn, memory, correction.score, summary)


def _say(turn: SceneTurn, memory: Memory, text: str) -> Reply:
    return Reply(
        text=text,
        phase="correcting",
        data=memory.kept(turn.data),
        suggested_actions=say().choices("while_tutoring", turn.language),
    )


def _ask(turn: SceneTurn, memory: Memory, sentence: str, **details: str) -> Reply:
    return Reply(
        text=say()(sentence, turn.language, **details),
        phase="collecting",
        data=memory.kept(turn.data),
        suggested_actions=say().choices("while_collecting", turn.language),
    )


def _subject_in(text: str) -> str | None:
    said = text.lower()
    return next((subject for word, subject in _SUBJECTS.items() if word in said), None)
