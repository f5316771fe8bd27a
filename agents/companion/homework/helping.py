"""The phase `tutoring`: one item after the other is put right, with hints, by the child itself."""

from mcp_tools.homework import summarise
from oda.orchestration import Reply, SceneTurn

from ..chat.aside import aside
from ..rules import agreement_in
from .answering import Said, named_in, said_to, taken
from .collecting import behind_question
from .correcting import CorrectRequest, GivenItem, homework_correct
from .judging import Corrected
from .memory import LAST_LEVEL, Memory
from .results import look_at, summed_up
from .sentences import controls, say
from .summing_up import SummaryRequest, homework_summary
from .tutoring import TutorRequest, homework_tutor


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
    return await _hear(turn, memory)


def answer_in(message: str, memory: Memory) -> tuple[int, Said]:
    """Return the index of the item that a message speaks to, and what it says to it."""
    if memory.unsure and agreement_in(message) == "confirm":
        return memory.at, Said("answer", memory.unsure)
    named = named_in(message)
    index, rest = memory.at, message
    if len(named) == 1 and memory.needs_help(named[0].number - 1):
        index, rest = named[0].number - 1, named[0].rest
    return index, said_to(rest, memory.items[index].question)


async def _hear(turn: SceneTurn, memory: Memory) -> Reply:
    """Take an answer; answer a remark, and come back to the item."""
    index, said = answer_in(turn.text, memory)
    memory, doubted = memory.with_changes(unsure=None), memory.unsure
    if said.kind == "answer":
        if index != memory.at:
            memory = memory.with_changes(at=index, level=0)
        return await _answer(turn, memory, said.answer)
    if agreement_in(turn.text) != "unclear":
        return _say(turn, memory, look_at(memory, turn.language))
    return await _aside(turn, memory, None if doubted or said.kind == "aside" else said.answer)


async def _answer(turn: SceneTurn, memory: Memory, said: str) -> Reply:
    item = memory.items[memory.at]
    answer = behind_question(said, item.question)
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


async def _aside(turn: SceneTurn, memory: Memory, doubtful: str | None) -> Reply:
    """Answer a remark and come back to the item; ask about what may be an answer to it."""
    item = memory.items[memory.at]
    talk = await aside(
        turn,
        "homework",
        item.question,
        doubtful=doubtful is not None,
        item=memory.at + 1,
        of=len(memory.items),
        its_answer_so_far=item.answer,
        comment=item.comment,
        hints_given=memory.level,
    )
    if (answer := taken(talk.answer, item.question)) is not None:
        return await _answer(turn, memory, answer)
    if doubtful is not None and not talk.answered:
        text = say()("is_it_your_answer", turn.language, answer=doubtful)
        actions = say().choices("yes_or_no", turn.language)
        asked = _say(turn, memory.with_changes(unsure=doubtful), text)
        return asked.model_copy(update={"suggested_actions": actions})
    back = say()("question_back", turn.language, number=str(memory.at + 1), question=item.question)
    return _say(turn, memory, f"{talk.reply}\n{back}").model_copy(update={"means": talk.means})


def _say(turn: SceneTurn, memory: Memory, text: str) -> Reply:
    return Reply(
        text=text,
        phase="tutoring",
        data=memory.kept(turn.data),
        suggested_actions=say().choices("while_tutoring", turn.language),
    )
