"""What a text says that can be checked by rules: figures, dates, full names, quotations, words."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"(?<![A-Za-z0-9_.])(\d{1,3}(?:[,\u00a0\u2009]\d{3}){1,5}|\d{1,15})(\.\d{1,8})?"
    r"\s?(thousand|million|billion|trillion|k|m|bn|万亿|亿|万|千|百)?(?![A-Za-z_])",
    re.IGNORECASE,
)
_SCALES = {
    "thousand": 3,
    "k": 3,
    "million": 6,
    "m": 6,
    "billion": 9,
    "bn": 9,
    "trillion": 12,
    "百": 2,
    "千": 3,
    "万": 4,
    "亿": 8,
    "万亿": 12,
}
_NAME = re.compile(
    r"[A-Z][a-zA-Z'’-]{1,30}(?: (?:of |and |the |de |von |van )?[A-Z][a-zA-Z'’-]{1,30}){1,5}"
)
_QUOTED = re.compile(r"[“「『]([^“”「」『』]{4,300})[”」』]")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_NOT_NAMED = frozenset(_MONTHS) | {"the", "a", "an", "in", "on", "at", "by", "for", "from", "this"}


@dataclass(frozen=True)
class Facts:
    """What a text says that can be checked."""

    figures: frozenset[str]
    """Numbers in one form: 1.2 million is 1200000, a month is its number."""
    names: tuple[str, ...]
    """Names of at least two words with capital letters."""
    quoted: tuple[str, ...]
    """What stands between curly or Chinese quotation marks."""
    words: frozenset[str]
    """Words, of Chinese pairs of characters."""

    def __bool__(self) -> bool:
        return bool(self.figures or self.names or self.quoted)


def facts_of(text: str) -> Facts:
    """Return what a text says that can be checked."""
    narrow = unicodedata.normalize("NFKC", text)
    figures = {figure for figure, _ in figures_of(narrow)}
    if figures:
        months = _MONTH.findall(narrow)
        figures |= {str(_MONTHS.index(month.lower()) + 1) for month in months}
    names = tuple(filter(None, (_without_article(one[0]) for one in _NAME.finditer(narrow))))
    return Facts(frozenset(figures), names, tuple(_QUOTED.findall(text)), frozenset(_words(narrow)))


def figures_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a text, in one form and as they stand there."""
    for found in _FIGURE.finditer(text):
        digits = re.sub(r"\D", "", found[1])
        value = Decimal(f"{digits}{found[2] or ''}").scaleb(
            _SCALES.get((found[3] or "").lower(), 0)
        )
        yield f"{value.normalize():f}", found[0].strip()


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    name = rest if first.lower() in _NOT_NAMED else name
    return name if " " in name else ""


def _words(text: str) -> Iterator[str]:
    folded = text.casefold()
    for run in _HAN.findall(folded):
        yield from (run[at : at + 2] for at in range(len(run) - 1))
    yield from (word for word in re.findall(r"[^\W\d_\u3400-\u9fff]{3,40}", folded))
