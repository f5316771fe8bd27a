"""Everything that a message says about an entry."""

from collections.abc import Iterable

from mcp_tools.resume import JsonObject, Section

from .canvas import Canvas
from .fields import Fields, put_words, take_frames, take_tokens
from .labelled import find_labelled
from .listed import listed_entries
from .segments import take_segments


def extract(
    canvas: Canvas,
    section: Section,
    *,
    wanted: tuple[str, ...] = (),
    given: JsonObject | None = None,
    known: Iterable[str] = (),
    changing: bool = False,
) -> Fields:
    """Take everything from a canvas that is about an entry of a section.

    `wanted` are the fields that the person was asked for, if they were, `given` those known
    already and `known` fields that words without any mark are not for. `changing` allows for words
    of change between a field and its value.
    """
    fields = Fields(section, data=given or {}, wanted=wanted, known=frozenset(known))
    for found in list(find_labelled(canvas, section, changing=changing)):
        put_words(fields, canvas, found.field, found.value, found.stop)
        canvas.take(found.begin, found.stop)
    take_tokens(fields, canvas)
    take_frames(fields, canvas)
    if fields.facts.listed:
        _take_list(fields, canvas)
    elif fields.facts.order:
        take_segments(fields, canvas)
    return fields


def _take_list(fields: Fields, canvas: Canvas) -> None:
    for token in canvas.message.tokens:
        if token.when and canvas.has(token.begin, token.stop):
            canvas.take(token.begin, token.stop)
    entries = listed_entries(canvas, fields.section)
    if not entries:
        return
    first, *rest = entries
    fields.data = {**first, **fields.data}
    fields.others = [*rest]
