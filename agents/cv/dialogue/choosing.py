"""Choosing one of the numbered entries that the person was asked about."""

from collections.abc import Iterable
from datetime import date

from mcp_tools.resume import Path, Resume

from .decision import Act, Ask, Step
from .pending import PendingChoice, PendingValue
from .plan import entry_calls
from .understanding.outline import Outline, Place
from .understanding.picking import understand_pick
from .understanding.recognition import Intent, Recognition, Target


def ask_which(said: Recognition, places: tuple[Place, ...], resume: Resume) -> Step:
    """Keep a command until one of the places is chosen, and ask which."""
    choice = kept_choice(said, places, resume)
    return Step(asked_again(choice), (choice,))


def kept_choice(said: Recognition, places: Iterable[Place], resume: Resume) -> PendingChoice:
    """Return a command as it waits until one of the places is chosen."""
    if said.intent not in ("ADD", "UPDATE", "DELETE", "READ"):
        raise ValueError(f"{said.intent} needs no choice")
    return PendingChoice(
        intent=said.intent.value,
        data=said.data,
        fields=said.fields,
        value=said.value,
        names=said.target.names,
        options=tuple(f"{place.section}[{place.index}]" for place in places),
        version=resume.version,
    )


def asked_again(choice: PendingChoice) -> Ask:
    """Return the question that a choice waits for."""
    return Ask("which_entry", {"options": choice.options})


def kept_command(choice: PendingChoice) -> Recognition:
    """Return the command that waits for a choice."""
    return Recognition(
        intent=Intent(choice.intent),
        section=_place(choice.options[0]).section,
        data=choice.data,
        fields=choice.fields,
        value=choice.value,
        target=Target(names=choice.names),
        confidence=1.0,
    )


def choose(
    text: str, choice: PendingChoice, resume: Resume, outline: Outline, *, today: date
) -> Step | None:
    """Carry out the kept command on what a message picks; `None` if it picks nothing.

    A number that is not on the list is asked for again.
    """
    command = kept_command(choice)
    places = tuple(_place(option) for option in choice.options)
    sections = {place.section for place in places}
    pick = understand_pick(
        text, intent=command.intent, outline=outline, sections=sections, today=today
    )
    if pick is None:
        return None
    if not all(-len(places) <= ordinal < len(places) for ordinal in pick.ordinals):
        return Step(asked_again(choice), (choice,))
    picked = _picked(pick, places, outline)
    changes = command.intent in (Intent.ADD, Intent.UPDATE)
    if len(picked) == 1 and changes and not (command.data or command.value):
        return _asked_for_value(command, picked[0])
    return Step(Act(entry_calls(command, picked, resume)), ()) if picked else None


def _asked_for_value(command: Recognition, place: Place) -> Step:
    """Ask what the field of a command becomes, or which one shall change."""
    path = f"{place.section}[{place.index}]"
    if not command.fields:
        return Step(Ask("what_change"), (PendingValue(path=path),))
    adds = command.intent is Intent.ADD
    value = PendingValue(path=f"{path}.{command.fields[0]}", adds=adds)
    return Step(Ask("new_value"), (value,))


def _picked(pick: Target, places: tuple[Place, ...], outline: Outline) -> tuple[Place, ...]:
    if pick.every:
        return places
    if pick.ordinals:
        return tuple(places[ordinal] for ordinal in pick.ordinals)
    found = [[place for place in outline.find(name) if place in places] for name in pick.names]
    if not all(found):
        return ()
    common = set.intersection(*map(set, found))
    return tuple(place for place in places if place in (common or set().union(*found)))


def _place(path: str) -> Place:
    section, index = Path.parse(path).steps
    return Place(section, int(index))  # type: ignore[arg-type]  # made by `ask_which`
