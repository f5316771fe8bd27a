"""A resume against a job description: what is asked, where the resume shows it, what is missing.

By rules: skills, degrees, languages and ranks of `facts/terms.yaml`, which stand for each other in
both languages. Nothing is judged that is not listed there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .document import Resume
from .facts import asked_terms, evidence_in, plain_lines
from .path import Path

_ASKS = re.compile(
    r"任职要求|岗位要求|职位要求|任职资格|任职条件|招聘要求|应聘要求|诚聘|加分项|优先考虑|者优先"
    r"|我们希望你|我们期待"
    r"|\b(?:requirements?|qualifications?|nice to have|must[- ]haves?|preferred|about the role"
    r"|what you(?:['’]ll| will)? bring|you (?:will|should|must) have|job description"
    r"|we(?:['’]re| are) (?:looking for|hiring|seeking)|years of experience (?:in|with))\b",
    re.IGNORECASE,
)
_DUTIES = re.compile(
    r"岗位职责|工作职责|职位描述|岗位描述|职位详情|工作内容|招聘"
    r"|\b(?:responsibilities|the role|what you(?:['’]ll| will) do|you will"
    r"|about (?:us|the (?:job|team)))\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"[:：\n]")


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a job asks for, and the paths where the resume shows it."""

    term: str
    shown: tuple[str, ...]


def fit(resume: Resume, job: str) -> list[Asked]:
    """Compare a resume with a job description, in the order in which that asks."""
    document = resume.to_json()
    texts = [(str(path), text) for path, text in _texts(document, Path())]
    return [
        Asked(
            term,
            tuple(path for path, text in texts if evidence_in(plain_lines([text])).says(word)),
        )
        for term, word in asked_terms(job).items()
    ]


def job_in(message: str) -> tuple[str, str]:
    """Part a message into what the person says and a job description; "" for what it has not."""
    asks = list(_ASKS.finditer(message))
    duties = list(_DUTIES.finditer(message))
    if not asks or len(asks) + len(duties) < 2:
        return message, ""
    first = min(match.start() for match in (*asks, *duties))
    begins = [match.end() for match in _BEGINS.finditer(message, 0, first)]
    cut = begins[0] if begins else first
    return message[:cut].strip(), message[cut:].strip()


def _texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            if path.steps or name != "meta":
                yield from _texts(item, path / name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, path / index)
