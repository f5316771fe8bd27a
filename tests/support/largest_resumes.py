"""Documents that are as large as a resume may be, each in another shape."""

from collections.abc import Mapping
from typing import Any

from mcp_tools.resume.limits import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_NAME,
    MAX_TEXT,
    MAX_VALUES,
)

_TEXT = "Led 3 projects at Acme in 2019 and 负责支付系统 (2020-01 – 2021-06). "


def nested(depth: int, leaf: Any) -> Any:
    """Lists inside each other, each with one entry."""
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def tree(depth: int, values: int) -> Any:
    """Nested lists of two entries each, down to a depth, with about so many values."""
    if depth <= 0 or values <= 2:
        return values
    return [tree(depth - 1, values // 2), tree(depth - 1, values // 2)]


def _job(number: int, **fields: Any) -> dict[str, Any]:
    return {"name": f"Company {number}", "position": "Engineer", "startDate": "2019", **fields}


def largest_resumes() -> Mapping[str, dict[str, Any]]:
    """All shapes by name; each fills the limit that its name says."""
    jobs = [_job(number, endDate="至今") for number in range(MAX_ENTRIES)]
    name = "n" * MAX_NAME
    deep: Any = list(range(MAX_ENTRIES))
    for _ in range(MAX_DEPTH - 2):
        deep = {name: deep}
    return {
        "entries": {"basics": {"name": "Anna"}, "work": jobs},
        "names of others": {
            "work": jobs[: MAX_ENTRIES // 2],
            "workExperience": [
                {"company": f"Firma {number}", "description": "x"}
                for number in range(MAX_ENTRIES // 2)
            ],
        },
        "values": {
            "work": [_job(number) for number in range(400)],
            "projects": [
                {"name": f"P{number}", "keywords": ["a", "b", "c"]} for number in range(MAX_ENTRIES)
            ],
        },
        "depth": {"work": [_job(1)], "x": tree(MAX_DEPTH - 1, MAX_VALUES // 2)},
        "names": {"work": [_job(1)], "x": deep},
        "text": {
            "basics": {
                "name": "Anna",
                "summary": "负责支付，" * ((MAX_CHARACTERS - MAX_TEXT) // 6),
            },
            "work": [_job(1, summary=(_TEXT * 2000)[:MAX_TEXT])],
            "projects": [{"name": "P", "description": "负责" * 1000}],
        },
        "characters": {
            "basics": {"name": "Anna"},
            "work": [
                _job(number, highlights=[_TEXT * 2] * 3, summary=_TEXT)
                for number in range(MAX_CHARACTERS // len(_TEXT) // 9)
            ],
        },
    }
