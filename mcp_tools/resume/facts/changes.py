"""The facts that a change of a resume would write down, compared with what is known."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.document import JsonObject
from mcp_tools.resume.patch import Operation

from .claims import NAMES, NESTED, leaves, unsaid
from .known import Known, plain_lines
from .names import readable
from .stated import is_translation, unsaid_terms
from .terms import evidence_in, is_sounded, words_of

_PERSONS = frozenset({"basics.name", "references.name"})
_BODIES = frozenset(
    {
        "awards.awarder",
        "certificates.issuer",
        "education.institution",
        "publications.publisher",
        "volunteer.organization",
    }
)
"""Names of bodies, which in English go by their initials: 人力资源和社会保障部 is "MOHRSS"."""
_LEAST_BODY = 6
_ACRONYM = re.compile(r"[A-Z]{3,8}")


def unsaid_by(
    changes: Iterable[Operation], known: Known, *, before: JsonObject | None = None
) -> list[str]:
    """Return the facts in the new values of a patch that are not known, each once.

    Args:
        before: The document that is changed; from it a translation is known as one.
    """
    document: JsonObject = before or {}
    found = (
        fact
        for change in changes
        for fact in _unsaid(change["path"], change.get("value"), document, known)
    )
    return list(dict.fromkeys(found))


def _unsaid(pointer: str, value: JsonValue, before: JsonObject, known: Known) -> Iterator[str]:
    section, field = _place(pointer)
    olds = _texts(section, field, _found(before, pointer))
    entry = _found(before, "/".join(pointer.split("/")[:3]))
    is_own = isinstance(entry, dict) and field is not None and section != "basics"
    hard = unsaid(section, field, value, known.about(entry) if is_own else known)
    own = "\n".join([known.said, plain_lines(texts_in(entry))])
    near = own if entry and section != "basics" else known.text
    for place, texts in _texts(section, field, value).items():
        was = olds.get(place, ())
        for number, text in enumerate(texts):
            old = was[number] if number < len(was) else None
            if place not in NAMES:
                yield from unsaid_terms(place, text, known.text, near=near, old=old)
            elif old is not None and _is_rendering(place, old, text, known):
                hard = [fact for fact in hard if fact != readable(text).strip()]
    yield from hard


def _found(document: JsonObject, pointer: str) -> JsonValue:
    """Return the value at a JSON pointer, None if there is none."""
    value: JsonValue = document
    for step in pointer.split("/")[1:]:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _texts(section: str, field: str | None, value: JsonValue) -> Mapping[str, Sequence[str]]:
    """Return the texts in a value by their places, such as `work.summary`."""
    found: dict[str, list[str]] = {}
    for holder, name, text in leaves(section, field, value):
        found.setdefault(f"{holder}.{name}", []).append(text)
    return found


def _is_rendering(place: str, old: str, new: str, known: Known) -> bool:
    """Return whether a name can be the translation of the one that it replaces.

    Persons' names are spelt by sound, in which only Chinese ones can be followed; names of others
    have a word in common, and none of a known company or school that was not said.
    """
    if not is_translation(old, new):
        return False
    if place in _PERSONS:
        return not is_sounded(old) and not any(sign.isascii() and sign.isalpha() for sign in new)
    evidence = evidence_in(known.text)
    if place in _BODIES and len(old) >= _LEAST_BODY and _ACRONYM.fullmatch(new.strip()):
        return not evidence.names_another(new)
    return not evidence.names_another(new) and any(map(evidence.says, words_of(new)))


def _place(pointer: str) -> tuple[str, str | None]:
    """Return the parent of the value at a JSON pointer and its field name.

    None for whole entries.
    """
    steps = [step for step in pointer.split("/") if step]
    names = [step for step in steps if not step.isdigit()]
    if len(names) < 2:
        return (names or [""])[0], None
    if names[-1] in NESTED:
        return names[-1], None
    return names[-2], names[-1]
