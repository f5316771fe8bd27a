"""The words of titles, awards and skills in two languages, and which of them have been said.

`terms.yaml` lists what means the same. A word is said if it stands in what is known, or a word of
the same meaning does, or if it is the sound of Chinese characters there: "Director" by 总监,
"Yunfan" by 云帆, 张三 by "Zhang San".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import TypeAdapter

from .names import is_named, listed_names, plain

Kind = Literal["ranks", "awards", "degrees", "tongues", "levels", "skills", "words", "generic"]
CRITICAL: tuple[Kind, ...] = ("ranks", "awards", "degrees", "tongues", "levels", "skills")
"""What must be said also where a text is translated and other words are not listed."""

HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_RUN = re.compile(rf"[{HAN}]+|[a-zà-ÿ\d](?:[a-zà-ÿ\d+#&'’./-]*[a-zà-ÿ\d+#])?", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=[a-z])['’]s?\b")
_LATIN = re.compile(r"[a-zà-ÿ\d][a-zà-ÿ\d+#]*")
_MOST_WORDS = 5
"""Words of the longest listed term."""
_LONGEST_NAME = 4
"""Characters whose sound can be one Latin word."""
_MOST_READINGS = 3
_LEAST_STEM = 5

Term = tuple[Kind, int]
"""A meaning: a kind and a line of the list."""


@dataclass(frozen=True, slots=True)
class Word:
    """A part of a text: a listed term, or a word or run of characters that is not listed."""

    text: str
    meanings: frozenset[Term]

    def is_of(self, *kinds: Kind) -> bool:
        """Whether it is a term of one of these kinds."""
        return any(kind in kinds for kind, _ in self.meanings)


@lru_cache(maxsize=16)
def evidence_in(text: str) -> "Evidence":
    """Return the evidence in a known text, given in plain letters."""
    return Evidence(text)


class Evidence:
    """What is known, as words, meanings and sounds; each is worked out when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _squeezed(self) -> str:
        return re.sub(r"[\W_]+", "", self.text)

    @cached_property
    def _latin(self) -> frozenset[str]:
        return frozenset(_singular(word) for word in _LATIN.findall(self.text))

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(word[:_LEAST_STEM] for word in self._latin if len(word) >= _LEAST_STEM)

    @cached_property
    def _meanings(self) -> frozenset[Term]:
        return frozenset(
            term for form, terms in _meanings().items() if self._has(form) for term in terms
        )

    def _has(self, form: str) -> bool:
        if re.match(rf"[{HAN}]", form):
            return form in self.text
        return re.search(rf"(?<![a-z\d]){re.escape(form)}(?![a-z\d])", self.text) is not None

    @cached_property
    def _sounds(self) -> frozenset[str]:
        """How the characters of the text sound, alone and up to `_LONGEST_NAME` together."""
        return frozenset(_sounds(self.text))

    def says(self, word: Word) -> bool:
        """Return whether a word, one of its meaning, or its sound is known."""
        text = word.text
        if word.is_of("generic") or word.meanings & self._meanings:
            return True
        if re.match(rf"[{HAN}]", text):
            return text in self.text or self._has_sound_of(text) or self._says_parts_of(word)
        parts = _LATIN.findall(text)
        if parts and all(_singular(part) in self._latin for part in parts):
            return True
        if (
            not word.is_of(*CRITICAL)
            and len(text) > _LEAST_STEM
            and text[:_LEAST_STEM] in self._stems
        ):
            return True
        return re.sub(r"[\W\d_]", "", text) in self._sounds

    def _says_parts_of(self, word: Word) -> bool:
        """Return whether a compound such as 数据分析 consists of two words that are known."""
        if not word.is_of("skills", "words"):
            return False
        halves = ((word.text[:cut], word.text[cut:]) for cut in range(2, len(word.text) - 1))
        return any(
            all(half in _meanings() and _meanings()[half] & self._meanings for half in pair)
            for pair in halves
        )

    def _has_sound_of(self, han: str) -> bool:
        if not 2 <= len(han) <= _LONGEST_NAME:
            return False
        sounds = _readings_of(han)
        turned = ("".join([*reading[1:], reading[0]]) for reading in sounds)
        return any(
            len(sound) > len(han) and sound in self._squeezed
            for sound in (*("".join(reading) for reading in sounds), *turned)
        )

    def quotes(self, text: str) -> bool:
        """Return whether a text stands in what is known, whatever is between its letters."""
        squeezed = re.sub(r"[\W_]+", "", plain(text))
        return bool(squeezed) and squeezed in self._squeezed

    def names_another(self, text: str) -> bool:
        """Return whether a text names a listed company or school that is not known."""
        return any(not is_named(name, self.text) for name in listed_names(plain(text)))

    def renders(self, name: str) -> bool:
        """Return whether a name is one that is known, in the other language."""
        if self.names_another(name):
            return False
        words = list(words_of(name))
        own = [word for word in words if not word.is_of("generic")]
        return bool(own) and all(self.says(word) for word in words)


def words_of(text: str) -> Iterator[Word]:
    """Yield the listed terms of a text, the longest first, and what stands between them."""
    latin: list[str] = []
    for run in _RUN.findall(_POSSESSIVE.sub("", plain(text))):
        if re.match(rf"[{HAN}]", run):
            yield from _latin_words(latin)
            latin = []
            yield from _han_words(run)
        else:
            latin.append(run)
    yield from _latin_words(latin)


def asked_terms(text: str) -> Mapping[str, Word]:
    """Return the skills, degrees and languages that a text names, in its order, each once."""
    found: dict[frozenset[Term], Word] = {}
    for word in words_of(text):
        if word.is_of("skills", "degrees", "tongues") and len(word.text) > 1:
            found.setdefault(word.meanings, word)
    return {word.text: word for word in found.values()}


def terms_listed(kind: Kind) -> Mapping[str, frozenset[Term]]:
    """Return the forms of a kind, with all that each may mean."""
    return {form: terms for form, terms in _meanings().items() if any(k == kind for k, _ in terms)}


def is_sounded(name: str) -> bool:
    """Return whether all words of a Latin name can be the sound of Chinese characters."""
    words = [re.sub(r"[\W\d_]", "", word) for word in plain(name).split()]
    return all(_SYLLABLES.fullmatch(word) for word in words if word)


def _latin_words(words: list[str]) -> Iterator[Word]:
    index = 0
    while index < len(words):
        for length in range(min(_MOST_WORDS, len(words) - index), 0, -1):
            form = " ".join(words[index : index + length])
            if found := _meanings().get(form) or _meanings().get(_singular(form)):
                yield Word(form, found)
                index += length
                break
        else:
            if "/" in words[index] or "-" in words[index]:
                yield from _latin_words(re.split(r"[/-]", words[index]))
            else:
                yield Word(words[index], frozenset())
            index += 1


def _han_words(run: str) -> Iterator[Word]:
    index = begun = 0
    while index < len(run):
        form = next(
            (
                run[index : index + n]
                for n in range(8, 0, -1)
                if run[index : index + n] in _meanings()
            ),
            None,
        )
        if form is None:
            index += 1
            continue
        if begun < index:
            yield Word(run[begun:index], frozenset())
        yield Word(form, _meanings()[form])
        index = begun = index + len(form)
    if begun < len(run):
        yield Word(run[begun:], frozenset())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@cache
def usual_words() -> frozenset[str]:
    """The listed words that prose also has in another sense."""
    return frozenset(word for line in _lists()["usual"] for word in line)


@cache
def _lists() -> Mapping[str, list[list[str]]]:
    text = Path(__file__).with_name("terms.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, list[list[str]]]).validate_python(yaml.safe_load(text))


@cache
def _meanings() -> Mapping[str, frozenset[Term]]:
    lists = _lists()
    found: dict[str, set[Term]] = {}
    for kind in get_args(Kind):
        for line, forms in enumerate(lists[kind]):
            for form in forms:
                found.setdefault(plain(form), set()).add((kind, line))
    return {form: frozenset(terms) for form, terms in found.items()}


def _sounds(text: str) -> Iterator[str]:
    for run in re.findall(rf"[{HAN}]+", text):
        readings = _readings(run)
        for begin in range(len(run)):
            for end in range(begin + 1, min(len(run), begin + _LONGEST_NAME) + 1):
                yield from map("".join, product(*readings[begin:end]))


def _readings_of(han: str) -> list[tuple[str, ...]]:
    return list(product(*_readings(han)))


@lru_cache(maxsize=4_096)
def _readings(run: str) -> tuple[tuple[str, ...], ...]:
    """Return how each character may sound; nothing without the library."""
    try:
        from pypinyin import Style, pinyin
    except ImportError:  # the extra `resume` is not installed
        return ((),) * len(run)
    found = pinyin(run, style=Style.NORMAL, heteronym=True, v_to_u=False)
    return tuple(tuple(dict.fromkeys(readings))[:_MOST_READINGS] for readings in found)


_SYLLABLES = re.compile(
    r"(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ang|eng|ing|ong|ian|iao|uai|uan"
    r"|ai|ei|ao|ou|an|en|in|un|ia|ie|iu|ua|ui|uo|ue|er|[aeiouv])){1,4}"
)
