"""What a structured answer says to a person, heard while the answer is still being written."""

import json
import re
from collections.abc import Callable

_SAY = re.compile(r'"say"\s*:\s*"')
_UNFINISHED = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")
_ENDS = re.compile(r'(?<!\\)(?:\\\\)*"')
_HALF_OF_A_PAIR = re.compile(r"[\ud800-\udbff]$")


class Saying:
    """Takes the text of a JSON answer in pieces, and hands on the new part of its field `say`.

    Args:
        hears: Receives the pieces.
    """

    def __init__(self, hears: Callable[[str], None]) -> None:
        self._hears = hears
        self._text = ""
        self._told = ""

    def __call__(self, piece: str) -> None:
        self._text += piece
        begins = _SAY.search(self._text)
        if begins is None:
            return
        raw = self._text[begins.end() :]
        if ended := _ENDS.search(raw):
            raw = raw[: ended.end() - 1]
        try:
            said = json.loads(f'"{_UNFINISHED.sub("", raw)}"', strict=False)
        except ValueError:
            return
        said = _HALF_OF_A_PAIR.sub("", said)
        if len(said) > len(self._told):
            self._hears(said[len(self._told) :])
            self._told = said
