"""The path language: `work`, `work[0]`, `work[0].position`, `basics.name`, "" for everything."""

import re
from dataclasses import dataclass, field, replace

from .errors import InvalidPathError
from .naming import canonical_field, canonical_section

_STEP = re.compile(r"(?:^|\.)\s*(?P<name>[A-Za-z_][\w-]*)\s*|\[\s*(?P<index>\d{1,6})\s*\]\s*")

MAX_PATH = 1_000
"""Maximum length of a path, in characters."""
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from the document to a place in it: field names and list indices.

    `foreign` says that the section was written with a name that is not JSON Resume's.
    """

    steps: tuple[str | int, ...] = ()
    foreign: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> "Path":
        """Read a path; foreign names become JSON Resume's.

        Raises:
            InvalidPathError: the text does not follow the path language.
        """
        steps: list[str | int] = []
        stripped = text.strip()
        position = 0
        if len(stripped) > MAX_PATH:
            raise InvalidPathError(path=f"{stripped[:_SHOWN]}…")
        while position < len(stripped):
            match = _STEP.match(stripped, position)
            if match is None or (match["index"] is not None and not steps):
                raise InvalidPathError(path=text)
            steps.append(match["name"] if match["index"] is None else int(match["index"]))
            position = match.end()
        return _canonical(tuple(steps))

    @property
    def section(self) -> str:
        """The first step, or "" for the whole document."""
        return str(self.steps[0]) if self.steps else ""

    @property
    def pointer(self) -> str:
        """The same place as an RFC 6901 JSON pointer."""
        return "".join(f"/{step}" for step in self.steps)

    @property
    def parent(self) -> "Path":
        """The path without its last step."""
        return replace(self, steps=self.steps[:-1])

    def __truediv__(self, step: str | int) -> "Path":
        return replace(self, steps=(*self.steps, step))

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


def _canonical(steps: tuple[str | int, ...]) -> Path:
    if not steps:
        return Path()
    section = canonical_section(str(steps[0]))
    foreign = section != steps[0]
    fields = (
        canonical_field(section, step, foreign=foreign) if isinstance(step, str) else step
        for step in steps[1:]
    )
    return Path((section, *fields), foreign=foreign)
