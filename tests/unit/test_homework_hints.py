"""Three levels of help, and what they must not say."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_tools import homework
from mcp_tools.homework import InvalidLevelError, Item, Language, gives_away, hint, topic_of
from mcp_tools.homework.numerals import in_digits
from mcp_tools.homework.wording import wording

GROUPS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("homework_items.yaml").read_text(encoding="utf-8")
)
QUESTIONS = sorted({case["question"] for group in GROUPS.values() for case in group})
HINTS: dict[str, Any] = yaml.safe_load(
    Path(homework.__file__).with_name("hints.yaml").read_text(encoding="utf-8")
)
LANGUAGES: tuple[Language, ...] = ("zh", "en")
SENTENCES = [
    sentence[language]
    for help in HINTS.values()
    for sentence in (help["nudge"], *help["step"])
    for language in LANGUAGES
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_sentence_of_the_first_levels_holds_a_number_or_a_judgement(sentence: str) -> None:
    bare = re.sub(r"\{\w+\}", "", sentence)
    assert in_digits(bare) == bare
    assert not re.search(
        r"\d|[一二两三四五六七八九十百千万零对错<>=]|\b(?:true|false|right)\b", bare
    )


def test_every_topic_has_a_label_and_help() -> None:
    assert set(HINTS) == set(wording().topics)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_levels_never_tell_what_the_third_does(question: str) -> None:
    item = Item(question=question)
    for language in LANGUAGES:
        way = hint(item, 3, language)
        for level in (1, 2):
            help = hint(item, level, language)
            assert not help.reveals_answer
            if way.reveals_answer:
                answer = re.split("答案是 |The answer is ", way.hint)[-1].rstrip("。.")
                assert not gives_away(help.hint, question, [answer]), help


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("27+35", "先算个位：7+5 得多少？满了要向前面的数位进位。"),
        ("3+4×2", "先算 4×2，别的先不动。"),
        ("2x+1=7", "等号左右做同样的运算：2x = 7-1。"),
        ("7+□=12", "倒着推：□ = 12-7。"),
        ("2小时=( )分钟", "先想：1 小时 = 60 分钟，再看题目里有多少个小时。"),
        ("1km=( )m", "先想km和m之间的进率，再决定乘还是除。"),
        ("2/3+1/6", "看 2/3+1/6：如果要通分，公分母可以用 6。"),
        ("1/2+1/3", "看 1/2+1/3：想想是要通分、约分，还是乘倒数？"),
    ],
)
def test_the_second_level_takes_the_next_step_with_the_numbers_of_the_question(
    question: str, step: str
) -> None:
    assert hint(Item(question=question), 2).hint == step


@pytest.mark.parametrize(
    ("question", "way"),
    [
        ("3+4×2", "3+4×2=3+8; 3+8=11. The answer is 11."),
        ("1/2+1/3", "1/2+1/3=3/6+2/6; 3/6+2/6=5/6. The answer is 5/6."),
        ("17÷5", "5×3=15; 17-15=2. The answer is 3 r 2."),
        ("2x+1=7", "2x=7-1; 2x=6; x=6÷2; x=3. The answer is x=3."),
        ("x²-5x+6=0", "(x-3)(x-2)=0; x=2 or x=3. The answer is x=2 or x=3."),
        ("3/4 ○ 2/3", "3/4=9/12; 2/3=8/12; 9/12>8/12. The answer is >."),
        ("12÷□=4", "□ = 12÷4; 12÷3=4. The answer is 3."),
        ("3.5kg=( )g", "1 kg = 1000 g; 3.5×1000=3500. The answer is 3500g."),
    ],
)
def test_the_third_level_shows_the_way_and_the_answer(question: str, way: str) -> None:
    help = hint(Item(question=question), 3, "en")
    assert help.reveals_answer
    assert help.hint == f"This is the way: {way}"


def test_a_word_problem_gets_general_help_and_no_answer() -> None:
    item = Item(question="小明有3个苹果，又买了4个，一共有几个？")
    assert topic_of(item) == "other"
    hints = [hint(item, level) for level in (1, 2, 3)]
    assert len({each.hint for each in hints}) == 3
    assert not any(each.reveals_answer for each in hints)


def test_the_language_is_that_of_the_question_unless_another_is_asked_for() -> None:
    assert hint(Item(question="What is 7 times 8?"), 1).hint.startswith("Say the times table")
    assert hint(Item(question="What is 7 times 8?"), 1, "zh").hint.startswith("背背")


def test_there_are_three_levels() -> None:
    with pytest.raises(InvalidLevelError, match="1, 2 or 3, not 4"):
        hint(Item(question="3+4"), 4)


def test_what_gives_an_answer_away() -> None:
    assert gives_away("that makes 7", "3+4", ["7"])
    assert gives_away("that makes seven", "3+4", ["7"])
    assert gives_away("得七", "3+4", ["7"])
    assert gives_away("it is 5.0", "2+3", ["5"])
    assert not gives_away("add 5 to 0", "5+0", ["5"])
    assert not gives_away("that makes 70", "3+4", ["7"])
    assert gives_away("use >", "1 ○ 2", [">"])
