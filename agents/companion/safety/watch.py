"""The watch over a conversation: a message in trouble is answered before any scene or model."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice

from mcp_tools.recitation import MAX_UNITS, find, normalize, texts
from oda.orchestration import Reply, SceneTurn, Watch

from ..parents.sending import send_waiting
from ..recite.memory import Memory
from .concerns import concern_in
from .looking_after import LookAfterRequest, look_after, say

_LINE_END = re.compile(r"[,，。.!！?？;；:：\n]+")
_HEADING = re.compile(r"《(?P<title>[^《》\n]{1,60})》.{0,20}")
_MOST_INTRODUCING = 3
"""Clauses at the beginning of a message among which a line of a known text is looked for."""
_LEAST_LINES = 3
"""Clauses from which a message under a heading is a text."""
_MOST_LINES = 200


class ChildWatch(Watch):
    """Leaves the task at a message that needs a grown-up, and says that grown-ups read along."""

    steps = (look_after,)

    async def interrupts(self, scene: str, turn: SceneTurn) -> Reply | None:
        """Answer by a fixed text; kind words for frustration, and the task goes on."""
        await send_waiting()
        said = turn.text
        if (concern := concern_in(said)) is None:
            return None
        said = " 。".join(_own_words(said, scene, turn))
        if not said or (concern := concern_in(said)) is None:
            return None
        if concern.severity == "none":
            text = f"{say()('frustration', turn.language)}{_space(turn)}"
            return Reply(text=text + say()("goes_on", turn.language))
        request = LookAfterRequest(
            user_input=said[:20_000], session_id=turn.session_id, language=turn.language
        )
        answer = await turn.step(look_after, request)
        return Reply(text=answer.reply, phase="idle", leaves=True)

    def completed(self, turn: SceneTurn, reply: Reply) -> Reply:
        """Tell in the first reply of a session that a grown-up can read along."""
        if turn.recent:
            return reply
        text = f"{reply.text}\n{say()('first_reply', turn.language)}"
        return reply.model_copy(update={"text": text})


def _space(turn: SceneTurn) -> str:
    return " " if turn.language == "en" else ""


def _own_words(message: str, scene: str, turn: SceneTurn) -> Iterator[str]:
    """The clauses of a message that are no lines of a text that is recited or sent."""
    memory = Memory.of(turn.data) if scene == "recite" else Memory()
    if _is_sent_text(message, memory):
        return
    known = _known_text(message, memory)
    if known is None:
        yield message
        return
    text, lines = normalize(known), {normalize(line) for line in _LINE_END.split(known)}
    longest = max(map(len, lines))
    for clause in _LINE_END.split(message):
        # whole lines, word for word: what only sounds like one, or is a piece of one, may be a call
        # for help ("我想死": 《相思》)
        said = normalize(clause)
        if said and said not in lines and not (len(said) >= longest and said in text):
            yield clause


def _known_text(message: str, memory: Memory) -> str | None:
    if memory.material is not None:
        return memory.material.text
    clauses = (clause for clause in _LINE_END.split(message[:MAX_UNITS]) if clause.strip())
    for clause in islice(clauses, _MOST_INTRODUCING):
        if (found := find(clause)) is not None:
            return found.text
        if concern_in(clause) is None and (text := _texts_by_line().get(normalize(clause))):
            return text
    return None


@cache
def _texts_by_line() -> Mapping[str, str]:
    """Each line of the library's texts, and the text that it is from."""
    return {
        normalize(line): text.text
        for text in texts()
        for line in _LINE_END.split(text.text)
        if line
    }


def _is_sent_text(message: str, memory: Memory) -> bool:
    """Return whether a message is a text with its heading, and not a child's own trouble in verse.

    The heading is what the child was asked for; of another one, most lines must be harmless.
    """
    heading, _, text = message.strip().partition("\n")
    named = _HEADING.fullmatch(heading.strip())
    if named is None or not text.strip():
        return False
    if memory.wanted is not None and normalize(memory.wanted) == normalize(named["title"]):
        return True
    lines = [line for line in _LINE_END.split(text) if line.strip()]
    worrying = sum(concern_in(line) is not None for line in lines[:_MOST_LINES])
    return len(lines) >= _LEAST_LINES and 2 * worrying < len(lines)
