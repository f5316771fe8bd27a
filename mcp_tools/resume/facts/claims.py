"""The hard facts that a value states, compared with what is known."""

import re
from collections.abc import Iterator
from functools import partial

from pydantic import JsonValue

from mcp_tools.resume.dates import parse_date
from mcp_tools.resume.errors import InvalidDateError

from .known import Known
from .names import is_named, is_place, plain, readable
from .numbers import Claim, magnitudes_claimed, numbers_claimed
from .terms import evidence_in
from .times import dates_in, is_known_time

_DATES = frozenset({"startDate", "endDate", "date", "releaseDate"})
_LINKS = frozenset({"url", "image"})
NAMES = frozenset(
    {
        "work.name",
        "volunteer.organization",
        "education.institution",
        "basics.name",
        "references.name",
        "awards.awarder",
        "certificates.issuer",
        "publications.publisher",
        "projects.entity",
        "profiles.username",
    }
)
"""Fields that hold the name of a company, a school, an issuer or a person."""
_WITHOUT_NUMBERS = frozenset(
    {"keywords", "courses", "name", "roles", "fluency", "username", "network"}
)
"""Fields where a figure is a part of a name, as in HTML5."""

NESTED = frozenset({"profiles", "location"})
"""Fields that hold fields of their own."""

_EMAIL = re.compile(r"(?<![a-z\d.+-])[a-z\d_.+-]{1,64}@[a-z\d-]+(?:\.[a-z\d-]+)+", re.IGNORECASE)
_URL = re.compile(
    r"https?://[^\s，。；、）)]+|www\.[^\s，。；、）)]+|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/[^\s，。；、）)]*"
)
_IN_BRACKETS = re.compile(r"[(（\[【]([^()（）\[\]【】]{1,60})[)）\]】]")
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\s().-]{6,24}\d(?!\w)")
_LEAST_PHONE_DIGITS = 7
_LONGEST_TEXT = 20_000
"""Maximum length of text that is checked."""
_LONGEST_COUNTRY_CODE = 4
_YEARS_BEHIND = ("年", "year", "yr", "+年", "多年")


def unsaid(section: str, field: str | None, value: JsonValue, known: Known) -> list[str]:
    """Return the facts in a value that are not known, as they stand there, each once.

    `section` is a section, a field that holds others, or "" for a whole document. `field` is the
    name of the field that the value is for, None when it is an entry or several.
    """
    found = [
        fact
        for holder, name, text in leaves(section, field, value)
        for fact in _unsaid_in(f"{holder}.{name}", name, text, known)
    ]
    return list(dict.fromkeys(found))


def leaves(holder: str, field: str | None, value: JsonValue) -> Iterator[tuple[str, str, str]]:
    """The texts in a value, with the names of what holds them and of their field."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in NESTED or holder == "":
                yield from leaves(name, None, item)
            else:
                yield from leaves(holder, name, item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(holder, field, item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield holder, field or "", str(value)


def _unsaid_in(place: str, field: str, text: str, known: Known) -> Iterator[str]:
    text = readable(text[:_LONGEST_TEXT]).strip()
    if not text:
        return
    if field in _DATES:
        yield from _unsaid_date(text, known)
    elif place in NAMES:
        added = (part for part in _IN_BRACKETS.findall(text) if not is_place(part))
        if not all(map(partial(_is_known_name, known=known), (text, *added))):
            yield text
    elif field in _LINKS or field == "phone":
        is_known = _is_known_link if field in _LINKS else _is_known_phone
        if plain(text) not in known.text and not is_known(text, known):
            yield text
    else:
        yield from _unsaid_in_prose(field, text, known)


def _is_known_name(name: str, known: Known) -> bool:
    return is_named(name, known.text) or evidence_in(known.text).renders(name)


def _unsaid_date(text: str, known: Known) -> Iterator[str]:
    try:
        iso = parse_date(text)
    except InvalidDateError:
        return  # the tool says what is wrong with it
    if iso is not None and not is_known_time(iso, known.times):
        yield text


def _unsaid_in_prose(field: str, text: str, known: Known) -> Iterator[str]:
    for match in _EMAIL.finditer(text):
        if match[0].casefold() not in known.text:
            yield match[0]
    text = _EMAIL.sub(" ", text)
    for match in _URL.finditer(text):
        if not _is_known_link(match[0], known):
            yield match[0]
    text = _URL.sub(" ", text)
    if field in _WITHOUT_NUMBERS:
        return
    for written, iso in dates_in(text):
        if not is_known_time(iso, known.times):
            yield written
        text = text.replace(written, " ")
    for match in _PHONE.finditer(text):
        if _is_phone(match[0]) and not _is_known_phone(match[0], known):
            yield match[0]
    text = _PHONE.sub(lambda match: " " if _is_phone(match[0]) else match[0], text)
    for claim in numbers_claimed(text, names=known.text):
        if not _is_known_number(claim, known):
            yield claim.text
    for written, least, most in magnitudes_claimed(text):
        if not _is_known_magnitude(written, least, most, known):
            yield written


def _is_known_magnitude(written: str, least: float, most: float, known: Known) -> bool:
    counted = (number for number in known.numbers if number not in known.times.years)
    return written.casefold() in known.text or any(least <= n < most for n in counted)


def _is_known_number(claim: Claim, known: Known) -> bool:
    if claim.values & known.numbers:
        return True
    if claim.unit.startswith(_YEARS_BEHIND):
        years = known.working_years
        spans = {abs(one - other) for one in years for other in years}
        return any(value + slack in spans for value in claim.values for slack in (-1, 0, 1))
    return bool(claim.values <= {1.0})


def _is_known_link(text: str, known: Known) -> bool:
    """Return whether a link is known, or consists of a known site and a known name."""
    link = plain(text)
    link = re.sub(r"^(?:https?://)?(?:www\.)?", "", link).rstrip("/.,;")
    if link in known.text:
        return True
    host, _, path = link.partition("/")
    site = host.removesuffix(".cn").rpartition(".")[0].rpartition(".")[2]
    who = path.rpartition("/")[2].lstrip("@")
    return bool(who and site and who in known.text and site in known.text)


def _is_phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return len(digits) > _LEAST_PHONE_DIGITS and "," not in text


def _is_known_phone(text: str, known: Known) -> bool:
    """Return whether the digits are known, with or without a country code."""
    digits = re.sub(r"\D", "", text)
    if len(digits) < _LEAST_PHONE_DIGITS:
        return digits in known.digits
    longest = min(_LONGEST_COUNTRY_CODE, len(digits) - _LEAST_PHONE_DIGITS)
    return any(digits[start:] in known.digits for start in range(longest + 1))
