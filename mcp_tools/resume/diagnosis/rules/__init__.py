"""The checks that a recruiter makes: each takes a `Reading` and yields defects."""

from collections.abc import Callable, Iterator

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Reading

from .buzzwords import buzzwords
from .contents import missing_contact, missing_section
from .dates import impossible_dates, missing_dates
from .duplicates import duplicates
from .gaps import gaps
from .length import too_long, too_short
from .order import order
from .relevance import relevance
from .skills import unsupported_skills
from .spelling import spelling
from .statements import no_metrics, weak_verbs
from .tense import inconsistent_tense

Rule = Callable[[Reading], Iterator[Defect]]

RULES: tuple[Rule, ...] = (
    missing_contact,
    missing_section,
    missing_dates,
    impossible_dates,
    gaps,
    order,
    no_metrics,
    weak_verbs,
    inconsistent_tense,
    too_long,
    too_short,
    duplicates,
    unsupported_skills,
    spelling,
    buzzwords,
    relevance,
)
