"""Misspelt words that everything depends on: commands, and the names of sections and fields.

A word is put right when exactly one known word is near enough to it; words of values are not
known and stay as they are, like everything in quotes, in addresses, or written like a name.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from .vocabulary import vocabulary

_PARTS = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|《[^》\n]*》|(?<!\w)'[^'\n]+'(?!\w)|[^\s,;]*[@/\d_#]\S*"
    r"|(?P<word>(?<![\w'’.-])(?:[A-Za-z][a-z]+|[A-Z]{5,})(?![A-Za-z\d_-]|['’.]\w))"
)
_CURLY = re.compile(r"(?<=[A-Za-z])’(?=[A-Za-z])")
_TWO_EDITS_FROM = 9
"""Known words of as many letters are recognised with two edits, shorter ones with one."""
_ONE_EDIT_FROM = 5
"""Known words of fewer letters are recognised only with two neighbours swapped."""


@lru_cache(maxsize=64)
def corrected(text: str) -> str:
    """Return a text with what is misspelt put right."""
    parts: list[str] = []
    begin = 0
    text = _CURLY.sub("'", text)
    for match in _PARTS.finditer(text):
        if (word := match["word"]) and (word.islower() or _may_be_common(text, match)):
            parts += [text[begin : match.start()], _right(word)]
            begin = match.end()
    return _put_right("".join([*parts, text[begin:]]))


def _put_right(text: str) -> str:
    """Replace words that are known to be typed for others: "教玉" for "教育"."""
    pattern, meant = _mistyped()
    return pattern.sub(lambda match: meant[match[0]], text)


@cache
def _mistyped() -> tuple[re.Pattern[str], Mapping[str, str]]:
    mistyped = vocabulary().spelling.mistyped
    meant = {wrong: right for right, words in mistyped.items() for wrong in words.split()}
    return re.compile("|".join(map(re.escape, meant)) or "(?!)"), meant


def _may_be_common(text: str, match: re.Match[str]) -> bool:
    """Tell whether a capital may be there for another reason than that the word is a name."""
    before = text[: match.start()].rstrip()
    return match[0].isupper() or not before or before[-1] in ".!?\n"


def _right(word: str) -> str:
    found = _nearest(word.lower())
    if found is None:
        return word
    return (
        found.upper()
        if word.isupper()
        else word[0].isupper() * found[0].upper() + found[word[0].isupper() :]
    )


@lru_cache(maxsize=4096)
def _nearest(word: str) -> str | None:
    """Return the known word meant by a lower-case word; None if there is none."""
    spelling = vocabulary().spelling
    if short := spelling.shortened.get(word):
        return short
    if word in spelling.known or word in spelling.unrelated:
        return None
    near = [known for known in _beginning_like(word) if _is_near(word, known)]
    if len(near) > 1:
        near = [known for known in near if known[-1] == word[-1]]
    return near[0] if len(near) == 1 else None


def _beginning_like(word: str) -> list[str]:
    """Return the known words that begin with the same letter, or with the two first swapped."""
    swapped = (
        known
        for known in _by_letter().get(word[1], ())
        if known[1:2] == word[0] and len(known) == len(word)
    )
    return [*_by_letter().get(word[0], ()), *swapped]


@cache
def _by_letter() -> Mapping[str, tuple[str, ...]]:
    letters: dict[str, list[str]] = {}
    for known in sorted(vocabulary().spelling.known):
        letters.setdefault(known[0], []).append(known)
    return {letter: tuple(words) for letter, words in letters.items()}


def _is_near(word: str, known: str) -> bool:
    if abs(len(word) - len(known)) > 2 or word.startswith(known):
        return False
    if known.startswith(word) and len(known) > len(word) + 1:
        return False
    if len(known) < _ONE_EDIT_FROM:
        return sorted(word) == sorted(known) and _distance(word, known) == 1
    return _distance(word, known) <= 1 + (len(known) >= _TWO_EDITS_FROM)


def _distance(one: str, other: str) -> int:
    """Count the letters to insert, drop, replace or swap with their neighbour."""
    older: list[int] = []
    old = list(range(len(other) + 1))
    for i, a in enumerate(one):
        row = [i + 1]
        for j, b in enumerate(other):
            row.append(min(row[j] + 1, old[j + 1] + 1, old[j] + (a != b)))
            if i and j and a == other[j - 1] and b == one[i - 1]:
                row[-1] = min(row[-1], older[j - 1] + 1)
        older, old = old, row
    return old[-1]
