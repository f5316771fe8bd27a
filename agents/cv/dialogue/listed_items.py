"""Taking items out of the lists of an entry: "去掉Python的关键词Django"."""

from collections.abc import Sequence

from mcp_tools.resume import Resume, Section, field_kind

from .decision import Act, Ask, Step
from .plan import edit_call
from .understanding.outline import Outline, Place
from .understanding.recognition import Intent, Recognition


def without_items(said: Recognition, resume: Resume, outline: Outline) -> Step | None:
    """Delete the items that a command names; `None` if it names only entries and fields.

    An entry need not be named when no other has such an item.
    """
    fields = [name for name in said.fields if _is_list(said.section, name)]
    if said.intent is not Intent.DELETE or len(fields) != 1:
        return None
    places = [place for place, _ in outline.places() if _is_list(place.section, fields[0])]
    named = [found for name in said.target.names if (found := outline.find(name))]
    words = [name for name in said.target.names if not outline.find(name)]
    if not words:
        return None
    meant = [place for place in places if all(place in found for found in named)]
    paths = [path for place in meant for path in _paths(resume, place, fields[0], words)]
    if not paths:
        return Step(Ask("not_found", {"name": words[0]}), ())
    return Step(Act(tuple(edit_call(path, "delete") for path in reversed(paths))), ())


def _paths(resume: Resume, place: Place, field: str, words: Sequence[str]) -> list[str]:
    """Return where the items stand that hold one of some words."""
    items = resume.entries(place.section)[place.index].get(field)
    return [
        f"{place.section}[{place.index}].{field}[{number}]"
        for number, item in enumerate(items if isinstance(items, list) else ())
        if any(word.casefold() in str(item).casefold() for word in words)
    ]


def _is_list(section: Section | None, field: str) -> bool:
    return section not in (None, "basics") and field_kind(section or "", field) == "list"
