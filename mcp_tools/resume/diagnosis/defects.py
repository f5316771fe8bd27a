"""Defects of a resume, as data."""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from mcp_tools.resume.document import JsonObject

Kind = Literal[
    "missing_dates",
    "impossible_dates",
    "gap",
    "order",
    "no_metrics",
    "weak_verbs",
    "missing_contact",
    "missing_section",
    "too_long",
    "too_short",
    "inconsistent_tense",
    "duplicate",
    "unsupported_skill",
    "spelling",
    "buzzwords",
    "relevance",
    "content",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class Defect(BaseModel):
    """A defect that a recruiter would notice.

    `section` is a section of JSON Resume, or "" for the resume as a whole; `entry` the index of an
    entry in it. `detail` holds the data needed to describe and repair it, by kind:

        missing_dates       fields: the missing dates
        impossible_dates    reason: end_before_start | future | no_date | before_birth | long_ago,
                            fields, and the dates as written
        gap                 months; start and end: the first and last month, end null for "now"
        weak_verbs          path, line, opening
        missing_contact     fields
        too_long, too_short path, length, limit (words of English, characters of Chinese)
        inconsistent_tense  lines: [{path, line, better}]
        duplicate           path, first: the earlier path, text
        unsupported_skill   skill, level, or skills for a long list
        spelling            path, wrong, right
        buzzwords           lines: [{path, line}], texts, limit, what: summary | lines | skills
        relevance           skills: what is asked for and not shown; source: job | role
        content             path, line: what a model objects to, as it stands there
    """

    model_config = ConfigDict(frozen=True)

    kind: Kind
    section: str
    entry: int | None = None
    detail: JsonObject = Field(default_factory=dict)
    severity: Severity = "medium"
