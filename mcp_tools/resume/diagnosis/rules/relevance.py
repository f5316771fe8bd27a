"""What the wanted job asks for, and the resume shows nowhere."""

from collections.abc import Iterator

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Reading
from mcp_tools.resume.diagnosis.relevance import fit

_LITTLE = 0.5
"""The part that a resume shows of what such jobs usually ask for, below which it is a defect."""


def relevance(reading: Reading) -> Iterator[Defect]:
    """Find what a job's description asks for, or such jobs usually ask for, and is not shown."""
    found = fit(reading) if reading.job else None
    if found is None or not found.missing or (found.source == "role" and found.share >= _LITTLE):
        return
    yield Defect(
        kind="relevance",
        section="skills",
        detail={"skills": [*found.missing], "source": found.source},
        severity="high" if found.source == "job" and found.share < _LITTLE else "medium",
    )
