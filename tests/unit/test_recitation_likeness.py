"""What is recitation, and what is a question or a remark."""

import pytest

from mcp_tools.recitation import is_recitation, similarity, texts
from mcp_tools.recitation.likeness import FAINT

POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"
RHYME = (
    "Twinkle, twinkle, little star,\nHow I wonder what you are!\n"
    "Up above the world so high,\nLike a diamond in the sky."
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (POEM, "床前明月光"),
        (POEM, "低头思故乡"),
        (POEM, "床前明月光一是地上双"),
        (POEM, "床前看月光"),
        (POEM, "床上明亮光"),
        (POEM, "我开始背了床前明月光疑是地上霜"),
        (POEM, "举头望明月低头思故乡我背完了"),
        (POEM, "床前明月光嗯举头望明月"),
        (POEM, "舉頭望明月"),
        (POEM, "举头望明月？"),
        ("春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少？", "花落知多少？"),
        ("谁知盘中餐，粒粒皆辛苦。", "谁知盘中餐"),
        ("我不会。他说。", "我不会"),
        (RHYME, "twinkle twinkle little star"),
        (RHYME, "how I wonder what you are?"),
        (RHYME, "up above the sky so high"),
        (RHYME, "like a diamond on the sky"),
        ("Have you any wool? Yes, sir.", "have you any wool?"),
    ],
)
def test_a_part_recited_also_badly_is_recitation(text: str, said: str) -> None:
    recites, found = is_recitation(text, said)
    assert recites
    assert found == similarity(text, said) >= FAINT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (POEM, ""),
        (POEM, "嗯"),
        (POEM, "？"),
        (POEM, "这个字怎么读"),
        (POEM, "下一句是什么"),
        (POEM, "床前明月光下一句是什么"),
        (POEM, "疑是地上霜的霜字怎么写"),
        (POEM, "举头望明月是什么意思"),
        (POEM, "什么"),
        (POEM, "我忘了"),
        (POEM, "我不会背了"),
        (POEM, "等一下"),
        (POEM, "老师我准备好了"),
        (POEM, "我想吃苹果"),
        (POEM, "can you help me"),
        ("这是什么？这是春天。", "什么"),
        (RHYME, "can you help me"),
        (RHYME, "what is the next line"),
        (RHYME, "what does diamond mean"),
        (RHYME, "how do you say little star"),
        (RHYME, "I don't know"),
        (RHYME, "I forgot the next line"),
        (RHYME, "what"),
        (RHYME, "help me please"),
        (RHYME, "我想玩"),
    ],
)
def test_a_question_or_a_remark_is_not_recitation(text: str, said: str) -> None:
    recites, _ = is_recitation(text, said)
    assert not recites


def test_every_line_of_the_library_is_recitation_of_its_text_and_of_no_other() -> None:
    library = [text for text in texts() if text.author != "孔子"]  # who begins each with 子曰
    for own, other in zip(library, library[1:] + library[:1], strict=True):
        first_line = own.text.partition("\n")[0]
        assert is_recitation(own.text, first_line) == (True, 1.0)
        assert not is_recitation(other.text, first_line)[0], (own.title, other.title)


def test_what_was_said_must_stand_together() -> None:
    scattered = "床甲乙丙丁戊己庚辛壬癸前子丑寅卯辰巳午未申酉戌亥明"
    assert similarity(scattered, "床前明") < 0.5
    assert similarity(POEM, "床前明月光举头望明月") == 1.0
