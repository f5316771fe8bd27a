"""Evaluation of verdicts: of one page, and over days."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from .checking import OTHER_TOPIC, score
from .language import Language
from .wording import topic_label, wording
from .work import DayResult, Summary, Trend, Verdict

STRONG_SHARE = 0.8
"""Share of right answers from which a topic counts as mastered; below it, practice is suggested."""
NOTICEABLE_CHANGE = 0.1
RECENT_DAYS = 3
"""At most so many days are compared with as many before them."""


class TopicResult(NamedTuple):
    """How one topic went."""

    topic: str
    attempts: int
    correct: int

    @property
    def share(self) -> float:
        return self.correct / self.attempts


def by_topic(verdicts: Iterable[Verdict]) -> list[TopicResult]:
    """Count the verdicts of each topic that code or a model has decided, the best topic first."""
    attempts: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.correct is not None:
            attempts[verdict.topic] += 1
            correct[verdict.topic] += verdict.correct
    found = [TopicResult(topic, count, correct[topic]) for topic, count in attempts.items()]
    return sorted(found, key=lambda result: (-result.share, -result.attempts, result.topic))


def summarise(verdicts: Sequence[Verdict], language: Language = "zh") -> Summary:
    """Say what went well and what to practise."""
    results = by_topic(verdicts)
    strong = [each for each in results if each.share >= STRONG_SHARE]
    weak = [each for each in reversed(results) if each.share < STRONG_SHARE]
    strengths = [topic_label(each.topic, language) for each in strong if each.topic != OTHER_TOPIC]
    to_practise = [topic_label(each.topic, language) for each in weak]
    return Summary(
        summary=_told(verdicts, results, strengths, to_practise, language),
        strengths=strengths,
        to_practise=to_practise,
    )


def trend(history: Iterable[DayResult]) -> Trend:
    """Compare the latest days with those before; `new` when there are not two days yet.

    Days without attempts do not count, and entries of the same day count together.
    """
    days: dict[date, tuple[int, int]] = {}
    for entry in history:
        if entry.attempts:
            attempts, correct = days.get(entry.day, (0, 0))
            days[entry.day] = attempts + entry.attempts, correct + entry.correct
    if len(days) < 2:
        return "new"
    ordered = [days[day] for day in sorted(days)]
    size = min(RECENT_DAYS, len(ordered) // 2)
    change = _share(ordered[-size:]) - _share(ordered[-2 * size : -size])
    if abs(change) < NOTICEABLE_CHANGE:
        return "steady"
    return "up" if change > 0 else "down"


def _share(days: Sequence[tuple[int, int]]) -> float:
    return sum(correct for _, correct in days) / sum(attempts for attempts, _ in days)


def _told(
    verdicts: Sequence[Verdict],
    results: Sequence[TopicResult],
    strengths: Sequence[str],
    to_practise: Sequence[str],
    language: Language,
) -> str:
    said = {key: sentence[language] for key, sentence in wording().summary.items()}
    parts = []
    checked = sum(each.attempts for each in results)
    correct = sum(each.correct for each in results)
    if checked:
        points = score(verdicts)
        sentence = "score" if checked == len(verdicts) else "score_of_checked"
        parts.append(said[sentence].format(checked=checked, correct=correct, score=points))
    if checked and correct == len(verdicts):
        parts.append(said["perfect"])
    unanswered = sum(each.answer is None and each.correct is None for each in verdicts)
    unjudged = sum(each.answer is not None and each.correct is None for each in verdicts)
    for key, count in (("unanswered", unanswered), ("unjudged", unjudged)):
        if count:
            parts.append(said[key].format(count=count))
    for key, topics in (("strengths", strengths), ("to_practise", to_practise)):
        if topics:
            parts.append(said[key].format(topics=said["separator"].join(topics)))
    return ("" if language == "zh" else " ").join(parts) or said["none"]
