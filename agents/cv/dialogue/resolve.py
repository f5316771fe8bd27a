"""Which entries of a resume a target means."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_tools.resume import SECTIONS, Resume, Section

from .understanding.outline import Outline, Place
from .understanding.recognition import Beside, Target

_PRESENT = "9999"
"""Sorts an open end behind every date."""


@dataclass(frozen=True, slots=True)
class Found:
    """The entries that are meant, in order."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """Ambiguous entries, one of which must be chosen."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such entry: none of that `name` or `number`, or none at all."""

    name: str | None = None
    number: int | None = None


Resolution = Found | Several | Missing


def resolve(
    resume: Resume, outline: Outline, section: Section | None, target: Target
) -> Resolution:
    """Find the entries that a target means, in a section or in all of them."""
    meant = _pointed_at(resume, outline, section, target)
    return _all_but(meant, outline) if target.rest and isinstance(meant, Found) else meant


def _all_but(found: Found, outline: Outline) -> Resolution:
    """Return the other entries of the same sections."""
    sections = {place.section for place in found.places}
    others = tuple(
        place
        for place, _ in outline.places()
        if place.section in sections and place not in found.places
    )
    return Found(others) if others else Missing()


def _pointed_at(
    resume: Resume, outline: Outline, section: Section | None, target: Target
) -> Resolution:
    sections = [section] if section else list(SECTIONS)
    places = tuple(place for place, _ in outline.places() if place.section in sections)
    if not places:
        return Missing(target.names[0] if target.names and section is None else None)
    named = _by_names(outline, sections, target) if target.names else None
    by_place = target.ordinals or target.newest or target.oldest
    if named and not (by_place and isinstance(named, Missing)):
        return named
    if target.ordinals:
        return _by_ordinals(places, target.ordinals)
    if target.beside:
        return _beside(places, outline.focused, target.beside)
    if target.every:
        return Found(places)
    if target.newest or target.oldest:
        choose = max if target.newest else min
        return Found((choose(places, key=lambda place: recency(resume, place)),))
    return Found(places) if len(places) == 1 else Several(places)


def _by_names(outline: Outline, sections: Sequence[Section], target: Target) -> Resolution:
    """Names may describe one entry together ("Google", "SRE") or several ("Python", "Go")."""
    found = [outline.find(name, sections) for name in target.names]
    hits = [places for places in found if places]
    if not hits:
        return Missing(target.names[0])
    common = [place for place in hits[0] if all(place in places for places in hits)]
    if common:
        if target.ordinals:
            return _by_ordinals(tuple(common), target.ordinals)
        return Found(tuple(common)) if len(common) == 1 or target.every else Several(tuple(common))
    if all(len(places) == 1 for places in hits):
        return Found(tuple(dict.fromkeys(place for places in hits for place in places)))
    return Several(tuple(dict.fromkeys(place for places in hits for place in places)))


def _by_ordinals(places: Sequence[Place], ordinals: tuple[int, ...]) -> Resolution:
    """Count within a section; without one, every section long enough is a candidate."""
    by_section: dict[Section, list[Place]] = {}
    for place in places:
        by_section.setdefault(place.section, []).append(place)
    picked = [
        tuple(group[ordinal] for ordinal in ordinals)
        for group in by_section.values()
        if all(-len(group) <= ordinal < len(group) for ordinal in ordinals)
    ]
    if not picked:
        return Missing(number=ordinals[0] + 1)
    if len(picked) == 1:
        return Found(picked[0])
    return Several(tuple(place for group in picked for place in group))


def _beside(places: Sequence[Place], focused: Place | None, beside: Beside) -> Resolution:
    """Return the entry next to the one in focus, or the only other one."""
    if focused is None or focused not in places:
        return Several(tuple(places))
    others = [place for place in places if place != focused]
    if beside == "other":
        return Found(tuple(others)) if len(others) == 1 else Several(tuple(others))
    index = focused.index + (1 if beside == "after" else -1)
    near = tuple(place for place in others if place == Place(focused.section, index))
    return Found(near) if near else Missing(number=index + 1)


def recency(resume: Resume, place: Place) -> tuple[str, str, int]:
    """Return what sorts entries by time, the newest last."""
    entry = resume.entries(place.section)[place.index]
    start, end = entry.get("startDate"), entry.get("endDate")
    dated = start or entry.get("date") or entry.get("releaseDate") or ""
    return (str(end or (_PRESENT if start else "")), str(dated), -place.index)
