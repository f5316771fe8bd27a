"""What a job asks for, and where a resume shows it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.labels import Language

from .reading import Reading
from .showing import EVIDENCE, Evidence
from .vocabulary import Pattern, names, words

_LONGEST_NAME = 28
_MOST_WORDS = 3
_MOST_ASKED = 24
_FEWEST_OF_ROLE = 3
_DESCRIPTION = 60
"""Characters; a shorter text names a job and does not describe it."""

_LETTERS = re.compile(r"[a-z]*")


class Shown(BaseModel):
    """A thing that is asked for, and the place in the resume that shows it."""

    asked: str
    where: str


class Fit(BaseModel):
    """A resume beside a job."""

    source: Literal["job", "role"]
    """Whether a description was compared, or what such jobs usually ask for."""
    shown: list[Shown]
    missing: list[str]

    @property
    def share(self) -> float:
        """How much of what is asked for is shown; of a role a few things are enough."""
        enough = len(self.shown) + len(self.missing)
        if self.source == "role":
            enough = min(enough, _FEWEST_OF_ROLE)
        return min(1.0, len(self.shown) / enough) if enough else 1.0


class _Asked(NamedTuple):
    """A thing that is asked for: as it is told, and the term of `jobs.yaml` for it."""

    told: str
    term: str


def fit(reading: Reading) -> Fit | None:
    """Compare a resume with the job it is read for; None where that asks for nothing known."""
    source: Literal["job", "role"] = "job"
    asked = [*_asked(reading.job)][:_MOST_ASKED] if is_job(reading.job) else []
    if not asked:
        source, asked = "role", [*_usual(reading.job, reading.language)]
    if not asked:
        return None
    found = {item.told: _place(item, reading) for item in asked}
    return Fit(
        source=source,
        shown=[Shown(asked=item, where=where) for item, where in found.items() if where],
        missing=[item for item, where in found.items() if not where],
    )


def is_job(text: str) -> bool:
    """Tell whether a text describes a job, and is more than its name."""
    return len(text) >= _DESCRIPTION and bool(_jobs().description.search(text))


def _asked(job: str) -> Iterator[_Asked]:
    """Yield what a description asks for: tools and methods that are known, and what it names so."""
    spans = [*_spans(job)]
    seen: set[str] = set()
    kept: list[tuple[int, int, _Asked]] = []
    for begin, stop, item in spans:
        overlaps = any(begin < other[1] and other[0] < stop for other in kept)
        if not overlaps and not {names().same(item.told), item.term or item.told} & seen:
            kept.append((begin, stop, item))
            seen |= {names().same(item.told), item.term or item.told}
    yield from (item for _, _, item in sorted(kept, key=lambda one: one[:2]))


def _spans(job: str) -> Iterator[tuple[int, int, _Asked]]:
    """Yield what is asked for and where, the surest first."""
    for pattern in (names().typed, _capitalised()):
        for match in pattern.finditer(job):
            yield match.start(), match.end(), _Asked(match[0], "")
    terms = [(found, term) for term, one in _jobs().terms.items() if (found := one.search(job))]
    for match, term in sorted(terms, key=lambda one: -len(one[0][0])):
        stop = match.end() + len(_LETTERS.findall(job[match.end() : match.end() + 20])[0])
        yield match.start(), stop, _Asked(job[match.start() : stop], term)
    for found_ask in _jobs().asks.finditer(job):
        for item in _items(found_ask["what"]):
            begin = job.index(item, found_ask.start("what"))
            yield begin, begin + len(item), _Asked(item, "")


def _items(what: str) -> Iterator[str]:
    for part in _jobs().between.split(what):
        bare = words().level_prefix.sub("", _jobs().around.sub("", part))
        item = bare.strip(" \t.,;:，。；：、()（）")
        is_name = 1 < len(item) <= _LONGEST_NAME and len(item.split()) <= _MOST_WORDS
        if is_name and not words().soft_skills.search(item):
            yield item


def _usual(job: str, language: Language) -> Iterator[_Asked]:
    """Yield what jobs of the kind that is named usually ask for."""
    role = next((role for role in _jobs().roles if role.named.search(job)), None)
    for term in role.asks if role else ():
        yield _Asked(_jobs().in_chinese.get(term, term) if language == "zh" else term, term)


def _place(item: _Asked, reading: Reading) -> str:
    """Return the path of the first entry that shows a thing; "" if none does."""
    for section in (*EVIDENCE, "skills"):
        for entry in reading.filled(section):
            if _shows([*texts_in(entry.content)], item):
                return entry.path
    about = [reading.basic("label"), reading.basic("summary")]
    return "basics.summary" if _shows(about, item) else ""


def _shows(texts: Sequence[str], item: _Asked) -> bool:
    pattern = _jobs().terms.get(item.term)
    meant = pattern is not None and pattern.search("\n".join(texts)) is not None
    return meant or Evidence(texts).shows(item.told)


@cache
def _capitalised() -> re.Pattern[str]:
    """Names that are words in small letters, and so count only as they are written."""
    several = (name for name in names().also_words if len(name) > 1)
    known = "|".join(map(re.escape, sorted(several, key=len, reverse=True)))
    return re.compile(rf"(?<![A-Za-z\d_.+#-])(?:{known}|R(?=[,，、/]))(?![A-Za-z\d_+#])")


class _Role(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    named: Pattern
    asks: Sequence[str]


class _Jobs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    description: Pattern
    asks: Pattern
    between: Pattern
    around: Pattern
    terms: Mapping[str, Pattern]
    in_chinese: Mapping[str, str]
    roles: Sequence[_Role]


@cache
def _jobs() -> _Jobs:
    file = Path(__file__).with_name("jobs.yaml")
    return _Jobs.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
