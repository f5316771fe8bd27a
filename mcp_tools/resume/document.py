"""The resume as a JSON Resume document: its sections and their fields.

Every model keeps fields that it does not know.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationInfo

from .values import Email, PartialDate, Text, Texts, is_lenient

JsonObject = dict[str, JsonValue]
Section = Literal[
    "basics",
    "work",
    "volunteer",
    "education",
    "awards",
    "certificates",
    "publications",
    "skills",
    "languages",
    "interests",
    "references",
    "projects",
]
SECTIONS: tuple[Section, ...] = get_args(Section)
READING_ORDER: tuple[Section, ...] = (
    *("work", "projects", "education", "skills", "languages", "certificates", "awards"),
    *("publications", "volunteer", "interests", "references"),
)
"""The sections in the order in which a reader meets them, if nobody has said another."""
_COUNT = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
"""Matches a number of edits written as text; the number of digits is limited."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Location(_Part):
    """Where the person lives."""

    address: Text = None
    postalCode: Text = None
    city: Text = None
    countryCode: Text = None
    region: Text = None


def _place(value: object, info: ValidationInfo) -> object:
    """Read "Berlin, Germany"; in an edit such words replace all that a location said before."""
    if not isinstance(value, str):
        return value
    city, _, region = (part.strip() for part in value.partition(","))
    place = {"city": city, **({"region": region} if region else {})}
    return place if is_lenient(info) else {**dict.fromkeys(Location.model_fields), **place}


class Entry(_Part):
    """One element of a section; `title_field` is the field by which people name it."""

    title_field: ClassVar[str] = "name"


class Profile(Entry):
    """An account on a social network."""

    title_field: ClassVar[str] = "network"

    network: Text = None
    username: Text = None
    url: Text = None


class Basics(_Part):
    """Who the person is and how to reach them."""

    name: Text = None
    label: Text = None
    image: Text = None
    email: Email = None
    phone: Text = None
    url: Text = None
    summary: Text = None
    location: Annotated[Location, BeforeValidator(_place)] | None = None
    profiles: list[Profile] | None = None


class Work(Entry):
    """A job; `name` is the company."""

    name: Text = None
    position: Text = None
    location: Text = None
    description: Text = None
    url: Text = None
    startDate: PartialDate = None
    endDate: PartialDate = None
    summary: Text = None
    highlights: Texts = None


class Volunteer(Entry):
    """Unpaid work for an organization."""

    title_field: ClassVar[str] = "organization"

    organization: Text = None
    position: Text = None
    url: Text = None
    startDate: PartialDate = None
    endDate: PartialDate = None
    summary: Text = None
    highlights: Texts = None


class Education(Entry):
    """A time at a school; `area` is the subject, `studyType` the degree."""

    title_field: ClassVar[str] = "institution"

    institution: Text = None
    area: Text = None
    studyType: Text = None
    startDate: PartialDate = None
    endDate: PartialDate = None
    score: Text = None
    courses: Texts = None
    url: Text = None


class Award(Entry):
    """A prize."""

    title_field: ClassVar[str] = "title"

    title: Text = None
    date: PartialDate = None
    awarder: Text = None
    summary: Text = None


class Certificate(Entry):
    """A certificate and who issued it."""

    name: Text = None
    date: PartialDate = None
    issuer: Text = None
    url: Text = None


class Publication(Entry):
    """An article or a book."""

    name: Text = None
    publisher: Text = None
    releaseDate: PartialDate = None
    url: Text = None
    summary: Text = None


class Skill(Entry):
    """A skill, its level, and what it comprises."""

    name: Text = None
    level: Text = None
    keywords: Texts = None


class LanguageSkill(Entry):
    """A language that the person speaks."""

    title_field: ClassVar[str] = "language"

    language: Text = None
    fluency: Text = None


class Interest(Entry):
    """A hobby."""

    name: Text = None
    keywords: Texts = None


class Reference(Entry):
    """A person who recommends, and their words."""

    name: Text = None
    reference: Text = None


class Project(Entry):
    """A project."""

    name: Text = None
    description: Text = None
    highlights: Texts = None
    keywords: Texts = None
    startDate: PartialDate = None
    endDate: PartialDate = None
    url: Text = None
    roles: Texts = None
    entity: Text = None
    type: Text = None


def as_count(version: object) -> object:
    """Return a version that is a number in text as an int; return any other version unchanged."""
    is_count = isinstance(version, str) and _COUNT.fullmatch(version)
    return int(version) if is_count else version  # type: ignore[call-overload]


def counted(version: JsonValue) -> int:
    """Return the number of edits in `meta.version`, or 0 if it is not a number."""
    count = as_count(version)
    return count if isinstance(count, int) else 0


class Meta(_Part):
    """Metadata of the document.

    `version` counts its edits, as a number or as text; `sections` are those that come first, in
    the order that the person wants.
    """

    canonical: Text = None
    version: Annotated[JsonValue, BeforeValidator(as_count)] = None
    lastModified: Text = None
    sections: JsonValue = None


class Resume(_Part):
    """A JSON Resume document, frozen; use `load_resume` to make one from what a client sends."""

    basics: Basics | None = None
    work: list[Work] | None = None
    volunteer: list[Volunteer] | None = None
    education: list[Education] | None = None
    awards: list[Award] | None = None
    certificates: list[Certificate] | None = None
    publications: list[Publication] | None = None
    skills: list[Skill] | None = None
    languages: list[LanguageSkill] | None = None
    interests: list[Interest] | None = None
    references: list[Reference] | None = None
    projects: list[Project] | None = None
    meta: Meta | None = None

    @property
    def version(self) -> int:
        """The number of edits so far; a version that is no number counts as none."""
        return counted(self.meta.version if self.meta else None)

    def to_json(self) -> JsonObject:
        """Return the document as plain JSON, with exactly the fields that were set.

        Its sections stand in their order, if somebody has said one.
        """
        dumped: JsonObject = self.model_dump(mode="json", exclude_unset=True)
        if not self._said_order:
            return dumped
        first = [name for name in ("basics", *self.order) if name in dumped]
        return {name: dumped[name] for name in dict.fromkeys((*first, *dumped))}

    @property
    def order(self) -> tuple[Section, ...]:
        """The sections but `basics` in the order in which they are shown.

        Who has not worked yet is shown by what they study, unless they want it otherwise.
        """
        study: tuple[Section, ...] = () if self.work else ("education",)
        return tuple(dict.fromkeys((*(self._said_order or study), *READING_ORDER)))

    @property
    def _said_order(self) -> tuple[Section, ...]:
        said = self.meta.sections if self.meta else None
        listed = said if isinstance(said, list) else []
        return tuple(section for name in listed for section in READING_ORDER if section == name)

    def entries(self, section: Section) -> list[JsonObject]:
        """Return the entries of a section as plain JSON; `basics` has none."""
        found = self.to_json().get(section)
        if not isinstance(found, list):
            return []
        return [entry for entry in found if isinstance(entry, dict)]

    @property
    def is_empty(self) -> bool:
        """Whether no section has content."""
        document = self.to_json()
        return not any(document.get(section) for section in SECTIONS)


_ENTRY_TYPES: Mapping[str, type[Entry]] = MappingProxyType(
    {
        "work": Work,
        "volunteer": Volunteer,
        "education": Education,
        "awards": Award,
        "certificates": Certificate,
        "publications": Publication,
        "skills": Skill,
        "languages": LanguageSkill,
        "interests": Interest,
        "references": Reference,
        "projects": Project,
    }
)


def title_field(section: str) -> str | None:
    """Return the field by which people name an entry of a section; None for `basics`."""
    entry_type = _ENTRY_TYPES.get(section)
    return entry_type.title_field if entry_type else None
