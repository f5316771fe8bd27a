"""The watch that answers questions about the records in every scene, and leaves the task alone."""

import re
from collections.abc import Sequence

from oda.orchestration import Reply, SceneTurn, Watch

from ..parents.families import families
from .questions import Question, question_in
from .telling import RecordsRequest, Told, say, tell_records


class RecordsWatch(Watch):
    """Takes a question about the past for one, also where a scene waits for an answer."""

    steps = (tell_records,)

    async def interrupts(self, scene: str, turn: SceneTurn) -> Reply | None:
        """Answer from the records: of the child that asks, or of the children of a parent."""
        children, message = _children_in(turn)
        question = question_in(message, turn.now.date())
        if question is None:
            return None
        told = [
            await turn.step(tell_records, _request(question, child, turn)) for child in children
        ]
        replies = [one.reply for one in told]
        if len(children) > 1:
            replies = [f"{child}: {reply}" for child, reply in zip(children, replies, strict=True)]
        has_entries = len(told) == 1 and bool(told[0].entries)
        return Reply(
            text="\n\n".join(replies),
            card=_card(question, told[0]) if has_entries else None,
            suggested_actions=say().choices("while_recorded", turn.language),
        )


def _children_in(turn: SceneTurn) -> tuple[Sequence[str], str]:
    """Return whose records a message may be about, and the message without their names."""
    children, message = families().children_of(turn.user_id), turn.text
    named = [child for child in children if child.casefold() in message.casefold()]
    for child in named:
        somebody = "孩子" if turn.language == "zh" else "my child"
        message = re.sub(re.escape(child), somebody, message, flags=re.IGNORECASE)
    return named or children or (turn.user_id,), message


def _request(question: Question, child: str, turn: SceneTurn) -> RecordsRequest:
    period = question.period
    return RecordsRequest.model_validate(
        {
            "about": question.about,
            "since": period and period.since,
            "until": period and period.until,
            "name": period.name if period else "",
            "subject": question.subject,
            "child": None if child == turn.user_id else child,
            "language": turn.language,
        }
    )


def _card(question: Question, told: Told) -> dict[str, object]:
    return {"kind": question.about, **told.model_dump(mode="json", exclude={"reply"})}
