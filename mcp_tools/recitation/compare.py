"""How well a text was recited: an algorithm, so that the same words always get the same score."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .align import Block, align
from .errors import EmptyTextError
from .fit import fitted
from .language import Language
from .sounds import sound_keys
from .swaps import mistakes
from .units import Units, joined

PASS_SCORE = 85.0

MistakeType = Literal["missing", "extra", "wrong", "homophone", "swapped"]


class Mistake(BaseModel):
    """Consecutive units of the text that went wrong in one way."""

    model_config = ConfigDict(frozen=True)

    type: MistakeType
    expected: str
    """Units of the text, normalized; empty if `extra`."""
    actual: str
    """Spoken units instead, normalized; empty if `missing`."""
    position: int = Field(ge=0)
    """Index of the first unit in the normal form of the expected text; of an `extra` run, the
    unit before which it was said, which is the number of units if it was said at the end."""
    cost: float = Field(ge=0)
    """How many units of the text it takes from the score."""


class NormalForms(BaseModel):
    """Both texts as they were compared."""

    model_config = ConfigDict(frozen=True)

    expected: str
    actual: str


class Evaluation(BaseModel):
    """Result of `compare`."""

    model_config = ConfigDict(frozen=True)

    score: float = Field(ge=0, le=100)
    passed: bool
    errors: tuple[Mistake, ...]
    """In the order of the text."""
    normalized: NormalForms


def compare(expected_text: str, user_text: str, language: Language | None = None) -> Evaluation:
    """Compare what was said with the text.

    Both are brought into normal form (see `units`) and aligned with the fewest mistakes. With N
    units in the text (characters of Chinese, words of English), the score is

        100 x (1 - (missing + wrong + extra + homophones / 2) / N)

    but not below 0, to two decimals: the accuracy of speech recognition, 1 - CER or 1 - WER, with
    homophones at half, because the recogniser makes them. Saying more that is wrong never raises
    it. A swap counts as what it was aligned as, at most twice its shorter run. Filled pauses are
    free; what is said again, also to correct oneself, is extra.

    Args:
        expected_text: The text to recite, with or without punctuation.
        user_text: What was said; may be empty.
        language: Of the numbers in digits; detected from the expected text if not given.

    Raises:
        EmptyTextError: the expected text holds no words.
        TextTooLongError: one of the texts has more than `MAX_UNITS` units.
    """
    expected, said = fitted(expected_text, user_text, language)
    if not expected.units:
        raise EmptyTextError
    sounds = sound_keys(expected.units, said.units)
    blocks = mistakes(align(expected, said, sounds), expected, said, sounds)
    found = tuple(_mistake(block, expected, said) for block in blocks)
    lost = sum(mistake.cost for mistake in found)
    score = round(max(0.0, 100 * (1 - lost / len(expected.units))), 2)
    return Evaluation(
        score=score,
        passed=score >= PASS_SCORE,
        errors=found,
        normalized=NormalForms(expected=str(expected), actual=str(said)),
    )


def _mistake(block: Block, expected: Units, said: Units) -> Mistake:
    assert block.kind != "equal"
    return Mistake(
        type=block.kind,
        expected=joined(expected.units[block.start : block.end]),
        actual=joined(said.units[block.said_start : block.said_end]),
        position=block.start,
        cost=block.cost,
    )
