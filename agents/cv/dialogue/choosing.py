"""Choosing one of the numbered entries that the person was asked about."""

from datetime import date

from mcp_tools.resume import Path

from .pending import PendingChoice
from .understanding.outline import Outline, Place
from .understanding.picking import understand_pick
from .understanding.recognition import Intent, Recognition, Target


def as_choice(said: Recognition, places: tuple[Place, ...]) -> PendingChoice:
    """Keep a command until one of the places is chosen."""
    if said.intent not in ("ADD", "UPDATE", "DELETE", "READ"):
        raise ValueError(f"{said.intent} needs no choice")
    return PendingChoice(
        intent=said.intent.value,
        data=said.data,
        fields=said.fields,
        value=said.value,
        names=said.target.names,
        options=tuple(f"{place.section}[{place.index}]" for place in places),
    )


def chosen(
    text: str, choice: PendingChoice, outline: Outline, *, today: date
) -> tuple[Recognition, tuple[Place, ...]] | None:
    """Return the kept command and the places that a message chooses; `None` if it chooses none."""
    places = tuple(_place(option) for option in choice.options)
    pick = understand_pick(text, intent=Intent(choice.intent), today=today)
    picked = _picked(pick, places, outline) if pick else ()
    if not picked:
        return None
    command = Recognition(
        intent=Intent(choice.intent),
        section=picked[0].section,
        data=choice.data,
        fields=choice.fields,
        value=choice.value,
        target=Target(names=choice.names),
        confidence=1.0,
    )
    return command, picked


def _picked(pick: Target, places: tuple[Place, ...], outline: Outline) -> tuple[Place, ...]:
    if pick.every:
        return places
    if pick.ordinals:
        fits = all(-len(places) <= ordinal < len(places) for ordinal in pick.ordinals)
        return tuple(places[ordinal] for ordinal in pick.ordinals) if fits else ()
    found = [place for name in pick.names for place in outline.find(name)]
    named = tuple(dict.fromkeys(place for place in found if place in places))
    return named if len(named) == len(pick.names) else ()


def _place(path: str) -> Place:
    section, index = Path.parse(path).steps
    return Place(section, int(index))  # type: ignore[arg-type]  # made by `as_choice`
