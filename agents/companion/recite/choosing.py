"""The phases `idle` and `done`: which text is recited next."""

from mcp_tools.recitation import MAX_UNITS, find, is_recitation, normalize
from oda.orchestration import Reply, SceneTurn
from oda.orchestration.classification import by_rules

from ..chat.answers import small_talk
from ..chat.aside import aside
from ..rules import agreement_in, rules
from ..schedule import ScheduleRequest, learning_schedule
from .attempt import lines
from .material import LONGEST_NAME, TRUSTED, StandardAnswerRequest, generate_standard_answer
from .memory import Material, Memory
from .sentences import controls, say
from .wishes import IdleRequest, Wish, analyze_idle_intent, is_text, number_in

_LONGEST_TITLE = 60
_LEAST_RECITED = 10
"""Length from which a message counts as recitation although no text was chosen, in units."""
_LEAST_SENT = 8
"""Units of a text that somebody was asked to send."""


async def choose(turn: SceneTurn, memory: Memory) -> Reply:
    """Agree on a text; switch to `listening` once it is settled."""
    if memory.asked is not None and (answer := agreement_in(turn.text)) != "unclear":
        if answer == "confirm":
            return begin(turn, memory.about(memory.asked))
        return _send_it(turn, memory, memory.asked.title)
    control = controls().find(turn.text)
    if memory.material is not None and control is not None and control.topic in ("again", "ready"):
        return begin(turn, memory.about(memory.material))
    schedule = await turn.step(learning_schedule, ScheduleRequest())
    if schedule.items:
        today = memory.today.model_copy(update={"items": list(schedule.items)})
        memory = memory.with_changes(today=today)
    return await _follow(turn, memory, await _wish(turn, memory))


def recited(message: str, memory: Memory) -> Material | None:
    """The text that a child begins to recite without having said so."""
    if memory.wanted is not None or by_rules(message, rules()) is not None:
        return None
    clauses = lines(message[:MAX_UNITS])
    if not clauses or clauses[-1].end < _LEAST_RECITED:
        return None
    known = [memory.material] if memory.material is not None else []
    if (found := find(clauses[0].text)) is not None:
        known.append(Material(title=found.title, text=found.text.strip(), author=found.author))
    return next((one for one in known if is_recitation(one.text, message[:MAX_UNITS])[0]), None)


def names_text(message: str) -> bool:
    """Return whether a message is just a title of the library."""
    found = find(message) if len(message) <= _LONGEST_TITLE else None
    return found is not None and normalize(found.title) == normalize(message)


def is_awaited(text: str, memory: Memory) -> bool:
    """Return whether a message clearly chooses a text."""
    if memory.asked is not None and agreement_in(text) != "unclear":
        return True
    return is_text(text) or controls().find(text) is not None


def begin(turn: SceneTurn, memory: Memory) -> Reply:
    """Begin to listen."""
    assert memory.material is not None
    material = memory.material
    by = say()("by", turn.language, author=material.author) if material.author else ""
    text = say()(
        "begin",
        turn.language,
        title=material.title,
        by=by,
        lines=str(len(lines(material.text))),
    )
    return Reply(
        text=text,
        phase="listening",
        data=memory.kept(),
        suggested_actions=say().choices("while_listening", turn.language),
    )


async def _wish(turn: SceneTurn, memory: Memory) -> Wish:
    title, author = (str(turn.slots.get(name) or "") for name in ("title", "author"))
    title = title or _offered(turn, memory)
    if title:
        return Wish(wants_recitation=True, title=title, author=author or None)
    if memory.wanted and _is_sent(turn.text):
        text = _without_heading(turn.text.strip(), memory.wanted)
        return Wish(wants_recitation=True, title=memory.wanted, text=text)
    request = IdleRequest(user_input=turn.text, learning_schedule=memory.today.kept())
    return await turn.step(analyze_idle_intent, request)


def _is_sent(message: str) -> bool:
    """Return whether a message may be the text that the child was asked to send."""
    known = controls().find(message) or small_talk().find(message) or by_rules(message, rules())
    if known is not None or message.rstrip().endswith(("?", "？")):
        return False
    found = lines(message)
    return bool(found) and found[-1].end >= _LEAST_SENT


def _without_heading(text: str, title: str) -> str:
    first, _, rest = text.partition("\n")
    return rest.strip() if rest.strip() and normalize(first) == normalize(title) else text


def _offered(turn: SceneTurn, memory: Memory) -> str:
    """The title that a child chooses by its number, or leaves to us."""
    offers = _offers(turn, memory)
    control = controls().find(turn.text)
    number = 1 if control is not None and control.topic == "any" else number_in(turn.text)
    return offers[number - 1] if number is not None and number <= len(offers) else ""


def _offers(turn: SceneTurn, memory: Memory) -> list[str]:
    """The titles that are suggested: what is due, or else what everybody knows."""
    due = [item.title for item in memory.today.to_recite]
    known = say().choices("well_known", turn.language)
    return due or [title for title in known if title not in memory.today.passed]


async def _follow(turn: SceneTurn, memory: Memory, wish: Wish) -> Reply:
    if not wish.wants_recitation:
        # Coming from another scene is a wish, too, unless this one named a text it does not want.
        came_to_recite = turn.entry == "switched" and not wish.title
        return await (_propose if came_to_recite else _answer)(turn, memory)
    if wish.text and wish.title:
        material = Material(title=wish.title, text=wish.text, author=wish.author)
        return begin(turn, memory.about(material))
    if wish.title:
        return await _find(turn, memory, wish.title, wish.author)
    return await _propose(turn, memory)


async def _answer(turn: SceneTurn, memory: Memory) -> Reply:
    """Answer what is no wish, and ask what is to be recited."""
    waits = "the title of a text that the child wants to recite"
    talk = await aside(turn, "recite", the_companion_waits_for=waits)
    reply = _which(turn, memory, "ask_which")
    text = "\n".join(filter(None, (talk.reply, reply.text)))
    return reply.model_copy(update={"text": text, "means": talk.means})


async def _propose(turn: SceneTurn, memory: Memory) -> Reply:
    """The first text on the schedule, or the question which one."""
    latest = memory.material.title if memory.material is not None else None
    due = [item for item in memory.today.to_recite if item.title != latest]
    if not due:
        return _which(turn, memory, "all_passed" if memory.today.items else "ask_which")
    return await _find(turn, memory, due[0].title, due[0].author)


async def _find(turn: SceneTurn, memory: Memory, title: str, author: str | None) -> Reply:
    request = StandardAnswerRequest(
        title=title[:LONGEST_NAME], author=author and author[:LONGEST_NAME]
    )
    found = await turn.step(generate_standard_answer, request)
    if not found.text:
        return _send_it(turn, memory, title)
    material = Material(title=found.title, text=found.text, author=found.author)
    if found.confidence >= TRUSTED and found.source != "model":
        return begin(turn, memory.about(material))
    memory = Memory(asked=material, wanted=title, today=memory.today)
    return Reply(
        text=say()("is_it_this", turn.language, title=material.title, text=material.text),
        phase="idle",
        data=memory.kept(),
        suggested_actions=say().choices("right_or_not", turn.language),
    )


def _send_it(turn: SceneTurn, memory: Memory, title: str) -> Reply:
    return Reply(
        text=say()("send_it", turn.language, title=title),
        phase="idle",
        data=Memory(wanted=title, today=memory.today).kept(),
        suggested_actions=say().choices("another", turn.language),
    )


def _which(turn: SceneTurn, memory: Memory, sentence: str) -> Reply:
    offers = [say()("recite_title", turn.language, title=title) for title in _offers(turn, memory)]
    return Reply(
        text=say()(sentence, turn.language),
        phase="idle",
        data=memory.kept(),
        suggested_actions=tuple(offers),
    )
