"""The step `tell-records`: answers from the records of a child, in its language."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, JsonValue

from oda.errors import ForbiddenError
from oda.message.language import Language
from oda.orchestration import StepContext, step
from oda.orchestration.wording import Wording

from ..homework.progress import progress_between
from ..learning.book import Wanted, book
from ..learning.records import Day, Id, Label, Mistake, Recited, Work
from ..parents.families import families
from ..wording import wording
from .period import Period, last_days
from .questions import About

_MOST = 10
"""Entries that are told; more of them are on the pages over HTTP."""


class RecordsRequest(BaseModel):
    """A question about the records; without days, about the last week, or all recitations."""

    about: About
    since: Day | None = None
    until: Day | None = None
    name: Literal[
        "", "today", "yesterday", "this_week", "last_week", "this_month", "last_month", "last_days"
    ] = ""
    """Of the days, where they have one."""
    subject: Label | None = None
    child: Id | None = None
    """Whose records, where a parent asks; by default the asking user's."""
    language: Language = "zh"


class Told(BaseModel):
    """What is on record, in words and as entries."""

    reply: str
    since: Day | None = None
    until: Day | None = None
    count: int = 0
    """How many there are; `entries` has the first."""
    entries: list[dict[str, JsonValue]] = []


@cache
def say() -> Wording:
    """The sentences about the records."""
    return wording(Path(__file__).parent)


@step("tell-records", timeout_s=10.0)
async def tell_records(request: RecordsRequest, context: StepContext) -> Told:
    """Tell what went wrong, what was recited, how it goes or what was done.

    There is no fallback: "nothing" would be a lie when the store cannot be read.

    Raises:
        ForbiddenError: the asking user is no parent of the child.
    """
    child = request.child or context.user_id
    if child != context.user_id and not families().looks_after(context.user_id, child):
        raise ForbiddenError("This is for parents of the child.", remedy="leave `child` out")
    return await _TOLD[request.about](_Records(request, context))


class _Records:
    """What a request asks for."""

    def __init__(self, request: RecordsRequest, context: StepContext) -> None:
        self.language: Language = request.language
        self.subject = request.subject
        self.context = context
        self.child = request.child or context.user_id
        self.period: Period | None = None
        if request.since is not None or request.until is not None:
            until = request.until or context.today
            self.period = Period(request.since or until, until, request.name)
        elif request.about != "recitations":
            self.period = last_days(context.today)

    @property
    def wanted(self) -> Wanted:
        if self.period is None:
            return Wanted(self.child, subject=self.subject)
        return Wanted(self.child, self.period.since, self.period.until, self.subject)

    @property
    def when(self) -> str:
        """The days and the subject in words."""
        when = self("ever") if self.period is None else self.period.told(say(), self.language)
        if self.subject is None:
            return when
        return self("in_subject", when=when, subject=subject_name(self.subject, self.language))

    def __call__(self, name: str, **values: str) -> str:
        return say()(name, self.language, **values)

    def told(self, reply: str, count: int = 0, entries: Sequence[BaseModel] = ()) -> Told:
        since, until = (self.period.since, self.period.until) if self.period else (None, None)
        return Told(
            reply=reply,
            since=since,
            until=until,
            count=count,
            entries=[entry.model_dump(mode="json") for entry in entries],
        )


async def _mistakes(records: _Records) -> Told:
    page = await book.mistakes(records.wanted, limit=_MOST)
    if not page.entries:
        return records.told(records("no_mistakes", when=records.when))
    count = len(page.entries)
    if page.next_cursor is not None:
        count = await book.mistakes_count(records.wanted)
    items = "".join(_mistake(one, records) for one in page.entries)
    reply = records("mistakes", when=records.when, count=str(count), items=items)
    if count > len(page.entries):
        reply += records("more", count=str(count - len(page.entries)))
    reply += records("mistakes_next")
    return records.told(reply, count, page.entries)


def _mistake(mistake: Mistake, records: _Records) -> str:
    again = records("again", times=str(mistake.times)) if mistake.times > 1 else ""
    if mistake.kind == "recite":
        score = str(int(mistake.score or 0))
        return records("mistake_recite", title=mistake.title, score=score, again=again)
    if not mistake.answer:
        return records("mistake_unanswered", title=mistake.title, again=again)
    return records("mistake", title=mistake.title, answer=mistake.answer, again=again)


async def _recitations(records: _Records) -> Told:
    found = await book.recited(records.wanted, limit=_MOST)
    if not found:
        return records.told(records("no_recitations", when=records.when))
    items = "".join(_recited(one, records) for one in found)
    reply = records("recitations", when=records.when, count=str(len(found)), items=items)
    return records.told(reply, len(found), found)


def _recited(text: Recited, records: _Records) -> str:
    sentence = "recited" if text.passed else "recited_not_passed"
    return records(sentence, title=text.title, best=str(int(text.best)))


async def _progress(records: _Records) -> Told:
    period = records.period or last_days(records.context.today)
    progress = await progress_between(records.child, period.since, period.until, records.subject)
    if not progress.subjects:
        return records.told(records("no_progress", when=records.when))
    items = "".join(
        records(
            "progress_subject",
            subject=subject_name(one.subject, records.language),
            attempts=str(one.attempts),
            correct=str(one.correct),
            trend=records(one.trend) if one.trend in ("up", "down") else "",
        )
        for one in progress.subjects
    )
    all_right = all(one.correct == one.attempts for one in progress.subjects)
    cheer = records("progress_all_right" if all_right else "progress_cheer")
    reply = records("progress", when=records.when, items=items, cheer=cheer)
    return records.told(reply, len(progress.subjects), progress.subjects)


async def _history(records: _Records) -> Told:
    page = await book.history(records.wanted, limit=_MOST)
    if not page.entries:
        return records.told(records("no_history", when=records.when))
    items = "".join(_done(one, records) for one in page.entries)
    reply = records("history", when=records.when, items=items)
    return records.told(reply, len(page.entries), page.entries)


def _done(work: Work, records: _Records) -> str:
    if work.kind == "recite":
        return records("done_recited", title=work.title, score=str(int(work.score or 0)))
    sentence = {True: "done_right", False: "done_wrong", None: "done_open"}[work.correct]
    return records(sentence, title=work.title, answer=work.answer or "")


_TOLD = {
    "mistakes": _mistakes,
    "recitations": _recitations,
    "progress": _progress,
    "history": _history,
}


def subject_name(subject: str, language: Language) -> str:
    """Return the subject in a language; as it is where it has no name there."""
    try:
        return say()(f"subject_{subject}", language)
    except KeyError:
        return subject
