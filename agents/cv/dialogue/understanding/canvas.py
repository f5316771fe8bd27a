"""The working text of a message, from which understood parts are taken away one after another."""

import re

from .message import Message
from .vocabulary import vocabulary
from .wording import Filler
from .words import DELIMITERS, TAKEN

_SPLIT = re.compile(rf"[{DELIMITERS}()\[\]|:]|\s[-–—/]+\s|[-–—]{{2,}}|(?<!\w)[-–—](?=\w)")
_TRIM = DELIMITERS + " \t()[]-–—~:\"'"


class Canvas:
    """A message's text; `take` blanks what is understood so that nothing finds it twice."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.text = message.text

    def take(self, begin: int, stop: int) -> None:
        """Blank a part."""
        self.text = self.text[:begin] + TAKEN * (stop - begin) + self.text[stop:]

    def until(self, stop: int) -> "Canvas":
        """Return a copy in which everything from `stop` on is taken."""
        copy = Canvas(self.message)
        copy.text = self.text[:stop] + TAKEN * (len(self.text) - stop)
        return copy

    def copy(self) -> "Canvas":
        """Return a canvas that can be worked on apart from this one."""
        return self.until(len(self.text))

    def has(self, begin: int, stop: int) -> bool:
        """Tell whether nothing has been taken at a place."""
        return TAKEN not in self.text[begin:stop]

    def value(self, begin: int, stop: int) -> str:
        """Return the words at a place as a value."""
        return self.message.value(begin, stop)

    def segments(self) -> list[tuple[int, int]]:
        """Return what is left, split at delimiters, without empty words at the edges."""
        found: list[tuple[int, int]] = []
        begin = 0
        for match in [*_SPLIT.finditer(self.text), None]:
            stop = match.start() if match else len(self.text)
            if trimmed := self.trimmed(begin, stop):
                found.append(trimmed)
            begin = match.end() if match else stop
        return found

    def trimmed(
        self, begin: int, stop: int, filler: Filler | None = None
    ) -> tuple[int, int] | None:
        """Return a place without delimiters and filler words at its edges; `None` if empty."""
        filler = filler or vocabulary().filler
        while True:
            text = self.text[begin:stop]
            begin += len(text) - len(text.lstrip(_TRIM))
            stop -= len(text) - len(text.rstrip(_TRIM))
            if begin >= stop:
                return None
            text = self.text[begin:stop]
            if (match := filler.leading.match(text)) and not self._in_name(begin, match[0]):
                begin += match.end()
            elif (match := filler.trailing.search(text)) and not self._in_name(
                begin + match.start(), match[0]
            ):
                stop = begin + match.start()
            else:
                return begin, stop

    def _in_name(self, begin: int, word: str) -> bool:
        """Tell whether a filler word is the part of a name, as in "Capital One"."""
        first = word.lstrip()[:2]
        follows = self.text[:begin].rstrip(" ")[-1:].isalpha()
        return follows and len(first) == 2 and first[0].isupper() and first[1].islower()
