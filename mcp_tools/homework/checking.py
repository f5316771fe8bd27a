"""Checks answers as far as code can decide."""

from collections.abc import Sequence

from .errors import ExpressionError
from .language import Language, language_of
from .parting import parts_of
from .understanding import understand
from .vocabulary import vocabulary
from .wording import comment
from .work import Item, Verdict

OTHER_TOPIC = "other"
MAX_ANSWER = 300
"""Characters of an answer that code tries to read; longer ones are for a model."""


def check(item: Item, subject: str | None = None, *, language: Language = "zh") -> Verdict:
    """Judge one item; the comment is in its language, or in `language` if it is of signs alone.

    What code cannot read or decide has `correct` `None`, and the comment says why. Neither the
    length nor the content of an item makes this take long.

    Raises:
        SolverMissingError: the item needs algebra, and SymPy is not installed.
    """
    spoken = language_of(f"{item.question}{item.answer or ''}", otherwise=language)
    if subject and subject.strip().lower() not in vocabulary().subjects:
        return _undecided(item, comment("other_subject", spoken))
    work = item if item.answer else parts_of(item.question) or item
    try:
        problem = understand(work.question)
        topic = problem.topic
    except ExpressionError as error:
        reason = error.message(spoken) if work.answer else comment("unanswered", spoken)
        return _undecided(item, reason)
    if work.answer is None:
        return _undecided(item, comment("unanswered", spoken), topic)
    if len(work.answer) > MAX_ANSWER:
        return _undecided(item, comment("answer_unreadable", spoken), topic)
    try:
        judged = problem.judge(work.answer, spoken)
        expected = judged.expected or problem.solution(spoken)
    except ExpressionError:
        return _undecided(item, comment("answer_unreadable", spoken), topic)
    return Verdict(
        question=item.question,
        answer=item.answer,
        correct=judged.correct,
        expected=expected,
        checked_by="none" if judged.correct is None else "code",
        comment=comment(judged.comment, spoken),
        topic=topic,
    )


def topic_of(item: Item) -> str:
    """Return the skill an item practises, a key of `topics` in `wording.yaml`.

    `other` if unknown.
    """
    try:
        return understand((parts_of(item.question) or item).question).topic
    except ExpressionError:
        return OTHER_TOPIC


def score(verdicts: Sequence[Verdict]) -> int | None:
    """The share of right answers among those that have a verdict, 0 to 100; `None` if none has."""
    decided = [verdict.correct for verdict in verdicts if verdict.correct is not None]
    return round(100 * sum(decided) / len(decided)) if decided else None


def _undecided(item: Item, reason: str, topic: str = OTHER_TOPIC) -> Verdict:
    return Verdict(
        question=item.question,
        answer=item.answer,
        correct=None,
        expected=None,
        checked_by="none",
        comment=reason,
        topic=topic,
    )
