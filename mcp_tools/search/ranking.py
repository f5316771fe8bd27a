"""Which texts answer a query best: Okapi BM25 over English words and Chinese character pairs."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

_K1 = 1.5
"""How soon more occurrences of a term stop to count."""
_B = 0.75
"""How much a long text must pay for its length."""

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_TERMS = re.compile(rf"(?P<han>[{_HAN}]+)|[^\W{_HAN}]+(?:['-][^\W{_HAN}]+)*")
_SEPARATORS = re.compile(r"[_'-]+")


def terms(text: str) -> list[str]:
    """The terms that a text is found by.

    Words in lower case, `snake_case` and `kebab-case` also by their parts; of Chinese, each
    character and each pair, since words are not marked there.
    """
    found: list[str] = []
    for match in _TERMS.finditer(text.lower()):
        term = match[0]
        if match["han"]:
            found += [*term, *(term[i : i + 2] for i in range(len(term) - 1))]
        else:
            parts = [part for part in _SEPARATORS.split(term) if part]
            found += parts if parts == [term] else [term, *parts]
    return found


class Index:
    """The texts that can be ranked; never changes."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts = [Counter(terms(text)) for text in texts]
        self._lengths = [count.total() for count in self._counts]
        self._mean = sum(self._lengths) / len(self._lengths) if self._lengths else 0.0
        self._containing = Counter(term for count in self._counts for term in count)

    def rank(self, query: str, *, limit: int) -> Sequence[tuple[int, float]]:
        """The positions of the best texts and their scores, best first; only those that match."""
        wanted = set(terms(query))
        scores = ((number, self._score(number, wanted)) for number in range(len(self._counts)))
        matching = [(number, score) for number, score in scores if score > 0]
        return sorted(matching, key=lambda one: (-one[1], one[0]))[:limit]

    def _score(self, number: int, wanted: set[str]) -> float:
        count = self._counts[number]
        weight = _K1 * (1 - _B + _B * self._lengths[number] / self._mean) if self._mean else _K1
        return sum(
            self._rarity(term) * count[term] * (_K1 + 1) / (count[term] + weight)
            for term in wanted
            if term in count
        )

    def _rarity(self, term: str) -> float:
        containing = self._containing[term]
        return math.log(1 + (len(self._counts) - containing + 0.5) / (containing + 0.5))
