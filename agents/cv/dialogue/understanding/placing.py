"""The entry that a change names behind its value: "change Zurich to Geneva on the Google job"."""

from .canvas import Canvas
from .outline import Mention, Outline
from .pointing import other_names
from .sections import find_nouns, mask_mentions
from .vocabulary import vocabulary


def place_behind(
    canvas: Canvas, begin: int, old: Canvas, outline: Outline
) -> tuple[int, Mention] | None:
    """Return the entry that has the `old` value and ends a message, and where its words begin.

    The new value begins at `begin`; without an old value the words may as well be a part of it.
    """
    mentions = [m for m in outline.mentions(canvas.text) if m.begin > begin]
    names = other_names(old.copy()) if mentions else ()
    if len(names) != 1:
        return None
    places = outline.find(names[0])
    mention = next((mention for mention in mentions if mention.place in places), None)
    start = _begin(canvas, begin, mention, outline) if mention else None
    return (start, mention) if start and mention else None


def _begin(canvas: Canvas, begin: int, mention: Mention, outline: Outline) -> int | None:
    """Return where the words before an entry begin that say that something is in it."""
    visible = mask_mentions(canvas, outline)
    for noun in find_nouns(visible):
        visible.take(noun.begin, noun.stop)
    filler = vocabulary().references.filler
    before = vocabulary().grammar.placed_before.search(visible.text, begin, mention.begin)
    ends = visible.trimmed(mention.stop, len(visible.text), filler) is None
    return before.start() if before and ends else None
