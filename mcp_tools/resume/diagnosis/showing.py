"""What shows that somebody can do a thing."""

import re
from collections.abc import Iterable

from mcp_tools.resume.document import Section

from .vocabulary import names, words

EVIDENCE: tuple[Section, ...] = (
    "work",
    "projects",
    "education",
    "certificates",
    "volunteer",
    "awards",
    "publications",
)
_STEM = 5
"""Number of letters by which forms of an English word match: "analysis", "analysed"."""


class Evidence:
    """A text that may show what somebody can do."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(texts).lower()

    def shows(self, skill: str) -> bool:
        """Tell whether a skill, or what builds on it, is spoken of; also in other words."""
        core = words().skill_fillers.sub(" ", skill).strip() or skill
        signs = names().signs_of(skill) | names().signs_of(core)
        if any(self._has(sign) for sign in signs):
            return True
        parts = _parts(core.lower())
        return len(parts) > 1 and all(part in self._text for part in parts)

    def _has(self, sign: str) -> bool:
        if not sign.isascii():
            return sign in self._text
        return bool(re.search(rf"(?<![a-z\d]){re.escape(sign)}(?![a-z])", self._text))


def _parts(skill: str) -> list[str]:
    """Split into the stems of English words and pairs of Chinese characters."""
    stems = [word[:_STEM] for word in re.findall(r"[a-z]{2,}", skill) if word not in ("and", "of")]
    runs = re.findall(r"[\u4e00-\u9fff]+", skill)
    return stems + [run[n : n + 2] for run in runs for n in range(0, len(run), 2)]
