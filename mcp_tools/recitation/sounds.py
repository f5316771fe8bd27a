"""Units that sound alike.

Chinese characters sound alike if their syllables are equal; tones are ignored. Speech recognition
chooses a character by the words that it expects, so it changes tones freely, and chanting a verse
flattens them. A wrong tone of the child thus cannot be distinguished from a mistake of the
recognizer: half of the unit is the fair score for both. English words sound alike if they are in
one group of `spoken.yaml`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial

from .language import is_han
from .spoken import spoken

FIRST_SYMBOL = 0x10000
"""First code point of symbols: above the surrogates, so that there is room for any number."""

_COMMON_READINGS = 2
"""Number of common readings of a character; further ones occur in names and old texts."""
_CACHED_UNITS = 30_000


@cache
def _readings() -> Callable[[str], list[list[str]]]:
    """Return what gives all readings of each character, without its table of phrases (45 MB)."""
    os.environ.setdefault("PYPINYIN_NO_PHRASES", "true")
    from pypinyin import Style, pinyin

    return partial(pinyin, style=Style.NORMAL, heteronym=True)


@lru_cache(maxsize=_CACHED_UNITS)
def sounds_of(unit: str) -> tuple[str, ...]:
    """How a unit can sound, the usual sound first."""
    if is_han(unit):
        found = _readings()(unit)
        return tuple(f"/{syllable}" for syllable in found[0][:_COMMON_READINGS])
    return (spoken().homophones.get(unit, spelling_of(unit)),)


def spelling_of(unit: str) -> str:
    """Return the text that must be equal in equal units: recognizers sometimes omit apostrophes."""
    return unit.replace("'", "")


def sound_keys(expected: Iterable[str], said: Iterable[str]) -> dict[str, str]:
    """Return one sound for each unit, so that two units sound alike if their sounds are equal.

    A unit of the expected text has its usual sound. Any other takes the sound by which it fits the
    expected text, if one of the common readings of both does.
    """
    keys = {unit: sounds_of(unit)[0] for unit in expected}
    wanted: dict[str, str] = {sound: sound for sound in keys.values()}
    for unit, key in keys.items():
        for sound in sounds_of(unit)[1:]:
            wanted.setdefault(sound, key)
    for unit in said:
        if unit not in keys:
            sounds = sounds_of(unit)
            keys[unit] = next((wanted[sound] for sound in sounds if sound in wanted), sounds[0])
    return keys


def as_heard(units: Iterable[str], sounds: Mapping[str, str]) -> str:
    """Units as a text of one symbol for each; those that sound alike have the same symbol."""
    symbols = {
        sound: chr(number)
        for number, sound in enumerate(dict.fromkeys(sounds.values()), FIRST_SYMBOL)
    }
    return "".join([symbols[sounds[unit]] for unit in units])
