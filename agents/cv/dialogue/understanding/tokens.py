"""Parts of a message that have a form of their own, and how the working text masks them.

Masked tokens are private-use characters, one for one, so that nothing inside a token is taken for
words, patterns can ask for tokens by kind, and positions stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

TokenKind = Literal["email", "url", "phone", "quote", "date", "span"]
Role = Literal["start", "end"]

TOKEN_KINDS: tuple[TokenKind, ...] = get_args(TokenKind)
_FIRST = 0xE000
_PER_KIND = 0x100
FILL = "\uf8ff"


@dataclass(frozen=True, slots=True)
class When:
    """A date or a span of time at `begin:stop` of a text.

    A span has `start`, `end` or both, or `open` for "until now"; a single date has `point`, with a
    `role` when the words around it tell whether something started or ended then. `invalid` marks
    what is written like a date but is none.
    """

    begin: int
    stop: int
    point: str | None = None
    start: str | None = None
    end: str | None = None
    open: bool = False
    role: Role | None = None
    invalid: bool = False

    @property
    def is_span(self) -> bool:
        """Whether this is more than a single date."""
        return self.open or self.start is not None or self.end is not None


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a message at `begin:stop`; `text` is what it says, `when` what a date means."""

    kind: TokenKind
    begin: int
    stop: int
    text: str
    when: When | None = None


def token_pattern(kind: TokenKind) -> str:
    """Return a regular expression for masked tokens of a kind.

    Ignoring the case of a range, `re` would look at each of its characters when it compiles.
    """
    first = _FIRST + _PER_KIND * TOKEN_KINDS.index(kind)
    return f"(?-i:[{chr(first)}-{chr(first + _PER_KIND - 1)}]{FILL}*)"


def mask(text: str, tokens: Sequence[Token]) -> str:
    """Replace tokens, which are in order, by private-use characters of the same length."""
    parts: list[str] = []
    position = 0
    for number, token in enumerate(tokens):
        first = _FIRST + _PER_KIND * TOKEN_KINDS.index(token.kind) + number % _PER_KIND
        parts += [text[position : token.begin], chr(first), FILL * (token.stop - token.begin - 1)]
        position = token.stop
    return "".join([*parts, text[position:]])
