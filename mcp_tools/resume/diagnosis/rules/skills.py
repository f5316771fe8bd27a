"""Skills that are claimed and shown nowhere."""

from collections.abc import Iterator

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Entry, Reading
from mcp_tools.resume.diagnosis.showing import EVIDENCE, Evidence
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.importing.vocabulary import vocabulary as imported

_MANY = 15
"""Number of skills from which a list is not credible without evidence for some of them."""
_LEAST_SHOWN = 0.2


def unsupported_skills(reading: Reading) -> Iterator[Defect]:
    """Find skills of a high level for which no job, project, study or certificate gives evidence.

    A long list with hardly any evidence is one defect of the section.
    """
    entries = (*reading.filled("work"), *reading.filled("projects"))
    if not any(entry.prose for entry in entries):
        return
    evidence = Evidence(_told_of_deeds(reading))
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


def _told_of_deeds(reading: Reading) -> Iterator[str]:
    for section in EVIDENCE:
        for entry in reading.filled(section):
            yield from texts_in(entry.content)


def _is_shown(skill: Entry, evidence: Evidence) -> bool:
    name = _bare(skill.title)
    if words().soft_skills.search(name) or name.lower() in imported().natural_languages:
        return True
    return any(evidence.shows(item) for item in (name, *skill.texts("keywords")))


def _bare(name: str) -> str:
    return words().level_prefix.sub("", name).strip() or name


def _level_in_name(skill: Entry) -> str:
    found = words().level_prefix.match(skill.title)
    return found[0] if found else ""
