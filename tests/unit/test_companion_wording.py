"""What the companion says: in both languages alike, and never a suggestion it cannot follow."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import yaml

from agents.companion.chat.answers import small_talk
from agents.companion.homework import sentences as homework
from agents.companion.recite import sentences as recite
from agents.companion.rules import rules
from oda.orchestration.classification import by_rules
from oda.orchestration.guardrails import answer_in

COMPANION = Path(__file__).parents[2] / "agents" / "companion"
SCENES = ("chat", "recite", "homework", "lookback", "practice", "breaks")


def sentences(scene: str) -> Mapping[str, Mapping[str, Any]]:
    file = COMPANION / scene / "wording.yaml"
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def blanks(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("scene", SCENES)
def test_both_languages_have_the_same_sentences_with_the_same_blanks(scene: str) -> None:
    zh, en = sentences(scene)["zh"], sentences(scene)["en"]
    assert {name: blanks(text) for name, text in zh.items()} == {
        name: blanks(text) for name, text in en.items()
    }


@pytest.mark.parametrize("scene", SCENES)
def test_a_language_is_not_mixed_up_with_the_other(scene: str) -> None:
    english = "".join(map(str, sentences(scene)["en"].values()))
    assert not any("\u4e00" <= character <= "\u9fff" for character in english)


def suggestions(scene: str, language: str) -> Iterator[str]:
    """All that is suggested to say, which stands between bars."""
    texts = sentences(scene)[language]
    for name, text in texts.items():
        if name == "well_known":
            yield from (texts["recite_title"].format(title=title) for title in text.split("|"))
        elif "|" in text and name != "weekdays":
            yield from text.split("|")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("scene", SCENES)
def test_every_suggestion_is_understood_without_a_model(scene: str, language: str) -> None:
    controls = {
        "recite": recite.controls(),
        "homework": homework.controls(),
        "practice": homework.controls(),
    }.get(scene)
    understood = {
        suggestion: by_rules(suggestion, rules()) is not None
        or answer_in(suggestion, rules()) != "unclear"
        or (controls is not None and controls.find(suggestion) is not None)
        or small_talk().find(suggestion) is not None
        for suggestion in suggestions(scene, language)
    }
    assert understood
    assert all(understood.values()), understood


@pytest.mark.parametrize("scene", SCENES)
def test_no_sentence_shows_how_it_is_written(scene: str) -> None:
    for language in ("zh", "en"):
        assert not any("\\" in text for text in sentences(scene)[language].values())


def test_every_topic_of_small_talk_has_an_answer() -> None:
    listed = yaml.safe_load((COMPANION / "chat" / "small_talk.yaml").read_text(encoding="utf-8"))
    answered = {*sentences("chat")["zh"], "unclear"}
    assert {one["topic"] for one in listed} <= answered


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("你好呀", "greeting"),
        ("Good morning!", "greeting"),
        ("帮我一下", "unclear"),
        ("help me", "unclear"),
        ("我不知道干什么", "unclear"),
        ("what should I do?", "unclear"),
        ("今天的安排", "schedule"),
        ("今天有什么任务？", "schedule"),
        ("what's my schedule today?", "schedule"),
        ("我学得怎么样", "progress"),
        ("how am I doing?", "progress"),
        ("今天星期几", "date"),
        ("现在几点了", "time"),
        ("《静夜思》是谁写的？", "poem_author"),
        ("静夜思是谁写的", "poem_author"),
        ("who wrote The Star?", "poem_author"),
        ("念一下《春晓》", "poem_text"),
        ("show me the poem The Star", "poem_text"),
        ("你是谁", "name"),
        ("我今天有点难过", "sad"),
        ("I am very tired", "tired"),
        ("给我讲个故事", "story"),
        ("谢谢你", "thanks"),
    ],
)
def test_small_talk(message: str, topic: str) -> None:
    found = small_talk().find(message)
    assert found is not None
    assert found.topic == topic


@pytest.mark.parametrize("message", ["李白是谁", "我家有一只猫", "床前明月光", "my dog is nice"])
def test_what_is_no_small_talk(message: str) -> None:
    assert small_talk().find(message) is None
