"""A person's priorities for their resume, which determine where to begin."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.document import SECTIONS
from mcp_tools.resume.importing.vocabulary import headings, whole_words

from .defects import Kind
from .vocabulary import Pattern


class _Patterns(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    focus: Pattern
    only: Pattern
    not_: Pattern
    clause: Pattern
    kinds: Mapping[Kind, Pattern]


@dataclass(frozen=True, slots=True)
class Focus:
    """The sections and kinds that are named; `avoided` are to be left alone."""

    sections: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    avoided: frozenset[str] = frozenset()
    only: bool = False

    @property
    def is_named(self) -> bool:
        """Whether anything is named."""
        return bool(self.sections or self.kinds)


def focus_of(intent: str) -> Focus:
    """Read an intent: "focus on work experience", "重点改项目经历，教育经历不要动"."""
    patterns = _patterns()
    wanted: set[str] = set()
    avoided: set[str] = set()
    kinds: set[Kind] = set()
    for clause in patterns.clause.split(intent):
        sections = _sections_in(clause)
        if patterns.not_.search(clause):
            avoided |= sections
            continue
        if patterns.focus.search(clause) or patterns.only.search(clause):
            wanted |= sections
        kinds |= {kind for kind, pattern in patterns.kinds.items() if pattern.search(clause)}
    named = frozenset(wanted)
    return Focus(
        sections=named,
        kinds=frozenset(kinds),
        avoided=frozenset(avoided - wanted),
        only=bool(patterns.only.search(intent)),
    )


def _sections_in(text: str) -> set[str]:
    found = (match[0] for match in _headings().finditer(text.lower()))
    named = {headings().sections[word] for word in found}
    parts_of_basics = named - {*SECTIONS}
    return named & {*SECTIONS} | ({"basics"} if parts_of_basics else set())


@cache
def _headings() -> re.Pattern[str]:
    known = [word for word, section in headings().sections.items() if section != "other"]
    chinese = sorted((word for word in known if not word.isascii()), key=len, reverse=True)
    english = whole_words(frozenset(word for word in known if word.isascii()))
    return re.compile("|".join([*map(re.escape, chinese), english]))


@cache
def _patterns() -> _Patterns:
    file = Path(__file__).with_name("intent.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return _Patterns.model_validate(content)
