"""Answers of the companion without a model: small talk, and facts it can look up."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from oda.message.language import Language
from oda.orchestration import StepContext
from oda.orchestration.wording import Wording

from ..homework.progress import DAYS
from ..phrases import Phrase, Phrases
from ..wording import wording
from .knowledge import Knowledge

UNCLEAR = "unclear"
"""The topic of messages that want help and do not say with what."""

INTRODUCTION = "introduction"
"""The topic of messages in which a child says its name or its grade."""

_HERE = Path(__file__).parent
_GRADES = {word: str(number) for number, word in enumerate("一二三四五六", 1)}


@cache
def say() -> Wording:
    """The sentences of the chat."""
    return wording(_HERE)


@cache
def small_talk() -> Phrases:
    """Return the phrases of small talk."""
    return Phrases(_HERE / "small_talk.yaml")


def child_in(phrase: Phrase) -> dict[str, JsonValue]:
    """Return the `name` and the `grade` that a child says."""
    told: dict[str, JsonValue] = {}
    for slot, value in phrase.slots.items():
        name = "name" if "name" in slot else "grade"
        told[name] = _GRADES.get(value, value)
    return told


def introduced(child: Mapping[str, JsonValue], language: Language) -> str:
    """Return the answer to an introduction."""
    if "name" in child:
        return say()(INTRODUCTION, language, child=str(child["name"]))
    return say()("introduction_grade", language, grade=str(child["grade"]))


async def answer_to(phrase: Phrase, context: StepContext, language: Language) -> str:
    """The answer to a phrase of small talk."""
    if phrase.topic == INTRODUCTION:
        return introduced(child_in(phrase), language)
    look_up = _LOOKED_UP.get(phrase.topic)
    if look_up is None:
        return say()(phrase.topic, language)
    return await look_up(phrase.slots, context, language)


async def _date(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    now = context.now
    weekday = say().choices("weekdays", language)[now.weekday()]
    date = {"year": str(now.year), "month": str(now.month), "day": str(now.day)}
    return say()("date", language, weekday=weekday, **date)


async def _time(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    return say()("time", language, time=f"{context.now:%H:%M}")


async def _schedule(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    items = (await Knowledge(context).schedule_of_day())["items"]
    if not items:
        return say()("no_schedule", language)
    named = [say()(f"schedule_{item['kind']}", language, title=item["title"]) for item in items]
    return say()("schedule", language, items=say()("separator", language).join(named))


async def _progress(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    subjects = (await Knowledge(context).learning_progress())["subjects"]
    if not subjects:
        return say()("no_progress", language, days=str(DAYS))
    told = [
        say()(
            "progress_subject",
            language,
            subject=_subject(one["subject"], language),
            attempts=str(one["attempts"]),
            correct=str(one["correct"]),
        )
        for one in subjects
    ]
    return say()(
        "progress",
        language,
        days=str(DAYS),
        subjects=say()("separator", language).join(told),
        cheer=say()("progress_cheer", language),
    )


def _subject(name: str, language: Language) -> str:
    try:
        return say()(f"subject_{name}", language)
    except KeyError:
        return name


async def _poem(
    name: str, slots: Mapping[str, str], context: StepContext, language: Language
) -> str:
    title = next(iter(slots.values()), "")
    found = await Knowledge(context).find_poem(title)
    if "error" in found or (name == "poem_author" and not found["author"]):
        return say()("poem_unknown", language, title=title)
    details = {key: found[key] or "" for key in ("title", "author", "text")}
    return say()(name, language, **details)


async def _poem_author(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    return await _poem("poem_author", slots, context, language)


async def _poem_text(slots: Mapping[str, str], context: StepContext, language: Language) -> str:
    return await _poem("poem_text", slots, context, language)


_LookUp = Callable[[Mapping[str, str], StepContext, Language], Awaitable[str]]
_LOOKED_UP: Mapping[str, _LookUp] = {
    "date": _date,
    "time": _time,
    "schedule": _schedule,
    "progress": _progress,
    "poem_author": _poem_author,
    "poem_text": _poem_text,
}
