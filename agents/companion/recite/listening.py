"""The phase `listening`: recitation is judged, questions are answered, hints are given."""

from oda.orchestration import Reply, SceneTurn

from ..chat.aside import aside
from ..learning.records import MOST_ERRORS, Recitation
from .attempt import heard, lines, next_line
from .choosing import begin, choose, names_text, recited
from .judging import (
    CheckRequest,
    CompareRequest,
    TipsRequest,
    check_is_recitation_content,
    compare_and_evaluate,
    generate_memory_tips,
    save_history,
)
from .memory import MAX_ROUNDS, Material, Memory
from .results import not_passed, passed
from .sentences import controls, say


async def listen(turn: SceneTurn, memory: Memory) -> Reply:
    """Answer what is said while a text is recited."""
    material = memory.material
    assert material is not None
    request = CheckRequest(expected_text=material.text, user_text=turn.text)
    if (await turn.step(check_is_recitation_content, request)).is_recitation:
        attempt = heard(material.text, turn.text, said=memory.said, stopped_at=memory.stopped_at)
        given_up = attempt.is_stuck and bool(memory.said)
        memory = memory.with_changes(said=attempt.said, stopped_at=attempt.stopped_at)
        if attempt.waits:
            return _go_on(turn, memory, material)
        number = min(memory.round + given_up, MAX_ROUNDS)
        return await _judge(turn, memory.with_changes(round=number), material)
    if (other := recited(turn.text, memory)) is not None:
        return await listen(turn, memory.about(other))
    control = controls().find(turn.text)
    topic = control.topic if control is not None else None
    if names_text(turn.text) or turn.slots.get("title") or topic == "another":
        return await choose(turn, memory)
    if topic == "done" and memory.said:
        return await _judge(turn, memory, material)
    if topic == "again":
        return begin(turn, memory.with_changes(said="", stopped_at=None, hinted=None))
    if topic == "hint":
        return _hint(turn, memory, material)
    return await _question(turn, memory, material, topic)


def _go_on(turn: SceneTurn, memory: Memory, material: Material) -> Reply:
    """The child has come to the end of a line, not of the text: wait."""
    all_lines = lines(material.text)
    so_far = sum(line.end <= (memory.stopped_at or 0) for line in all_lines)
    return Reply(
        text=say()("go_on", turn.language, said=str(so_far), lines=str(len(all_lines))),
        data=memory.with_changes(hinted=None).kept(),
        suggested_actions=say().choices("in_the_middle", turn.language),
    )


async def _judge(turn: SceneTurn, memory: Memory, material: Material) -> Reply:
    """Score the attempt, put it on record, and tell."""
    request = CompareRequest(expected_text=material.text, user_text=memory.said)
    found = await turn.step(compare_and_evaluate, request)
    record = Recitation(
        title=material.title[:200],
        score=found.score,
        passed=found.passed,
        round=memory.round,
        errors=[error.model_dump(mode="json") for error in found.errors[:MOST_ERRORS]],
    )
    await turn.step(save_history, record)
    if found.passed:
        return passed(turn, memory, material, record)
    errors = [error.model_dump() for error in found.errors[:MOST_ERRORS]]
    advice = TipsRequest.model_validate({"errors": errors, "expected_text": material.text})
    tips = (await turn.step(generate_memory_tips, advice)).tips
    return not_passed(turn, memory, material, record, tips)


def _hint(turn: SceneTurn, memory: Memory, material: Material) -> Reply:
    """The beginning of the line that comes next; all of it when that was not enough."""
    stopped_at = memory.stopped_at if memory.said else None
    line = next_line(material.text, stopped_at or 0)
    assert line is not None, "an attempt that has come to the end does not wait"
    again = memory.hinted == line.start
    if again:
        text = say()("next_line", turn.language, line=line.text)
    else:
        text = say()("next_words", turn.language, words=_beginning(line.text))
    return Reply(
        text=text,
        data=memory.with_changes(hinted=line.start).kept(),
        suggested_actions=say().choices("in_the_middle", turn.language),
    )


def _beginning(line: str) -> str:
    words = line.split()
    return " ".join(words[:2]) if len(words) > 2 else line[:2]


async def _question(
    turn: SceneTurn, memory: Memory, material: Material, topic: str | None
) -> Reply:
    if topic == "show":
        text = say()("shown", turn.language, title=material.title, text=material.text)
    elif topic == "wait":
        text = say()("take_your_time", turn.language)
    elif topic == "author" and material.author:
        text = say()("author", turn.language, title=material.title, author=material.author)
    elif topic is not None:
        text = say()("listens", turn.language, title=material.title)
    else:
        return await _aside(turn, memory, material)
    return _while_listening(turn, memory, text)


async def _aside(turn: SceneTurn, memory: Memory, material: Material) -> Reply:
    """Answer a remark with the text in view, and come back to it."""
    waiting = next_line(material.text, memory.stopped_at or 0) if memory.said else None
    talk = await aside(
        turn,
        "recite",
        the_text_it_recites=f"{material.title}\n{material.text}",
        by=material.author,
        said_so_far=memory.said,
        the_line_that_comes_next=waiting.text if waiting else None,
        round=memory.round,
    )
    back = say()("back_to_it", turn.language, title=material.title)
    reply = _while_listening(turn, memory, f"{talk.reply}\n{back}")
    return reply.model_copy(update={"means": talk.means})


def _while_listening(turn: SceneTurn, memory: Memory, text: str) -> Reply:
    return Reply(
        text=text,
        data=memory.kept(),
        suggested_actions=say().choices("while_listening", turn.language),
    )
