"""Single items in the lists of an entry: "去掉Python的关键词Django", "腾讯的第一条亮点改成…"."""

from collections.abc import Sequence

from mcp_tools.resume import Resume, Section, field_kind

from .decision import Act, Ask, Step
from .plan import edit_call, single
from .understanding.outline import Outline, Place
from .understanding.recognition import Intent, Recognition


def work_on_items(said: Recognition, resume: Resume, outline: Outline) -> Step | None:
    """Delete or replace the items that a command names or counts behind the name of their entry.

    An entry need not be named when no other has such an item. `None` if the command is about
    entries and fields.
    """
    fields = [name for name in said.fields if _is_list(said.section, name)]
    if said.intent not in (Intent.DELETE, Intent.UPDATE) or len(fields) != 1:
        return None
    places = [place for place, _ in outline.places() if _is_list(place.section, fields[0])]
    named = [found for name in said.target.names if (found := outline.find(name))]
    words = [name for name in said.target.names if not outline.find(name)]
    counted = said.target.ordinals if named else ()
    if not (words or counted):
        return None
    meant = [place for place in places if all(place in found for found in named)]
    paths = [path for place in meant for path in _paths(resume, place, fields[0], words, counted)]
    if not paths and said.intent is Intent.UPDATE:
        return None
    if not paths:
        details = {"name": words[0]} if words else {"number": counted[0] + 1}
        return Step(Ask("not_found" if words else "no_such_number", details), ())
    if said.intent is Intent.DELETE:
        return Step(Act(tuple(edit_call(path, "delete") for path in reversed(paths))), ())
    return Step(Act((edit_call(paths[0], "update", single(said.data.get(fields[0]))),)), ())


def _paths(
    resume: Resume, place: Place, field: str, words: Sequence[str], counted: Sequence[int]
) -> list[str]:
    """Return where the items stand that hold one of some words or are counted."""
    found = resume.entries(place.section)[place.index].get(field)
    items = found if isinstance(found, list) else []
    return [
        f"{place.section}[{place.index}].{field}[{number}]"
        for number, item in enumerate(items)
        if any(word.casefold() in str(item).casefold() for word in words)
        or (not words and {number, number - len(items)} & {*counted})
    ]


def _is_list(section: Section | None, field: str) -> bool:
    return section not in (None, "basics") and field_kind(section or "", field) == "list"
