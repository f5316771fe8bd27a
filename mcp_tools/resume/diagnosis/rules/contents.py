"""Required content of a resume: contact data, and the sections that every reader expects."""

import re
from collections.abc import Iterator

from pydantic import JsonValue, TypeAdapter, ValidationError

from mcp_tools.resume.diagnosis.defects import Defect, Severity
from mcp_tools.resume.diagnosis.reading import Reading
from mcp_tools.resume.document import Section
from mcp_tools.resume.values import Email

_CONTACTS = ("name", "email", "phone")
_EMAIL: TypeAdapter[str | None] = TypeAdapter(Email)
_FEWEST_DIGITS = 5
_LONG_CAREER = 15 * 12
"""Months of work after which an education section is no longer expected."""


def missing_contact(reading: Reading) -> Iterator[Defect]:
    """Find missing or invalid values of name, e-mail address and phone."""
    fields: list[JsonValue] = [
        name for name in _CONTACTS if not is_contact(name, reading.basic(name))
    ]
    if fields:
        severity: Severity = "high" if fields != ["phone"] else "medium"
        yield Defect(
            kind="missing_contact", section="basics", detail={"fields": fields}, severity=severity
        )


def is_contact(name: str, text: str) -> bool:
    """Tell whether a text can be a name, an e-mail address (`email`) or a number (`phone`)."""
    if name == "email":
        return _is_email(text)
    if name == "phone":
        return len(re.findall(r"\d", text)) >= _FEWEST_DIGITS
    return bool(text.strip())


def _is_email(text: str) -> bool:
    try:
        _EMAIL.validate_python(text)
    except ValidationError:
        return False
    return True


def missing_section(reading: Reading) -> Iterator[Defect]:
    """Find out which of work, education and skills this person should have, and has not."""
    if not reading.filled("work") and not reading.is_student:
        yield _missing("work", "high")
    if not reading.filled("education") and not _has_long_career(reading):
        yield _missing("education", "medium")
    if not reading.filled("skills"):
        yield _missing("skills", "medium")


def _missing(section: Section, severity: Severity) -> Defect:
    return Defect(kind="missing_section", section=section, severity=severity)


def _has_long_career(reading: Reading) -> bool:
    starts = [entry.start for entry in reading.filled("work") if entry.start]
    return any(start.last < reading.now.first - _LONG_CAREER for start in starts)
