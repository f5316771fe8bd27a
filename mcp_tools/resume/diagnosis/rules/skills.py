"""Skills that are claimed and shown nowhere."""

import re
from collections.abc import Iterator
from functools import cached_property

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Entry, Reading
from mcp_tools.resume.diagnosis.vocabulary import names, words
from mcp_tools.resume.document import Section
from mcp_tools.resume.importing.vocabulary import vocabulary as imported

_EVIDENCE: tuple[Section, ...] = (
    "work",
    "projects",
    "education",
    "certificates",
    "volunteer",
    "awards",
    "publications",
)
_MANY = 15
"""Number of skills from which a list is not credible without evidence for some of them."""
_LEAST_SHOWN = 0.2
_STEM = 5
"""Number of letters by which forms of an English word match: "analysis", "analysed"."""


def unsupported_skills(reading: Reading) -> Iterator[Defect]:
    """Find skills of a high level for which no job, project, study or certificate gives evidence.

    A long list with hardly any evidence is one defect of the section.
    """
    evidence = _Evidence(reading)
    if not evidence.tells_of_work:
        return
    skills = reading.filled("skills")
    for skill in skills:
        level = skill.text("level") or _level_in_name(skill)
        if words().advanced_levels.search(level) and not _is_shown(skill, evidence):
            yield Defect(
                kind="unsupported_skill",
                section="skills",
                entry=skill.index,
                detail={"skill": _bare(skill.title), "level": level},
            )
    listed = [item for skill in skills for item in skill.texts("keywords") or [skill.title]]
    hard = [item for item in dict.fromkeys(listed) if not words().soft_skills.search(item)]
    hidden = [item for item in hard if not evidence.shows(item)]
    if len(hard) >= _MANY and len(hidden) > (1 - _LEAST_SHOWN) * len(hard):
        yield Defect(
            kind="unsupported_skill",
            section="skills",
            detail={"skills": list(hidden)},
            severity="low",
        )


def _is_shown(skill: Entry, evidence: "_Evidence") -> bool:
    name = _bare(skill.title)
    if words().soft_skills.search(name) or name.lower() in imported().natural_languages:
        return True
    return any(evidence.shows(item) for item in (name, *skill.texts("keywords")))


def _bare(name: str) -> str:
    return words().level_prefix.sub("", name).strip() or name


def _level_in_name(skill: Entry) -> str:
    found = words().level_prefix.match(skill.title)
    return found[0] if found else ""


class _Evidence:
    """All that tells of what the person has done."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @cached_property
    def _text(self) -> str:
        found = (
            text
            for s in _EVIDENCE
            for entry in self._reading.filled(s)
            for text in texts_in(entry.content)
        )
        return "\n".join(found).lower()

    @cached_property
    def tells_of_work(self) -> bool:
        """Whether there is any content that could give evidence of skills."""
        entries = (*self._reading.filled("work"), *self._reading.filled("projects"))
        return any(entry.prose for entry in entries)

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
