"""The standard texts, and how they are found."""

import re
from collections import Counter

import pytest

from mcp_tools.recitation import StandardText, find, normalize, texts


def test_there_are_texts_in_both_languages() -> None:
    languages = Counter(text.language for text in texts())
    assert languages["zh"] >= 180
    assert languages["en"] >= 35


def test_authors_of_chinese_texts_have_their_dynasty() -> None:
    named = [text for text in texts() if text.language == "zh" and text.author]
    assert len(named) >= 175
    assert all(text.dynasty for text in named)


@pytest.mark.parametrize("text", texts(), ids=lambda text: f"{text.title}-{text.author}")
def test_a_text_is_found_by_its_title_and_by_its_first_line(text: StandardText) -> None:
    assert find(text.title, text.author) == text
    assert find(text.text.partition("\n")[0], language=text.language) == text


def test_verses_have_the_length_that_their_form_wants() -> None:
    free = {"咏鹅", "忆江南", "论语学而", "论语三人行", "敕勒歌", "渔歌子", "登幽州台歌", "陋室铭"}
    free |= {"水调歌头", "江城子密州出猎", "念奴娇赤壁怀古", "卜算子咏梅", "西江月夜行黄沙道中"}
    free |= {"清平乐村居", "破阵子为陈同甫赋壮词以寄之", "南乡子登京口北固亭有怀", "渔家傲秋思"}
    free |= {"如梦令常记溪亭日暮", "如梦令昨夜雨疏风骤", "卜算子送鲍浩然之浙东", "爱莲说", "相见欢"}
    free |= {"虞美人", "天净沙秋思", "山坡羊潼关怀古", "长相思", "蒹葭"}
    for text in texts():
        if text.language == "zh" and text.title not in free:
            verses = re.split(
                "[，。？！；：“”\n]+", text.text.removeprefix("子曰").strip("，。？！；：“”\n")
            )
            assert len({len(verse) for verse in verses}) == 1, text.title


def test_chinese_texts_are_in_simplified_script() -> None:
    for text in texts():
        written = [letter for letter in text.text if normalize(letter, text.language)]
        if text.language == "zh":
            assert "".join(written) == normalize(text.text), text.title


@pytest.mark.parametrize(
    ("asked", "title", "confidence"),
    [
        ("《静夜思》", "静夜思", 1.0),
        ("靜夜思", "静夜思", 1.0),
        ("景夜思", "静夜思", 0.95),
        ("静夜诗", "静夜思", 0.67),
        ("我要背李白的静夜思", "静夜思", 0.8),
        ("床前名月光", "静夜思", 0.95),
        ("锄禾", "悯农", 1.0),
        ("风", "风", 1.0),
        ("twinkle twinkle little star", "The Star", 1.0),
        ("Humpty Dumty", "Humpty Dumpty", 0.92),
        ("I wandered lonely as a cloud", "Daffodils", 1.0),
    ],
)
def test_a_title_may_be_heard_or_written_in_another_way(
    asked: str, title: str, confidence: float
) -> None:
    found = find(asked)
    assert found
    assert (found.title, found.confidence) == (title, confidence)


def test_an_author_tells_texts_of_one_title_apart() -> None:
    wang_han, first = find("凉州词", "王翰"), find("凉州词")
    assert wang_han and wang_han.text.startswith("葡萄美酒夜光杯")
    assert first and first.author == "王之涣"
    assert find("静夜思", "杜甫") is None
    assert find("the swing", "stevenson") == find("The Swing")


@pytest.mark.parametrize("asked", ["", "？", "今天天气", "quantum mechanics", "春天"])
def test_what_is_not_there_is_not_found(asked: str) -> None:
    assert find(asked) is None


def test_a_language_that_is_asked_for_is_the_only_one() -> None:
    assert find("静夜思", language="en") is None
