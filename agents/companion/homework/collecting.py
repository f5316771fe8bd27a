"""The phases before the verdict: work is collected, and missing answers are asked for."""

from collections.abc import Mapping, Sequence

from mcp_tools.homework import HomeworkError, Item, collect
from oda.orchestration import Reply, SceneTurn
from oda.orchestration.classification import by_rules

from ..chat.answers import UNCLEAR, small_talk
from ..chat.aside import aside
from ..rules import agreement_in, rules
from .answering import named_in, said_to, taken
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
        return await _hear(turn, memory)
    if control.topic == "enough":
        return await _correct(turn, memory)
    if control.topic == "wait":
        return _say(turn, memory, say()("take_your_time", turn.language))
    without = memory.with_changes(at=memory.at + 1)
    return await _complete(turn, without, "next_unanswered")


def answers_in(message: str, memory: Memory) -> Mapping[int, str]:
    """The answers that a message clearly gives, by the indexes of collected items."""
    if memory.unsure and agreement_in(message) == "confirm":
        return {memory.at: memory.unsure}
    if of_page := _answers_of_page(message, memory.work):
        return of_page
    named = {one.number - 1: one.rest for one in named_in(message)}
    given = named if named and max(named) < len(memory.work) else {memory.at: message}
    said = {index: said_to(rest, memory.work[index].question) for index, rest in given.items()}
    return {
        index: behind_question(one.answer, memory.work[index].question)
        for index, one in said.items()
        if one.kind == "answer"
    }


def behind_question(answer: str, question: str) -> str:
    """An answer without the question that it repeats."""
    try:
        (item, *_) = collect(answer, [Item(question=question)])
    except HomeworkError:
        return answer
    return item.answer or answer


def _answers_of_page(message: str, work: Sequence[Item]) -> Mapping[int, str]:
    """The answers that stand behind their questions."""
    try:
        found = collect(message, work)
    except HomeworkError:
        return {}
    return {
        index: after.answer
        for index, (before, after) in enumerate(zip(work, found, strict=False))
        if before.answer is None and after.answer is not None
    }


async def _hear(turn: SceneTurn, memory: Memory) -> Reply:
    """Take the answers of a message; answer a remark, and come back to the open item."""
    answers = answers_in(turn.text, memory)
    question = memory.work[memory.at].question
    memory, doubted = memory.with_changes(unsure=None), memory.unsure
    if answers:
        return await _given(turn, memory, answers)
    said = said_to(turn.text, question)
    back = say()("question_back", turn.language, number=str(memory.at + 1), question=question)
    if agreement_in(turn.text) != "unclear":
        return _say(turn, memory, back)
    doubtful = said.kind == "unclear" and not doubted
    talk = await aside(
        turn,
        "homework",
        question,
        doubtful=doubtful,
        item=memory.at + 1,
        of=len(memory.work),
    )
    if (answer := taken(talk.answer, question)) is not None:
        return await _given(turn, memory, {memory.at: answer})
    if doubtful and not talk.answered:
        text = say()("is_it_your_answer", turn.language, answer=said.answer)
        actions = say().choices("yes_or_no", turn.language)
        asked = _say(turn, memory.with_changes(unsure=said.answer), text)
        return asked.model_copy(update={"suggested_actions": actions})
    reply = _say(turn, memory, f"{talk.reply}\n{back}")
    return reply.model_copy(update={"means": talk.means})


async def _given(turn: SceneTurn, memory: Memory, answers: Mapping[int, str]) -> Reply:
    work = [
        Item(question=item.question, answer=answers.get(index, item.answer))
        for index, item in enumerate(memory.work)
    ]
    return await _complete(turn, memory.with_changes(work=work), "next_unanswered")


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
    waits = "the questions and answers of the child's homework"
    talk = await aside(turn, "homework", the_companion_waits_for=waits)
    reply = _ask(turn, memory, "what_next" if is_over else "no_work")
    text = "\n".join(filter(None, (talk.reply, reply.text)))
    return reply.model_copy(update={"text": text, "means": talk.means})


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
