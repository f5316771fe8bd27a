"""Extraction of a message's answers to the questions asked."""

import re
from collections.abc import Sequence

from mcp_tools.resume.diagnosis.planning import Task
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.document import Resume
from mcp_tools.resume.importing.spans import Span, find_span

from .needs import Answers, Need, answers_need, missing, needs
from .phrasing import as_lines

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}", re.ASCII)
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\s().-]{4,24}\d(?!\w)")
_NAME = re.compile(
    r"^(?:my name is|i am|i'm|it is|it's|call me|name:|我叫|我是|我的名字是|名字是|姓名[：:是])\s*",
    re.IGNORECASE,
)
_DATES = ("startDate", "endDate", "date", "releaseDate")
_ENDED = re.compile(
    r"结束|离职|离开|毕业|截止|到(?=\s*\d)|\bend|\bleft\b|\bleav|\buntil\b|\bgraduat|\bfinish",
    re.IGNORECASE,
)


def gather(task: Task, resume: Resume, message: str, answers: Answers) -> dict[str, str]:
    """Return the answers with those that a message adds; what it does not answer stays open.

    A message may answer several questions at once: both dates, all contacts, one weak line per
    line of text.
    """
    open_keys = missing(task, resume, answers)
    asked = [need for need in needs(task, resume) if need.key in open_keys]
    if not asked or not message.strip():
        return dict(answers)
    told = _told(task, asked, message.strip(), answers)
    by_key = {need.key: need for need in asked}
    kept = {key: text for key, text in told.items() if answers_need(by_key[key], text, resume)}
    return {**answers, **(kept or _unfinished(asked[0], told))}


def _told(task: Task, asked: Sequence[Need], message: str, answers: Answers) -> dict[str, str]:
    topics = {need.topic for need in asked}
    if topics & {*_DATES}:
        return _dates(asked, message)
    if task.kind == "missing_contact":
        return _contacts(asked, message)
    if task.kind == "missing_section":
        before = answers.get(asked[0].key, "")
        return {asked[0].key: f"{before}\n{message}".strip()}
    if task.kind == "weak_verbs" and len(lines := as_lines(message)) == len(asked):
        return {need.key: line for need, line in zip(asked, lines, strict=True)}
    before = answers.get(asked[0].key, "")
    return {asked[0].key: f"{before}\n{message}".strip() if before else message}


def _unfinished(need: Need, told: dict[str, str]) -> dict[str, str]:
    """Keep what is only half an answer, where the other half may follow."""
    unfinished = need.topic in ("work", "education", "skills", "did", "more")
    return {need.key: told[need.key]} if unfinished and need.key in told else {}


def _dates(asked: Sequence[Need], message: str) -> dict[str, str]:
    keys = [need.key for need in asked]
    first = find_span(message)
    if first is None:
        now = "endDate" in keys and words().present.search(message)
        return {"endDate": "present"} if now else {}
    second = find_span(first.rest) if first.span.alone else None
    if second is not None:
        span = Span(_any(first.span), _any(second.span), open=second.span.open)
    else:
        span = first.span
    if span.alone:
        date = _any(span)
        ended = "endDate" in keys and _ENDED.search(message)
        return {"endDate" if ended else keys[0]: date} if date else {}
    found = {"startDate": span.start, "endDate": "present" if span.open else span.end}
    return {key: text for key, text in found.items() if text and key in keys}


def _any(span: Span) -> str | None:
    return span.start or span.end


def _contacts(asked: Sequence[Need], message: str) -> dict[str, str]:
    keys = {need.key for need in asked}
    found: dict[str, str] = {}
    for key, pattern in (("email", _EMAIL), ("phone", _PHONE)):
        if match := pattern.search(message):
            found[key] = match[0].strip()
            message = message.replace(match[0], " ")
    name = _NAME.sub("", re.split(r"[,，;；。\n]", message.strip())[0]).strip(" .。,，:：")
    if name and (keys == {"name"} or _NAME.match(message.strip())):
        found["name"] = name
    return {key: text for key, text in found.items() if key in keys}
