"""Help in three levels: the method, the next step, the way to the answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from string import Formatter

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from .errors import ExpressionError, InvalidLevelError
from .language import Language, language_of
from .notation import plain
from .numerals import in_digits
from .parting import parts_of
from .problems import Problem
from .understanding import understand
from .wording import Sentence, wording
from .work import Hint, Item

LEVELS = (1, 2, 3)

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class _Help(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    nudge: Sentence
    step: Sequence[Sentence]


def hint(item: Item, level: int, language: Language | None = None) -> Hint:
    """Help with an item, in `language` or else that of the item.

    Level 1 tells the method and level 2 the next step with the numbers of the question; neither
    holds a number or a word of the answer that does not stand in the question. Level 3 shows the
    way and the answer, where code can find it.

    Raises:
        InvalidLevelError: the level is not 1, 2 or 3.
        SolverMissingError: the item needs algebra, and SymPy is not installed.
    """
    if level not in LEVELS:
        raise InvalidLevelError(level=level)
    question = item.question if item.answer else (parts_of(item.question) or item).question
    spoken = language or language_of(question)
    try:
        problem = understand(question)
        topic = problem.topic
        if level == 3:
            return _way(problem, spoken)
        solution = problem.solution(spoken)
        answers = [*([solution] if solution else []), *problem.spellings()]
        pieces = problem.pieces()
    except ExpressionError:
        return _without_problem(level, spoken)
    if level == 1:
        return Hint(hint=_helps()[topic].nudge[spoken], reveals_answer=False)
    for text in _filled(_helps()[topic], pieces, spoken):
        if not gives_away(text, question, answers):
            return Hint(hint=text, reveals_answer=False)
    return Hint(hint=_helps()[topic].nudge[spoken], reveals_answer=False)


def gives_away(text: str, question: str, answers: Sequence[str]) -> bool:
    """Tell whether a text holds a number of an answer, or all of it, that the question does not."""
    asked = _numbers(question)
    secret = {number for answer in answers for number in _numbers(answer)} - asked
    if secret & _numbers(text):
        return True
    return any(_stands_in(answer, text) and not _stands_in(answer, question) for answer in answers)


def _stands_in(answer: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\d){re.escape(_squeezed(answer))}(?!\d)", _squeezed(text)))


def _way(problem: Problem, language: Language) -> Hint:
    solution = problem.solution(language)
    said = wording().last_hint
    if solution is None:
        return Hint(hint=said["several"][language], reveals_answer=False)
    lines = said["separator"][language].join(problem.working(language))
    text = said["way" if lines else "answer"][language].format(working=lines, solution=solution)
    return Hint(hint=text, reveals_answer=True)


def _without_problem(level: int, language: Language) -> Hint:
    helps = _helps()["other"]
    text = {1: helps.nudge, 2: helps.step[0], 3: wording().last_hint["no_way"]}[level][language]
    return Hint(hint=text, reveals_answer=False)


def _filled(helps: _Help, pieces: Mapping[str, str], language: Language) -> Iterator[str]:
    """The steps that have all their pieces."""
    for sentence in helps.step:
        fields = {name for _, name, _, _ in Formatter().parse(sentence[language]) if name}
        if fields <= pieces.keys():
            yield sentence[language].format(**pieces)


def _numbers(text: str) -> set[Fraction]:
    return {Fraction(found) for found in _NUMBER.findall(in_digits(plain(text)))}


def _squeezed(text: str) -> str:
    return "".join(plain(text).split()).lower()


@cache
def _helps() -> Mapping[str, _Help]:
    file = Path(__file__).with_name("hints.yaml")
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return TypeAdapter(dict[str, _Help]).validate_python(content)
