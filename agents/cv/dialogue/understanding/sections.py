"""Which section of the resume a message is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mcp_tools.resume import Section, title_field

from .canvas import Canvas
from .labelled import Label, find_labels, in_name
from .outline import Outline
from .vocabulary import vocabulary
from .words import TAKEN

BY_PRECEDENCE: tuple[Section, ...] = (
    "basics",
    "work",
    "education",
    "projects",
    "skills",
    "languages",
    "certificates",
    "awards",
    "volunteer",
    "publications",
    "interests",
    "references",
)
"""Priority of sections that share a label, unless the context decides."""

_STATEMENT_ORDER: tuple[Section, ...] = (
    "volunteer",
    "education",
    "publications",
    "certificates",
    "awards",
    "languages",
    "references",
    "basics",
    "work",
    "projects",
    "skills",
    "interests",
)
"""Which section a statement belongs to when it fits several from the same word on."""

_GENERAL: tuple[Section, ...] = ("work",)
"""Sections whose nouns ("experience") take their meaning from the noun before them."""


@dataclass(frozen=True, slots=True)
class Noun:
    """The name of a section at `begin:stop` of a text; `named`: as part of a proper name."""

    section: Section
    begin: int
    stop: int
    named: bool = False


def find_nouns(canvas: Canvas) -> list[Noun]:
    """Return the names of sections in a text, in order; "work project" counts as one."""
    return list(_nouns(canvas.text))


@lru_cache(maxsize=256)
def _nouns(text: str) -> tuple[Noun, ...]:
    """Find nouns; the same text is looked at several times while a message is understood."""
    hits = [
        Noun(section, *match.span(), named=_is_named(text, *match.span()))
        for section, words in vocabulary().sections.items()
        for match in words.nouns.finditer(text)
    ]
    nouns: list[Noun] = []
    for hit in sorted(hits, key=lambda noun: noun.begin - noun.stop):
        if all(hit.stop <= other.begin or other.stop <= hit.begin for other in nouns):
            nouns.append(hit)
    return tuple(_compounds(text, sorted(nouns, key=lambda noun: noun.begin)))


def section_in(text: str) -> Section | None:
    """Return the section that a text names first, if it names one."""
    return next((noun.section for noun in _nouns(text)), None)


def main_noun(canvas: Canvas, nouns: Sequence[Noun], *, last: bool) -> Noun | None:
    """Choose the noun that says where something is to be done.

    "to my skills" and "技能里" are the clearest; then the longer nouns; `last` prefers the noun
    that ends a phrase to the one that begins it.
    """
    if not nouns:
        return None
    order = list(reversed(nouns)) if last else list(nouns)
    return max(order, key=lambda noun: _clarity(canvas, noun))


def apart_from(noun: Noun | None, labels: Sequence[Label]) -> list[Label]:
    """Return the names of fields that are not part of the section's name.

    When there are no others, one that the section's name consists of counts: "my degree" is a
    section and a field, "my skills" only a section, because the field is just the entry's name.
    """
    if noun is None:
        return list(labels)
    apart = [label for label in labels if label.begin < noun.begin or noun.stop < label.stop]
    title = title_field(noun.section)
    return apart or [label for label in labels if label.field != title]


def mask_mentions(canvas: Canvas, outline: Outline) -> Canvas:
    """Return a copy of a canvas without the titles of existing entries."""
    copy = canvas.copy()
    for mention in outline.mentions(canvas.text):
        if canvas.has(mention.begin, mention.stop):
            copy.take(mention.begin, mention.stop)
    return copy


def find_statement(text: str) -> Section | None:
    """Return the section that a sentence without a command adds to."""
    found = [
        (match.start(), rank, section)
        for rank, section in enumerate(_STATEMENT_ORDER)
        if (match := vocabulary().sections[section].states.search(text))
    ]
    return min(found)[2] if found else None


def labels_by_section(canvas: Canvas) -> dict[Section, list[Label]]:
    """Return the names of fields in a text for every section that has them."""
    found = {section: find_labels(canvas, section) for section in BY_PRECEDENCE}
    return {section: labels for section, labels in found.items() if labels}


def _compounds(text: str, nouns: list[Noun]) -> list[Noun]:
    joined: list[Noun] = []
    for noun in nouns:
        previous = joined[-1] if joined else None
        plural = previous is not None and text[previous.begin : previous.stop].endswith("s")
        if previous and not plural and text[previous.stop : noun.begin] in ("", " "):
            section = previous.section if noun.section in _GENERAL else noun.section
            joined[-1] = Noun(section, previous.begin, noun.stop, named=noun.named)
        else:
            joined.append(noun)
    return joined


def _clarity(canvas: Canvas, noun: Noun) -> int:
    grammar = vocabulary().grammar
    before, after = canvas.text[: noun.begin], canvas.text[noun.stop :]
    located = grammar.section_after.match(after) or grammar.section_before.search(before)
    words = canvas.text[noun.begin : noun.stop]
    long = len(words) >= 4 or (words.isascii() and " " in words)
    return 4 * (located is not None) + long - 2 * noun.named


def _is_named(text: str, begin: int, stop: int) -> bool:
    """Tell whether a noun ends a proper name: "Columbia University", "oxford university"."""
    if in_name(text, begin, stop):
        return True
    word = text[:begin].rstrip().rsplit(" ", 1)[-1].strip(TAKEN)
    fillers = (vocabulary().references.filler, vocabulary().filler)
    common = any(filler.leading.fullmatch(word) for filler in fillers)
    named = vocabulary().grammar.named.fullmatch(text, begin, stop) is not None
    return named and word.isalpha() and word.isascii() and not common


def labelled_section(
    canvas: Canvas, *, basics: bool, outline: Outline | None = None
) -> Section | None:
    """Return the section of which a text names most fields, `basics` only if allowed.

    Of several, the one that the conversation is about comes first.
    """
    focus = outline.focus.section if outline and outline.focus else None
    lengths = {
        section: sum(label.stop - label.begin for label in labels)
        for section, labels in labels_by_section(canvas).items()
        if basics or section != "basics"
    }
    longest = max(lengths.values(), default=0)
    named = [section for section, length in lengths.items() if length == longest]
    entry = outline is not None and outline.focused is not None
    about_entry = entry and not vocabulary().grammar.own.search(canvas.text)
    if focus in named and ("basics" not in named or about_entry):
        return focus
    return next(iter(named), None)
