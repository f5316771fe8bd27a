"""English verbs at the beginning of lines: their tense, and their past."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

Tense = Literal["past", "present"]

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


class _Verbs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    regular: tuple[str, ...]
    doubled: tuple[str, ...]
    irregular: Mapping[str, str]
    nouns: frozenset[str]
    before: frozenset[str]
    after_verb: frozenset[str]
    no_deeds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Opening:
    """The verb that a line begins with, at `begin:stop`, and the same verb in the past.

    `is_plain` is false for "manages" and "managing".
    """

    begin: int
    stop: int
    tense: Tense
    past: str
    is_plain: bool = True

    def in_past(self, line: str) -> str:
        """Return the line with this verb in the past."""
        verb = self.past.capitalize() if line[self.begin].isupper() else self.past
        return line[: self.begin] + verb + line[self.stop :]


def opening_of(line: str) -> Opening | None:
    """Return the verb that an English line begins with; `None` if none is known for sure."""
    found = list(_WORD.finditer(line))
    while found and found[0][0].lower() in _verbs().before:
        del found[0]
    if not found:
        return None
    word = found[0][0].lower()
    if word in _past_forms():
        return Opening(found[0].start(), found[0].end(), "past", word)
    past = _present_forms().get(word)
    if past is None or (_may_be_noun(word) and not _is_followed_as_verb(line, found[0].end())):
        return None
    plain = word in _plain_forms()
    return Opening(found[0].start(), found[0].end(), "present", past, is_plain=plain)


def deed_of_gerund(word: str, tense: Tense) -> str | None:
    """Return "managed" or "manage" for "managing"; `None` for a word that is not known."""
    verb = _gerunds().get(word.lower())
    return verb and verb[tense == "past"]


def _is_followed_as_verb(line: str, stop: int) -> bool:
    rest = line[stop:].lstrip()
    following = _WORD.match(rest)
    return rest[:1].isdigit() or bool(following and following[0].lower() in _verbs().after_verb)


def _may_be_noun(word: str) -> bool:
    nouns = _verbs().nouns
    return word in nouns or (word.endswith("s") and word[:-1] in nouns)


def _pairs() -> Iterator[tuple[str, str]]:
    """Yield every verb with its past, in American and in British spelling."""
    verbs = _verbs()
    pairs = dict(verbs.irregular)
    pairs |= {verb: f"{verb}{verb[-1]}ed" for verb in verbs.doubled}
    pairs |= {verb: _regular_past(verb) for verb in verbs.regular if verb not in pairs}
    for verb, past in pairs.items():
        yield verb, past
        if verb.endswith(("ize", "yze")):
            yield f"{verb[:-2]}se", f"{verb[:-2]}sed"
        if verb.endswith("el"):
            yield verb, f"{verb}led"


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{verb}ed"


def _third_person(verb: str) -> str:
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"


def _gerund(verb: str) -> str:
    if verb in _verbs().doubled or verb in ("run", "cut", "get", "win", "begin", "put", "set"):
        return f"{verb}{verb[-1]}ing"
    return f"{verb[:-1]}ing" if re.search(r"[^eoy]e$", verb) else f"{verb}ing"


@cache
def _past_forms() -> frozenset[str]:
    return frozenset(past for verb, past in _pairs() if past != verb)


@cache
def _plain_forms() -> frozenset[str]:
    return frozenset(verb for verb, _ in _pairs())


@cache
def _present_forms() -> Mapping[str, str]:
    """Map every present form to the past; what is also a past form tells nothing."""
    forms: dict[str, str] = {}
    for verb, past in _pairs():
        if past != verb:
            forms |= dict.fromkeys((verb, _third_person(verb), _gerund(verb)), past)
    return {form: past for form, past in forms.items() if form not in _verbs().no_deeds}


@cache
def _gerunds() -> Mapping[str, tuple[str, str]]:
    return {_gerund(verb): (verb, past) for verb, past in _pairs()}


@cache
def _verbs() -> _Verbs:
    file = Path(__file__).with_name("verbs.yaml")
    return _Verbs.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
