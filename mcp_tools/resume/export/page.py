"""The visible content of a resume, ready for layout: all formats but JSON are made from a `Page`.

All texts are single lines without control characters; empty values are not shown. Fields that JSON
Resume does not define, and pictures, are not shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pydantic import JsonValue

from mcp_tools.resume.document import JsonObject, Resume, Section
from mcp_tools.resume.labels import Language, field_label, section_label

from .links import Link, mail_link, web_link
from .periods import period_text
from .text import language_of, lines, one_line


@dataclass(frozen=True)
class Fact:
    """A label and what it says."""

    label: str
    text: str


@dataclass(frozen=True)
class Contact:
    """One way to reach the person; `needs_label` where its text does not tell what it is."""

    label: str
    link: Link
    needs_label: bool = False


@dataclass(frozen=True)
class Item:
    """An entry of a section."""

    title: str
    subtitle: str
    place: str
    period: str
    paragraphs: tuple[str, ...]
    bullets: tuple[str, ...]
    tags: tuple[str, ...]
    facts: tuple[Fact, ...]
    link: Link | None


@dataclass(frozen=True)
class Part:
    """A section with its heading; the items of a `compact` one are a line each."""

    section: Section
    heading: str
    layout: Literal["entries", "compact"]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Page:
    """A whole resume; `title` names the document, `heading` the person or else the document."""

    language: Language
    title: str
    name: str
    heading: str
    label: str
    contacts: tuple[Contact, ...]
    about: str
    summary: tuple[str, ...]
    parts: tuple[Part, ...]
    colon: str
    comma: str


@dataclass(frozen=True)
class _Plan:
    """Which fields of an entry go where."""

    title: str
    subtitle: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()
    bullets: str = ""
    tags: str = ""
    facts: tuple[str, ...] = ()
    layout: Literal["entries", "compact"] = "entries"


_SPAN = ("startDate", "endDate")
_PLANS: Mapping[Section, _Plan] = MappingProxyType(
    {
        "work": _Plan("name", ("position",), _SPAN, ("description", "summary"), "highlights"),
        "projects": _Plan(
            *("name", ("roles", "entity", "type"), _SPAN, ("description",), "highlights"),
            facts=("keywords",),
        ),
        "education": _Plan("institution", ("studyType", "area"), _SPAN, facts=("score", "courses")),
        "skills": _Plan("name", ("level",), tags="keywords", layout="compact"),
        "languages": _Plan("language", ("fluency",), layout="compact"),
        "certificates": _Plan("name", ("issuer",), ("date",)),
        "awards": _Plan("title", ("awarder",), ("date",), ("summary",)),
        "publications": _Plan("name", ("publisher",), ("releaseDate",), ("summary",)),
        "volunteer": _Plan("organization", ("position",), _SPAN, ("summary",), "highlights"),
        "interests": _Plan("name", tags="keywords", layout="compact"),
        "references": _Plan("name", paragraphs=("reference",)),
    }
)

_RESUME: Mapping[Language, str] = MappingProxyType({"zh": "简历", "en": "Resume"})
_COLON: Mapping[Language, str] = MappingProxyType({"zh": "：", "en": ": "})
_COMMA: Mapping[Language, str] = MappingProxyType({"zh": "、", "en": ", "})
_DOT = " · "


def page_of(resume: Resume, language: Language | None = None) -> Page:
    """Lay out a resume; without a `language` it is the one in which most of it is written."""
    document = resume.to_json()
    spoken = language or language_of(_texts_in(document))
    basics = _object(document.get("basics"))
    name = _text(basics, "name")
    return Page(
        language=spoken,
        title=_DOT.join(filter(None, (name, _RESUME[spoken]))),
        name=name,
        heading=name or _RESUME[spoken],
        label=_text(basics, "label"),
        contacts=tuple(_contacts(basics, spoken)),
        about=_heading(field_label("basics", "summary", spoken), spoken),
        summary=lines(_string(basics, "summary")),
        parts=tuple(_parts(resume, spoken)),
        colon=_COLON[spoken],
        comma=_COMMA[spoken],
    )


def _parts(resume: Resume, language: Language) -> Iterator[Part]:
    for section in resume.order:
        plan = _PLANS[section]
        items = [_item(entry, section, plan, language) for entry in resume.entries(section)]
        if shown := tuple(item for item in items if item is not None):
            heading = _heading(section_label(section, language), language)
            yield Part(section, heading, plan.layout, shown)


def _item(entry: JsonObject, section: Section, plan: _Plan, language: Language) -> Item | None:
    names = (_text(entry, plan.title), _subtitle(entry, plan))
    title, subtitle, *_ = (*filter(None, names), "", "")
    url = _text(entry, "url")
    item = Item(
        title=title,
        subtitle=subtitle,
        place=_text(entry, "location"),
        period=_period(entry, plan, language),
        paragraphs=tuple(
            line for field in plan.paragraphs for line in lines(_string(entry, field))
        ),
        bullets=_list(entry, plan.bullets),
        tags=_list(entry, plan.tags),
        facts=tuple(_facts(entry, section, plan, language)),
        link=web_link(url) if url else None,
    )
    return item if any(vars(item).values()) else None


def _subtitle(entry: JsonObject, plan: _Plan) -> str:
    return _DOT.join(text for field in plan.subtitle for text in _list(entry, field))


def _period(entry: JsonObject, plan: _Plan, language: Language) -> str:
    if plan.dates == _SPAN:
        return period_text(_text(entry, "startDate"), _text(entry, "endDate"), language)
    return period_text("", "".join(_text(entry, field) for field in plan.dates), language)


def _facts(entry: JsonObject, section: Section, plan: _Plan, language: Language) -> Iterator[Fact]:
    for field in plan.facts:
        if texts := _list(entry, field):
            label = _heading(field_label(section, field, language), language)
            yield Fact(label, _COMMA[language].join(texts))


def _contacts(basics: JsonObject, language: Language) -> Iterator[Contact]:
    links = {
        "email": mail_link(_text(basics, "email")),
        "phone": Link(_text(basics, "phone")),
        "url": web_link(_text(basics, "url")),
        "location": Link(_address(basics.get("location"), language)),
    }
    for field, link in links.items():
        if link.text:
            yield Contact(_heading(field_label("basics", field, language), language), link)
    profiles = basics.get("profiles")
    for profile in profiles if isinstance(profiles, list) else []:
        if (contact := _profile(_object(profile), language)).link.text:
            yield contact


def _profile(profile: JsonObject, language: Language) -> Contact:
    """A profile is shown by its address, and by its user name where that does not tell it."""
    username, url = _text(profile, "username"), web_link(_text(profile, "url"))
    network = _text(profile, "network")
    label = network or _heading(field_label("basics", "profiles", language), language)
    told = url.text if username in url.text else f"{username} ({url.text})"
    text = told if url.text else username or network
    return Contact(label, Link(text, url.url), needs_label=network.lower() not in text.lower())


def _address(value: JsonValue | None, language: Language) -> str:
    """Write an address from its largest part in Chinese, from its smallest one in English."""
    place = _object(value)
    wide_to_narrow = [_text(place, field) for field in ("region", "city", "address")]
    rest = [_text(place, field) for field in ("postalCode", "countryCode")]
    parts = wide_to_narrow if language == "zh" else wide_to_narrow[::-1]
    return ("，" if language == "zh" else ", ").join(filter(None, dict.fromkeys(parts + rest)))


def _heading(label: str, language: Language) -> str:
    return label.title() if language == "en" else label


def _texts_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from _texts_in(element)
    elif isinstance(value, dict):
        for name, element in value.items():
            if name not in ("url", "email", "meta"):
                yield from _texts_in(element)


def _object(value: JsonValue | None) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _string(entry: JsonObject, field: str) -> str:
    value = entry.get(field)
    return value if isinstance(value, str) else ""


def _text(entry: JsonObject, field: str) -> str:
    return one_line(_string(entry, field))


def _list(entry: JsonObject, field: str) -> tuple[str, ...]:
    value = entry.get(field)
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(line for text in texts if isinstance(text, str) and (line := one_line(text)))
