"""The words and sentence forms of every language, read from the YAML files beside this module.

`words.py` explains the notation of patterns. A language may have abbreviations of its own, and
<noun> stands for what any section is called, in any language. The languages are merged, so that
a message may mix them; a file with `whole_words` has its words (not its sentence forms) match
whole words only.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mcp_tools.resume import Language, Section

from .wording import SectionFacts, Vocabulary

LANGUAGES: tuple[Language, ...] = ("zh", "en")

_SENTENCE_FORMS = (
    *("frames", "states", "creative", "spoken", "joiners", "lead_ins", "grades"),
    *("introduces", "copula", "links", "original", "joint"),
    *("graded", "graded_lead", "graded_name"),
    *("denied", "section_after", "corrections", "next_clause", "remarks"),
    *("taken_from",),
    *("promoted", "risen", "more", "learnt", "glued"),
)
"""Keys whose patterns say themselves where words begin and end."""
_PLAIN = ("numbers", "spelling")
"""Keys whose content is no pattern."""
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary; the files are read and compiled once in a process."""
    merged: dict[str, Any] = {}
    for language in LANGUAGES:
        content = _read(f"{language}.yaml")
        whole_words = content.pop("whole_words")
        content["acts"] = _with_formats(_read("acts.yaml"), language)
        for name, pattern in content.pop("abbreviations", {}).items():
            content = _replaced(content, f"<{name}>", pattern)
        _merge(merged, dict(_prepared(content, whole_words=whole_words)))
    return Vocabulary.model_validate(_with_nouns(merged))


def language_parts(name: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file for each language, with <noun> for what any section is called."""
    content = _read(name)
    nouns = [noun for language in LANGUAGES for noun in _nouns_of(_read(f"{language}.yaml"))]
    for language in LANGUAGES:
        part: dict[str, Any] = _replaced(content[language], "<noun>", f"(?:{'|'.join(nouns)})")
        yield part


def _nouns_of(content: Mapping[str, Any]) -> list[str]:
    return [noun for words in content["sections"].values() for noun in words["nouns"]]


@cache
def section_facts() -> Mapping[Section, SectionFacts]:
    """Return the facts about every section."""
    return {
        section: SectionFacts.model_validate(facts)
        for section, facts in _read("sections.yaml").items()
    }


@cache
def aliases() -> Mapping[str, frozenset[str]]:
    """Return for every known name, in lower case, all the names of the same thing."""
    groups = [frozenset(name.casefold() for name in names) for names in _read("aliases.yaml")]
    return {name: group for group in groups for name in group}


def _read(name: str) -> Any:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)


def _prepared(content: dict[Any, Any], *, whole_words: bool) -> Iterator[tuple[Any, Any]]:
    """Give every word its boundaries and every context its end."""
    for key, value in content.items():
        if key in _PLAIN:
            yield key, value
        elif isinstance(value, dict):
            whole = whole_words and key not in ("labels", "asks", "acts")
            yield key, dict(_prepared(value, whole_words=whole))
        elif isinstance(value, str | list):
            patterns = [value] if isinstance(value, str) else value
            if whole_words and key not in _SENTENCE_FORMS:
                patterns = [rf"(?<![a-z\d])(?:{pattern})(?![a-z])" for pattern in patterns]
            if str(key).endswith(("_before", "trailing")):
                patterns = [rf"(?:{pattern})\s*$" for pattern in patterns]
            yield ("is_" if key == "is" else key), patterns


def _merge(into: dict[Any, Any], content: Mapping[Any, Any]) -> None:
    for key, value in content.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif isinstance(value, list):
            into[key] = into.get(key, []) + value
        else:
            into[key] = value


def _with_formats(acts: Mapping[str, Any], language: Language) -> dict[Any, Any]:
    """Return the acts of a language with <format> for any word of a format."""
    words = [word for forms in acts[language]["formats"].values() for word in forms]
    replaced: dict[Any, Any] = _replaced(acts[language], "<format>", f"(?:{'|'.join(words)})")
    return replaced


def _with_nouns(content: Mapping[Any, Any]) -> dict[Any, Any]:
    nouns = _nouns_of(content)
    expanded: dict[Any, Any] = _replaced(content, "<noun>", f"(?:{'|'.join(nouns)})")
    return expanded


def _replaced(value: Any, abbreviation: str, expansion: str) -> Any:
    if isinstance(value, str):
        return value.replace(abbreviation, expansion)
    if isinstance(value, list):
        return [_replaced(item, abbreviation, expansion) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _replaced(item, abbreviation, expansion) for key, item in value.items()}
