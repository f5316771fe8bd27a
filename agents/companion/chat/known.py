"""What the model is told of the child, its day and its last days' work."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

from oda.orchestration import StepContext

from ..learning.book import Wanted, book
from ..learning.store import learning
from .talk import TalkRequest, going_on, said_before

_DAYS = 7
_MOST_TEXTS = 8
_MOST_MISTAKES = 5
_MOST_CHARS = 200


async def known_of(request: TalkRequest, context: StepContext) -> str:
    """Return the notes for one message, in lines; what nobody knows is left out."""
    parts = [
        _of_child(request.child),
        *[line async for line in _of_work(context)],
        _of_earlier(request),
        _of_doing(request),
    ]
    return "\n".join(part for part in parts if part)


def _of_child(child: Mapping[str, object]) -> str:
    told = ", ".join(f"{name}: {_short(value)}" for name, value in child.items() if value)
    return f"The child: {told}" if told else ""


async def _of_work(context: StepContext) -> AsyncIterator[str]:
    wanted = Wanted(
        context.user_id, since=context.today - timedelta(days=_DAYS - 1), until=context.today
    )
    schedule = await learning.schedule(context.user_id, context.today)
    recited = await book.recited(wanted, limit=_MOST_TEXTS)
    mistakes = await book.mistakes(wanted, limit=_MOST_MISTAKES)
    if schedule.items:
        planned = "; ".join(f"{item.kind} {_short(item.title)}" for item in schedule.items)
        yield f"Planned for today: {planned}"
    for text in recited:
        outcome = "passed" if text.passed else "not passed yet"
        yield (
            f"Recited {_short(text.title)}: {text.rounds} round(s), best {text.best:.0f} points, "
            f"{outcome}, last on {text.last_day:%A, %Y-%m-%d}"
        )
    if recited:
        pace = sum(text.rounds for text in recited) / len(recited)
        yield f"Pace: {pace:.1f} rounds for a text on average"
    for one in mistakes.entries:
        if one.kind == "homework":
            answer = _short(one.answer)
            yield f"Hard lately: {_short(one.title)} (answered {answer}, {one.times}x wrong)"


def _of_earlier(request: TalkRequest) -> str:
    lines = []
    for content in said_before(request.earlier):
        who = "child" if content.role == "user" else "you"
        lines.append(f"- {who}: {_short((content.parts or [])[0].text)}")
    return "\n".join(["Lately, in other conversations:", *lines]) if lines else ""


def _of_doing(request: TalkRequest) -> str:
    doing = request.doing
    if doing is None:
        told = going_on(request.context)
        return f"Going on:\n{told}" if told else ""
    lines = [f"Going on: {doing.activity}"]
    details = doing.details.items()
    lines += [f"{name.replace('_', ' ')}: {told}" for name, told in details if told]
    if doing.question is not None:
        lines.append(f"The question that is open: {doing.question}")
    return "\n".join(lines)


def _short(value: object) -> str:
    return " ".join(str(value).split())[:_MOST_CHARS]
