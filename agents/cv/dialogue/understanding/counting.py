"""Numbers as people write them."""

import re

from .vocabulary import vocabulary


def number_of(words: str) -> int:
    """Return the number that some words write: "12", "third", "二十"; 0 for others."""
    folded = words.strip().lower()
    digits = re.match(r"\d+", folded)
    if digits:
        return int(digits[0])
    numbers = vocabulary().grammar.numbers
    if folded in numbers:
        return numbers[folded]
    tens, _, ones = folded.partition("十")
    return numbers.get(tens, "十" in folded) * 10 + numbers.get(ones, 0)
