"""The known facts: the person's words and the resume's texts, parsed once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.document import Resume

from .names import plain
from .numbers import numbers_said
from .times import Times, times_in


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

    @classmethod
    def of(cls, texts: Iterable[str], *, today: date, counts: Iterable[int] = ()) -> "Known":
        """Read texts; `counts` are numbers that are known besides, as of entries."""
        text = plain_lines(texts)
        return cls(
            text=text,
            digits=re.sub(r"(?<=\d)[\s().-]+(?=\d)", "", text),
            numbers=frozenset(numbers_said(text)) | frozenset(map(float, counts)),
            times=times_in([text], today=today),
            today=today,
        )

    @classmethod
    def beside(cls, resume: Resume, said: Iterable[str], *, today: date) -> "Known":
        """Read a resume, and what was said besides."""
        document = {name: value for name, value in resume.to_json().items() if name != "meta"}
        counts = (len(value) for value in document.values() if isinstance(value, list))
        return cls.of([*said, *texts_in(document)], today=today, counts=counts)


def plain_lines(texts: Iterable[str]) -> str:
    """The texts in plain letters, one on each line."""
    return "\n".join(plain(text) for text in texts)
