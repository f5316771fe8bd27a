"""The known facts: the person's words and the resume's texts, parsed once."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date

from pydantic import JsonValue

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.document import JsonObject, Resume

from .names import plain
from .numbers import numbers_said
from .times import Times, times_in

_ISO_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)-\d\d(?:-\d\d)?(?!\d)")
"""A date, whose month is not a number of anything."""
_NO_WORK = ("education", "awards", "certificates", "publications", "projects", "volunteer")
"""Sections whose years do not count as years of work."""


@dataclass(frozen=True, slots=True)
class Known:
    """Facts to compare with."""

    text: str
    """All of it, in plain letters."""
    digits: str
    """Its runs of digits, without separators within phone numbers."""
    numbers: frozenset[float]
    times: Times
    today: date
    said: str
    """The part of it that is not the resume, in plain letters."""
    working_years: frozenset[int]
    """The years between which somebody can have worked."""

    @classmethod
    def of(cls, texts: Iterable[str], *, today: date, counts: Iterable[int] = ()) -> "Known":
        """Read texts; `counts` are numbers that are known besides, as of entries."""
        text = plain_lines(texts)
        return cls._read(text, said=text, working=text, today=today, counts=counts)

    @classmethod
    def _read(
        cls, text: str, *, said: str, working: str, today: date, counts: Iterable[int]
    ) -> "Known":
        times = times_in([text], today=today)
        worked = times if working == text else times_in([working], today=today)
        return cls(
            text=text,
            said=said,
            working_years=worked.years | {today.year},
            digits=re.sub(r"(?<=\d)[\s().-]+(?=\d)", "", text),
            numbers=frozenset(numbers_said(_ISO_DATE.sub(r"\1", text)))
            | frozenset(map(float, counts)),
            times=times,
            today=today,
        )

    @classmethod
    def beside(cls, resume: Resume, said: Iterable[str], *, today: date) -> "Known":
        """Read a resume, and what was said besides."""
        document = {name: value for name, value in resume.to_json().items() if name != "meta"}
        counts = (len(value) for value in document.values() if isinstance(value, list))
        spoken = plain_lines(said)
        whole, working = (
            "\n".join([spoken, plain_lines(texts_in(part))])
            for part in (document, _without(document, _NO_WORK))
        )
        return cls._read(whole, said=spoken, working=working, today=today, counts=counts)

    def about(self, entry: JsonValue) -> "Known":
        """Return what is known of one entry: what was said, and its own numbers and dates.

        Another entry's "5 years" is no reason to write "5 engineers" here.
        """
        text = "\n".join([self.said, plain_lines(texts_in(entry))])
        counts = (len(part) for part in _values(entry) if isinstance(part, list))
        numbers = {*numbers_said(_ISO_DATE.sub(r"\1", text)), *map(float, counts)}
        written = times_in([plain_lines(texts_in(entry))], today=self.today, derives=False)
        spoken = times_in([self.said], today=self.today)
        return replace(self, numbers=frozenset(numbers), times=written | spoken)


def _values(entry: JsonValue) -> Iterable[JsonValue]:
    return entry.values() if isinstance(entry, dict) else ()


def _without(document: JsonObject, sections: Collection[str]) -> JsonObject:
    return {name: value for name, value in document.items() if name not in sections}


def plain_lines(texts: Iterable[str]) -> str:
    """The texts in plain letters, one on each line."""
    return "\n".join(plain(text) for text in texts)
