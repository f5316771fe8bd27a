"""Segments of a document and their translations, as the programs write and read them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

MAX_TRANSLATION = 50_000
"""Most characters of one translated segment."""
_IN_NO_DOCUMENT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold."""


class TranslationError(Exception):
    """Raised when translations do not belong to a document; the message says which."""


class Segment(BaseModel):
    """A paragraph, a cell or a name; markers like `<1>…</1>` stand for looks, `<2/>` for things."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: str
    context: str = ""
    """Location in the document."""


_SEGMENTS = TypeAdapter(list[Segment])
_TRANSLATIONS = TypeAdapter(dict[str, str])


def load_segments(data: bytes) -> list[Segment]:
    """Parse the output of the program `segments`.

    Raises:
        TranslationError: the output is malformed.
    """
    try:
        return _SEGMENTS.validate_json(data)
    except ValidationError as error:
        raise TranslationError("the list of segments is damaged") from error


def load_translations(data: bytes) -> dict[str, str]:
    """Translations by id, as `dump_translations` has written them; raises `TranslationError`."""
    try:
        return _TRANSLATIONS.validate_json(data)
    except ValidationError as error:
        raise TranslationError("the stored translations are damaged") from error


def dump_translations(translations: Mapping[str, str]) -> bytes:
    """Return the input of the program `apply`."""
    return _TRANSLATIONS.dump_json(dict(translations))


def check_translations(segments: Iterable[Segment], translations: object) -> dict[str, str]:
    """See that translations belong to these segments.

    Raises:
        TranslationError: an id is unknown, or a translation is no text, empty or far too long, or
            has characters that no document can hold.
    """
    if not isinstance(translations, dict) or not translations:
        raise TranslationError("translations must be an object of texts by segment id")
    known = {segment.id for segment in segments}
    unknown = [str(key) for key in translations if key not in known]
    if unknown:
        raise TranslationError(f"there are no segments {', '.join(unknown[:10])}")
    for key, text in translations.items():
        if not isinstance(text, str) or not text.strip():
            raise TranslationError(f"the translation of {key} must be a text that is not empty")
        if len(text) > MAX_TRANSLATION:
            raise TranslationError(f"the translation of {key} is longer than {MAX_TRANSLATION:,}")
        if _IN_NO_DOCUMENT.search(text):
            raise TranslationError(f"the translation of {key} has control characters in it")
    return dict(translations)


def batch(segments: Sequence[Segment], max_chars: int) -> list[Segment]:
    """The first segments with together at most `max_chars` characters; at least one."""
    taken: list[Segment] = []
    size = 0
    for segment in segments:
        size += len(segment.text)
        if taken and size > max_chars:
            break
        taken.append(segment)
    return taken
