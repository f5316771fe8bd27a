"""Reading, changing and deleting what is there: on which entries, or what must be asked first."""

from dataclasses import replace

from mcp_tools.resume import Resume, Section

from .choosing import ask_which, kept_choice
from .decision import Act, Ask, Step
from .listed_items import work_on_items
from .pending import PendingChoice, PendingValue
from .plan import basics_calls, edit_call, entry_calls, read_call
from .profiles import is_about_profile, profile_calls
from .resolve import Found, Missing, Several, resolve
from .text_parts import without_words
from .understanding.outline import Outline, Place
from .understanding.recognition import Intent, Recognition, Target


def work_on(said: Recognition, resume: Resume, outline: Outline) -> Step:
    """Decide on a command that is about what the resume holds; `pending` is what it leaves open."""
    if said.problems:
        return Step(Ask("bad_date", {"text": said.problems[0]}), ())
    adds = said.intent is Intent.ADD
    if (adds or said.intent is Intent.UPDATE) and not said.data and said.value is None:
        path = _path_to_change(said, resume, outline)
        if path is None and (asked := _asked_where(said, resume, outline)):
            return asked
        if path is None:
            return Step(Ask("what_change"), _kept_change(said, resume, outline))
        return Step(Ask("new_value"), (PendingValue(path=path, adds=adds),))
    if step := without_words(said, resume, outline):
        return step
    if said.section == "basics":
        return Step(_on_basics(said, resume), ())
    if step := work_on_items(said, resume, outline):
        return step
    if place := _implied(said, outline):
        unsure = "period" in said.fields and resume.entries(place.section)[place.index].get(
            "endDate"
        )
        act = Act(entry_calls(said, (place,), resume))
        return Step(Ask("what_change") if said.corrects and unsure else act, ())
    if said.section is None and not said.target and said.intent is not Intent.READ:
        return Step(Ask("which_part"), ())
    if said.intent is Intent.READ and (path := _whole_section(said)) is not None:
        return Step(Act((read_call(path),)), ())
    if said.intent is Intent.DELETE and said.section and _means_all(said):
        filled = resume.entries(said.section)
        return Step(
            Act((edit_call(said.section, "delete"),)) if filled else Ask("empty_section"), ()
        )
    return _on_resolved(said, resume, outline)


def _path_to_change(said: Recognition, resume: Resume, outline: Outline) -> str | None:
    """Return the path of the one field that shall change, if that is clear."""
    if len(said.fields) != 1 or said.fields == ("period",):
        return None
    if said.section == "basics":
        return f"basics.{said.fields[0]}"
    place = _implied(said, outline)
    match resolve(resume, outline, said.section, said.target):
        case Found((found,)):
            place = found
    return f"{place.section}[{place.index}].{said.fields[0]}" if place else None


def _asked_where(said: Recognition, resume: Resume, outline: Outline) -> Step | None:
    """Ask in which of several entries the one field that is named shall change."""
    if said.section in (None, "basics") or len(said.fields) != 1:
        return None
    match resolve(resume, outline, said.section, said.target):
        case Several(places):
            return ask_which(said, places, resume)
    return None


def _kept_change(
    said: Recognition, resume: Resume, outline: Outline
) -> tuple[PendingValue | PendingChoice, ...]:
    """Return what waits until it is said what shall change: one entry, or one of a section."""
    if said.section == "basics":
        return ()
    match resolve(resume, outline, said.section, said.target):
        case Found((place,)) if said.target:
            return (PendingValue(path=f"{place.section}[{place.index}]"),)
        case Several(places) if said.section:
            return (kept_choice(replace(said, fields=()), places, resume),)
    return ()


def _on_basics(said: Recognition, resume: Resume) -> Act | Ask:
    about_profile = is_about_profile(said)
    calls = profile_calls(said, resume) if about_profile else basics_calls(said)
    if calls:
        return Act(calls)
    if about_profile and said.intent in (Intent.READ, Intent.DELETE):
        return Ask("not_found", {"name": said.target.names[0]})
    return Ask("which_basics")


def _whole_section(said: Recognition) -> str | None:
    """Return the path to read when no entry is meant in particular; "" for the whole resume."""
    if said.section and _means_all(said):
        return said.section
    if said.target or (said.fields and said.section):
        return None
    return said.section or ""


def _means_all(said: Recognition) -> bool:
    return said.target.every and not (said.target.names or said.target.ordinals)


def _implied(said: Recognition, outline: Outline) -> Place | None:
    """Return the entry in focus for a command on some field that points at no entry."""
    place = outline.focused
    if place is None or said.target or said.section not in (None, place.section):
        return None
    return place if said.fields or said.intent is Intent.UPDATE else None


def _counted_in(said: Recognition, outline: Outline) -> Section | None:
    """Return the section that a command is about; "the second one" counts where the focus is."""
    if said.section or not outline.focus or said.target.names:
        return said.section
    return outline.focus.section


def _offered(said: Recognition, resume: Resume, outline: Outline) -> tuple[PendingChoice, ...]:
    """Return the command with the entries of its section, which are named in the answer."""
    kept = replace(said, target=Target())
    places = [place for place, _ in outline.places() if place.section == said.section]
    return (kept_choice(kept, places, resume),) if places else ()


def _on_resolved(said: Recognition, resume: Resume, outline: Outline) -> Step:
    match resolve(resume, outline, _counted_in(said, outline), said.target):
        case Found(places):
            return Step(Act(entry_calls(said, places, resume)), ())
        case Several(places) if said.intent is Intent.READ and not said.target and said.section:
            return Step(Act((read_call(said.section),)), ())
        case Several(places):
            return ask_which(said, places, resume)
        case Missing(name=str(name)):
            return Step(Ask("not_found", {"name": name}), _offered(said, resume, outline))
        case Missing(number=int(number)):
            return Step(Ask("no_such_number", {"number": number}), _offered(said, resume, outline))
        case Missing():
            return Step(Ask("empty_section"), ())
