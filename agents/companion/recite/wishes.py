"""Detection of what a child wants to recite, and the step `analyze-idle-intent`."""

import re
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from mcp_tools.recitation import MAX_UNITS, find, normalize
from mcp_tools.recitation.language import detect
from mcp_tools.recitation.units import lines_of
from oda.orchestration import StepContext, step
from oda.orchestration.classification import by_rules
from oda.orchestration.rules import trimmed

from ..learning.records import MOST_SCHEDULED, Label, ScheduleItem
from ..prompts import instruction
from ..rules import rules
from ..safety.answers import unsafe_kind
from ..schedule import Today
from .sentences import controls

_NAMED = re.compile(r"《(?P<title>[^《》\n]{1,60})》")
_ORDINAL = re.compile(
    r"(?:我|要|想|就|背|选|今天的|\s)*第?(?P<number>[一二三四五1-5])[个首篇]?(?:吧|诗)*"
    r"|(?:i\s+want\s+|let'?s\s+(?:do|take)\s+)?(?:the\s+|number\s+)?"
    r"(?P<en>first|second|third|fourth|fifth|one|two|three|four|five)(?:\s+(?:one|poem|please))*"
)
_NUMBERS = {
    word: number
    for words in ("一 二 三 四 五", "first second third fourth fifth", "one two three four five")
    for number, word in enumerate(words.split(), 1)
}
_LOOKED_AT = 5_000
"""Characters at the beginning of a message by which it is recognized as a text."""
_LEAST_CLAUSES = 4
_LEAST_UNITS = 12
"""Length from which a message is taken for a text instead of a wish, in units."""
_LONGEST_NAME = 60
_CLEAR = 0.8
"""From this confidence on a message names a text of the library, maybe among other words."""


class IdleRequest(BaseModel):
    """A message of a child who is not reciting yet."""

    user_input: Annotated[str, Field(max_length=MAX_UNITS)]
    learning_schedule: (
        Annotated[list[JsonValue], Field(max_length=MOST_SCHEDULED)]
        | Annotated[dict[str, JsonValue], Field(max_length=MOST_SCHEDULED)]
        | Label
        | float
        | bool
        | None
    ) = None
    """`{items: [{kind, title, text?, author?, subject?}]}`, or the items alone."""


class Wish(BaseModel):
    """The child's wish to recite, if any, and the wanted text."""

    wants_recitation: bool
    title: str | None = None
    text: str | None = None
    """Given with the message or by the schedule."""
    author: str | None = None
    reason: str = ""


class _Told(BaseModel):
    wants_recitation: bool
    title: str | None = None
    author: str | None = None
    reason: str = ""


def _unknown(request: IdleRequest, context: StepContext, error: Exception) -> Wish:
    return Wish(wants_recitation=False, reason="nobody could tell")


@step("analyze-idle-intent", timeout_s=8.0, fallback=_unknown)
async def analyze_idle_intent(request: IdleRequest, context: StepContext) -> Wish:
    """Tell whether a child wants to recite, and what."""
    today = Today.of(request.learning_schedule)
    if (wish := _by_rules(request.user_input, today)) is not None:
        return wish
    if not context.has_model or context.session_id is not None:
        # in a turn the one call that answers tells what the child wants (`chat/talking.py`)
        return Wish(wants_recitation=False, reason="nothing in it names a text")
    titles = ", ".join(item.title for item in today.to_recite) or "nothing"
    told = await context.ask(instruction("wish", scheduled=titles), request.user_input, _Told)
    if unsafe_kind("\n".join(str(value) for value in told.model_dump().values())) is not None:
        return Wish(wants_recitation=False, reason="the model's answer is not for children")
    return Wish.model_validate(told.model_dump())


def _by_rules(message: str, today: Today) -> Wish | None:
    for look in (_scheduled, _named, _known_text, _pasted, _commanded):
        if (wish := look(message, today)) is not None:
            return wish
    return None


def _scheduled(message: str, today: Today) -> Wish | None:
    if is_text(message):
        return None
    said = normalize(message)
    for item in today.to_recite:
        if (title := normalize(item.title)) and title in said:
            return _wish_for(item, "it is on the schedule")
    number = number_in(message)
    if number is not None and number <= len(today.to_recite):
        return _wish_for(today.to_recite[number - 1], "its number on the schedule")
    return None


def number_in(message: str) -> int | None:
    """Which of several a short message chooses: 1 for the first."""
    found = _ORDINAL.fullmatch(trimmed(message).lower())
    if found is None:
        return None
    said = found["number"] or found["en"]
    return int(said) if said.isdigit() else _NUMBERS[said]


def _named(message: str, today: Today) -> Wish | None:
    named = _NAMED.search(message)
    if named is None or is_text(message):
        return None
    return Wish(wants_recitation=True, title=named["title"], reason="a title in book marks")


def _known_text(message: str, today: Today) -> Wish | None:
    if len(message) > _LONGEST_NAME:
        return None
    command = by_rules(message, rules())
    if command is not None or controls().find(message) is not None:
        return None
    found = find(message)
    if found is None or found.confidence < _CLEAR:
        return None
    return Wish(
        wants_recitation=True, title=found.title, author=found.author, reason="a known text"
    )


def _pasted(message: str, today: Today) -> Wish | None:
    if not is_text(message):
        return None
    title, text = _title_and_text(message)
    return Wish(wants_recitation=True, title=title, text=text, reason="the text itself")


def _commanded(message: str, today: Today) -> Wish | None:
    command = by_rules(message, rules())
    control = controls().find(message)
    if command is not None and command.intent == "recite":
        title, author = (command.slots.get(name) for name in ("title", "author"))
        return Wish(
            wants_recitation=True,
            title=str(title) if title else None,
            author=str(author) if author else None,
            reason=command.reason,
        )
    if control is not None and control.topic == "another":
        return Wish(wants_recitation=True, reason="another one")
    if control is not None and control.topic in ("ready", "again"):
        first = next(iter(today.to_recite), None)
        return _wish_for(first, "ready") if first else Wish(wants_recitation=True, reason="ready")
    return None


def is_text(message: str) -> bool:
    """Return whether a message looks like a text to recite: several lines, or many clauses."""
    if by_rules(message, rules()) is not None:
        return False
    beginning = message[:_LOOKED_AT]
    lines = lines_of(beginning, detect(beginning))
    least = 2 if "\n" in message.strip() else _LEAST_CLAUSES
    return len(lines) >= least and lines[-1].end >= _LEAST_UNITS


def _title_and_text(message: str) -> tuple[str, str]:
    """A text and its title: its heading in book marks, or else its first words."""
    first, _, rest = message.strip().partition("\n")
    if (named := _NAMED.search(first)) is not None and is_text(rest):
        return named["title"], rest.strip()
    beginning = message.lstrip()[:_LOOKED_AT]
    return lines_of(beginning, detect(beginning))[0].text[:20], message.strip()


def _wish_for(item: ScheduleItem, reason: str) -> Wish:
    return Wish(
        wants_recitation=True,
        title=item.title,
        text=item.text,
        author=item.author,
        reason=reason,
    )
