"""A message made ready for understanding: its language, its tokens, and its working text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from mcp_tools.resume import Language

from .spelling import corrected
from .tokens import FILL, Token, TokenKind, mask
from .vocabulary import vocabulary
from .when import find_whens
from .words import DELIMITERS, TAKEN

_FORMS: tuple[tuple[TokenKind, re.Pattern[str]], ...] = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)),
    (
        "url",
        re.compile(
            r"https?://[\w\-./~%?#=&+:@]+|(?<![\w@.])(?!asp\.net|socket\.io)(?-i:(?=[a-z\d]))(?:[a-z\d-]+\.)+"
            r"(?:com|cn|org|net|io|dev|me|ai|co|edu|app|xyz|info|tech)(?:/[\w\-./~%?#=&+:@]*)?"
            r"(?![\w.]*@)(?![a-z\d])",
            re.ASCII | re.IGNORECASE,
        ),
    ),
    (
        "phone",
        re.compile(
            r"(?<![\d.\w])(?:\+\d[\d() -]{6,}\d|(?:86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}"
            r"|\(?\d{3}\)?[- .]\d{3}[- .]\d{4}|\d{3}-\d{4}|0\d{2,4}[- ]?\d{6,8})(?![\d-])",
            re.ASCII,
        ),
    ),
    (
        "quote",
        re.compile(
            r"《[^》\n]+》|「[^」\n]+」|『[^』\n]+』|“[^”\n]+”|‘[^’\n]+’|\"[^\"\n]+\""
            r"|(?<![A-Za-z\d])'[^'\n]+'(?![A-Za-z\d])|`[^`\n]+`"
        ),
    ),
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_STOP = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:St|Dr|Mr|Ms|No))(?<!\b(?:Mrs|Inc|Ltd))(?<!\bProf)\.(?=\s|$)"
)
_BAR = re.compile(r"(?<=\s)\|(?=\s)")
"""Parts the fields of a line like a comma: "Zalando | developer | 2019"."""
_LANGUAGE_SAMPLE = 2_000
"""Characters that tell the language: in a megabyte the search would stop everybody for 0.5 s."""
_LOWER_CASE = re.compile(r"(?<!\w)[a-z]{2,}(?!\w)")
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Message:
    """A person's message.

    `raw` is its text with misspelt commands put right; `text` is the same length and for patterns:
    full-width punctuation made ASCII, the dot that ends a sentence made "。", polite words blanked,
    tokens masked.
    """

    raw: str
    text: str
    tokens: tuple[Token, ...]
    language: Language | None

    def token_at(self, position: int) -> Token | None:
        """Return the token that covers a position."""
        return next((t for t in self.tokens if t.begin <= position < t.stop), None)

    def tokens_in(self, begin: int, stop: int) -> Iterator[Token]:
        """Yield the tokens that lie between two positions."""
        return (t for t in self.tokens if begin <= t.begin and t.stop <= stop)

    def value(self, begin: int, stop: int) -> str:
        """Return the words between two positions as a value: trimmed, quotes taken off."""
        trimmed = _trimmed(self.raw[begin:stop])
        inner = list(self.tokens_in(begin, stop))
        if len(inner) == 1 and inner[0].when is None:
            token = inner[0]
            around = self.raw[begin : token.begin] + self.raw[token.stop : stop]
            if not _trimmed(around):
                return token.text
        return trimmed


def plain(text: str) -> str:
    """Return a text, as long as it was, with full-width marks and curly apostrophes made ASCII."""
    return text.translate(_FULL_WIDTH).replace("’", "'")


@lru_cache(maxsize=256)
def prepare(raw: str, *, today: date, year: str | None = None) -> Message:
    """Make a message ready; `year` was spoken of last.

    The same words are looked at several times while a message is understood.
    """
    raw = corrected(raw)
    said = _BAR.sub(",", _STOP.sub("。", raw.translate(_FULL_WIDTH)))
    tokens = _find_tokens(raw, said, today=today, year=year)
    text = vocabulary().noise.sub(lambda match: " " * len(match[0]), mask(said, tokens))
    return Message(raw=raw, text=text, tokens=tokens, language=language_of(mask(said, tokens)))


def _find_tokens(raw: str, text: str, *, today: date, year: str | None) -> tuple[Token, ...]:
    tokens: list[Token] = []
    rest = text
    for kind, form in _FORMS:
        for match in form.finditer(rest):
            said = raw[match.start() : match.end()]
            inner = said[1:-1] if kind == "quote" else said
            tokens.append(Token(kind, match.start(), match.end(), inner.strip()))
            rest = rest[: match.start()] + FILL * len(match[0]) + rest[match.end() :]
    for when in find_whens(rest, today=today, year=year):
        said = text[when.begin : when.stop].strip()
        tokens.append(Token("span" if when.is_span else "date", when.begin, when.stop, said, when))
    return tuple(sorted(tokens, key=lambda token: token.begin))


def language_of(text: str) -> Language | None:
    """Tell in which language a text begins; `None` when only names and numbers are there."""
    text = text[:_LANGUAGE_SAMPLE]
    spoken = vocabulary().spoken
    chinese, english = len(spoken["zh"].findall(text)), len(spoken["en"].findall(text))
    if chinese != english:
        return "zh" if chinese > english else "en"
    if _HAN.search(text):
        return "zh"
    return "en" if english or _LOWER_CASE.search(text) else None


def _trimmed(text: str) -> str:
    return text.strip(DELIMITERS + TAKEN + " \t:：，；！？()（）-—–~")
