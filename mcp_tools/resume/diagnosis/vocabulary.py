"""The words of `words.yaml` and `names.yaml`, ready to be looked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from mcp_tools.resume.labels import Language


def _compiled(value: object) -> object:
    return re.compile(value, re.IGNORECASE) if isinstance(value, str) else value


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]
PerLanguage = Mapping[Language, Sequence[str]]


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        ignored_types=(cached_property,),
    )


class _Excused(_Record):
    opening: Pattern
    result: Pattern


class Words(_Record):
    """The keys are those of `words.yaml`."""

    weak_openings: PerLanguage
    excused: _Excused
    breaks: Pattern
    students: Pattern
    lasting_jobs: Pattern
    announced: Pattern
    advanced_levels: Pattern
    level_prefix: Pattern
    soft_skills: Pattern
    skill_fillers: Pattern
    birth_fields: Sequence[str]
    measures: PerLanguage
    no_measures: Pattern
    deeds_zh: str
    first_person: Pattern
    declined: Pattern
    studied: Pattern
    volunteered: Pattern
    present: Pattern
    lead_in: Pattern
    sentence: Pattern
    deed_zh: Pattern
    no_deed_en: Pattern
    orders_en: Pattern
    schools: Pattern
    occupied: Pattern
    introduced: Pattern
    buzz: Pattern
    filler: Sequence[tuple[Pattern, str]]

    @cached_property
    def weak_opening(self) -> re.Pattern[str]:
        """Matches at the beginning of a weak line."""
        return any_of(self.weak_openings)

    @cached_property
    def measure(self) -> re.Pattern[str]:
        """Finds what measures something in words."""
        return any_of(self.measures)


def any_of(patterns: PerLanguage) -> re.Pattern[str]:
    """A pattern of any of the patterns, the English ones as whole words."""
    english = rf"(?<![a-z])(?:{'|'.join(patterns['en'])})(?![a-z])"
    return re.compile(f"{english}|{'|'.join(patterns['zh'])}", re.IGNORECASE)


class Names(_Record):
    """The keys are those of `names.yaml`."""

    spelled: Sequence[str]
    also_words: Sequence[str]
    mistakes: Mapping[str, Sequence[str]]
    also_called: Mapping[str, Sequence[str]]
    implied: Mapping[str, Sequence[str]]

    @cached_property
    def right(self) -> Mapping[str, str]:
        """Map names as people may type them, in lower case, to how they are written."""
        return {name.lower(): name for name in self.spelled} | dict(_turned(self.mistakes))

    @cached_property
    def typed(self) -> re.Pattern[str]:
        """Finds names however they are typed; not inside addresses, files or other names."""
        alternatives = "|".join(map(re.escape, sorted(self.right, key=len, reverse=True)))
        return re.compile(
            rf"(?<![a-z\d_@/.+#-])(?:{alternatives})(?![a-z\d_@/+#-]|\.[a-z\d])", re.IGNORECASE
        )

    def is_known(self, name: str) -> bool:
        """Tell whether this is the name of a product or a technology."""
        return self.same(name) in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (*self.spelled, *self.also_words))

    @cached_property
    def _one_name(self) -> Mapping[str, str]:
        return dict(self.right) | dict(_turned(self.also_called))

    def same(self, name: str) -> str:
        """Return a form that is equal for all spellings of one name."""
        plain = " ".join(name.lower().split())
        return self._one_name.get(plain, plain).lower()

    def signs_of(self, name: str) -> set[str]:
        """Return what shows that somebody knows a thing: its spellings, and what builds on it."""
        same = self.same(name)
        spellings = {typed for typed, right in self._one_name.items() if right.lower() == same}
        return {same, " ".join(name.lower().split())} | spellings | self._building_on(same)

    def _building_on(self, same: str) -> set[str]:
        others = (others for known, others in self.implied.items() if self.same(known) == same)
        return {other.lower() for some in others for other in some}


def _turned(spellings: Mapping[str, Sequence[str]]) -> Iterable[tuple[str, str]]:
    return ((other.lower(), name) for name, others in spellings.items() for other in others)


def _read(name: str) -> object:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@cache
def words() -> Words:
    """The words, read once."""
    return Words.model_validate(_read("words.yaml"))


@cache
def names() -> Names:
    """The names, read once."""
    return Names.model_validate(_read("names.yaml"))
