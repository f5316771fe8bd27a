"""The one place where other people's names for the parts of a resume become JSON Resume's."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError

from .dates import is_present
from .document import SECTIONS, JsonObject, Resume, title_field
from .errors import InvalidDocumentError
from .identities import Identities
from .limits import check_limits
from .standard import restored
from .values import LENIENT

_SECTION_NAMES: Mapping[str, str] = {
    "workExperience": "work",
    "experience": "work",
    "basic": "basics",
}
_FIELD_NAMES: Mapping[str, Mapping[str, str]] = {
    "work": {"company": "name"},
    "education": {"school": "institution", "major": "area", "degree": "studyType"},
}
_FOREIGN_WORK_FIELDS: Mapping[str, str] = {"description": "summary"}
"""Also renamed in a job that uses foreign names; JSON Resume has a `description` of its own."""


def canonical_section(name: str) -> str:
    """Return JSON Resume's name of a section; unknown names come back as they are."""
    return _SECTION_NAMES.get(name, name)


def canonical_field(section: str, field: str, *, foreign: bool = False) -> str:
    """Return JSON Resume's name of a field.

    `foreign` says that the section was written with a name that is not JSON Resume's.
    """
    if foreign and section == "work" and field in _FOREIGN_WORK_FIELDS:
        return _FOREIGN_WORK_FIELDS[field]
    return _FIELD_NAMES.get(section, {}).get(field, field)


def canonical_entry(section: str, value: JsonValue, *, foreign: bool = False) -> JsonValue:
    """Return an entry with JSON Resume's field names; a bare text becomes the entry's title.

    When both a foreign and the canonical name are there, the canonical one wins. A date that says
    "until now" or nothing becomes `None`.
    """
    if isinstance(value, str) and (title := title_field(section)):
        return {title: value}
    if not isinstance(value, dict):
        return value
    foreign = foreign or (section == "work" and "company" in value)
    entry: JsonObject = {}
    for name, item in value.items():
        field = canonical_field(section, name, foreign=foreign)
        if field == name or not value.get(field):
            entry[field] = None if _is_date(field) and _is_open(item) else item
    return entry


def load_resume(data: Mapping[str, JsonValue] | None) -> Resume:
    """Build a resume from a client's data: map foreign field names, convert dates to ISO form.

    Unknown fields and dates that cannot be parsed are kept as they are.

    Raises:
        InvalidDocumentError: a section does not have the shape that JSON Resume defines.
        ResumeTooLargeError: the document exceeds the limits of a resume.
    """
    document: JsonObject = {}
    for name, value in restored(dict(data or {})).items():
        section = canonical_section(name)
        document[section] = _joined(
            document.get(section), _canonical_value(section, value, foreign=section != name)
        )
    try:
        resume = Resume.model_validate(document, context=dict(LENIENT))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidDocumentError(
            path=".".join(str(step) for step in first["loc"]), reason=first["msg"]
        ) from error
    check_limits(resume.to_json())  # again: canonical forms take more room, joined lists too
    return resume


def _canonical_value(section: str, value: JsonValue, *, foreign: bool) -> JsonValue:
    if section in SECTIONS and isinstance(value, list):
        return [
            _without_open_dates(canonical_entry(section, entry, foreign=foreign)) for entry in value
        ]
    return value


def _without_open_dates(entry: JsonValue) -> JsonValue:
    if not isinstance(entry, dict):
        return entry
    return {field: item for field, item in entry.items() if not (_is_date(field) and item is None)}


def _joined(first: JsonValue, second: JsonValue) -> JsonValue:
    if isinstance(first, list) and isinstance(second, list):
        number = Identities().of
        known = set(map(number, first))
        return first + [entry for entry in second if number(entry) not in known]
    if isinstance(first, dict) and isinstance(second, dict):
        return {**second, **first}
    return first or second


def _is_date(field: str) -> bool:
    return field.endswith(("Date", "date"))


def _is_open(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and (not value.strip() or is_present(value)))
