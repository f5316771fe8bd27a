"""The domain of homework: items of a page, verdicts, hints, summaries. No I/O, no agent, no model.

What code cannot know, such as a word problem, stays undecided for a model or a person.
"""

from .algebra import warm_up
from .checking import OTHER_TOPIC, check, score, topic_of
from .collecting import MAX_ITEMS, MAX_TEXT, collect
from .errors import (
    AmbiguousError,
    ExpressionError,
    HomeworkError,
    InvalidLevelError,
    SolverMissingError,
    TextTooLongError,
    TooComplexError,
    TooManyItemsError,
    UndefinedError,
    UnreadableError,
)
from .hinting import LEVELS, gives_away, hint
from .language import Language, language_of
from .progress import TopicResult, by_topic, summarise, trend
from .values import is_value
from .wording import topic_label
from .work import CheckedBy, DayResult, Hint, Item, Level, Summary, Trend, Verdict

__all__ = [
    "LEVELS",
    "MAX_ITEMS",
    "MAX_TEXT",
    "OTHER_TOPIC",
    "AmbiguousError",
    "CheckedBy",
    "DayResult",
    "ExpressionError",
    "Hint",
    "HomeworkError",
    "InvalidLevelError",
    "Item",
    "Language",
    "Level",
    "SolverMissingError",
    "Summary",
    "TextTooLongError",
    "TooComplexError",
    "TooManyItemsError",
    "TopicResult",
    "Trend",
    "UndefinedError",
    "UnreadableError",
    "Verdict",
    "by_topic",
    "check",
    "collect",
    "gives_away",
    "hint",
    "is_value",
    "language_of",
    "score",
    "summarise",
    "topic_label",
    "topic_of",
    "trend",
    "warm_up",
]
