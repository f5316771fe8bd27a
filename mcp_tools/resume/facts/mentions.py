"""Strict detection of names in running text, for cases in which a refusal costs little.

A name is anything written like one: a word with a capital letter or a figure in it that does not
begin a sentence, a Chinese word for an organization, or a name of `names.yaml` anywhere. A capital
that is used only for emphasis is a false positive.
"""

import re
from collections.abc import Iterator

from .known import Known
from .names import is_named, listed_names, plain, readable

_WORD = re.compile(r"[A-Za-zÀ-ÿ\d][\w.+#&]*", re.ASCII)
_BEGINS = re.compile(r"(?:^|[.!?;:。！？；：\n])[\s\"'“”‘’(（•·*-]*$")
_LATIN = re.compile(r"[a-zà-ÿ\d]+")
_ORGANIZATION = re.compile(
    r"(?P<own>[\u4e00-\u9fff]{2})(?:有限公司|股份|公司|集团|银行|证券|大学|学院|医院|研究院|事务所)"
)


def unsaid_names(text: str, known: Known) -> list[str]:
    """Return the names in a text that are not known, as they stand there, each once."""
    text = readable(text)
    spoken = {*_LATIN.findall(known.text)}
    found = [
        *(word for word in latin_names(text) if not _is_spoken(word, spoken)),
        *(name for name in listed_names(plain(text)) if not is_named(name, known.text)),
        *(one[0] for one in _ORGANIZATION.finditer(text) if one["own"] not in known.text),
    ]
    return list(dict.fromkeys(found))


def organizations(text: str) -> list[str]:
    """The Chinese names of organizations in a text, with two characters of their own."""
    return [one[0] for one in _ORGANIZATION.finditer(text)]


def latin_names(text: str) -> Iterator[str]:
    """Yield the Latin words that are written like names; figures alone are not."""
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".")
        begins = _BEGINS.search(text, 0, match.start()) is not None
        letters = word[1:] if begins else word
        is_marked = any(sign.isupper() for sign in letters) or any(s.isdigit() for s in word)
        if is_marked and any(sign.isalpha() for sign in word) and not word[0].isdigit():
            yield word


def _is_spoken(word: str, spoken: set[str]) -> bool:
    parts = _LATIN.findall(word.casefold())
    return all(part in spoken or part.removesuffix("s") in spoken for part in parts)
