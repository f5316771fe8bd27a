"""Recitations with a score and errors that were worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools.recitation import Language, compare

DATA = yaml.safe_load(Path(__file__).with_name("recitation_pairs.yaml").read_text(encoding="utf-8"))
LANGUAGES: tuple[Language, ...] = ("zh", "en")
PAIRS = [(language, pair) for language in LANGUAGES for pair in DATA[language]]


def name(value: object) -> str | None:
    return f"{value['text']}-{value['said'][:24]}" if isinstance(value, dict) else None


@pytest.mark.parametrize(("language", "pair"), PAIRS, ids=name)
def test_a_recitation_gets_the_score_and_the_errors_that_it_has(
    language: Language, pair: dict[str, Any]
) -> None:
    found = compare(DATA["texts"].get(pair["text"], pair["text"]), pair["said"])
    errors = [[one.type, one.expected, one.actual, one.position] for one in found.errors]
    assert errors == pair.get("errors", [])
    assert found.score == pair["score"]
    assert found.passed == (pair["score"] >= 85)
    assert compare(DATA["texts"].get(pair["text"], pair["text"]), pair["said"], language) == found


def test_there_are_enough_pairs_of_both_languages() -> None:
    assert len(DATA["zh"]) >= 35
    assert len(DATA["en"]) >= 30
