"""What a child is told about its mistakes."""

import pytest

from mcp_tools.recitation import MAX_TIPS, Mistake, compare, memory_tips
from tests.support.counted_work import calls

POEM = "床前明月光，疑是地上霜。\n举头望明月，低头思故乡。"
RHYME = (
    "Twinkle, twinkle, little star,\nHow I wonder what you are!\n"
    "Up above the world so high,\nLike a diamond in the sky."
)


def tips(text: str, said: str) -> list[str]:
    return memory_tips(compare(text, said).errors, text)


@pytest.mark.parametrize(
    ("said", "tip"),
    [
        (
            "床前明月光举头望明月低头思故乡",
            "漏了一句：“床前明月光”的后面接“疑是地上霜”，想着“疑是”就能接上。",
        ),
        (
            "疑是地上霜举头望明月低头思故乡",
            "开头漏了一句：第一句是“床前明月光”，记住用“床前”起头。",
        ),
        ("床前明月光低头思故乡", "“床前明月光”的后面漏了2句，从“疑是地上霜”接着背。"),
        (
            "床前明月光疑是霜举头望明月低头思故乡",
            "“疑是地上霜”这一句漏了“地上”，完整地多读两遍。",
        ),
        (
            "疑是地上霜床前明月光举头望明月低头思故乡",
            "顺序反了：先背“床前明月光”，再背“疑是地上霜”。",
        ),
        (
            "床前月明光疑是地上霜举头望明月低头思故乡",
            "“床前明月光”里的顺序是“明月”，不是“月明”。",
        ),
        (
            "床前明月光疑是地上霜举头忘明月低头思故乡",
            "注意同音字：是“望明月”的“望”，不是“忘”。",
        ),
        (
            "床前明月光疑是地上霜举头看明月低头思故乡",
            "“举头望明月”这一句里是“望”，不是“看”。",
        ),
        (
            "床前明月光都疑是地上霜举头望明月低头思故乡",
            "“都”是多说的，这里直接背“疑是地上霜”。",
        ),
        (
            "床前明月光疑是地上霜举头望明月低头思故乡完了",
            "背到“低头思故乡”就结束了，“完了”是多说的。",
        ),
    ],
)
def test_a_chinese_mistake_is_named_with_its_line(said: str, tip: str) -> None:
    assert tips(POEM, said) == [tip]


@pytest.mark.parametrize(
    ("said", "tip"),
    [
        (
            "twinkle twinkle little star up above the world so high like a diamond in the sky",
            "A line is missing: after “Twinkle, twinkle, little star” comes "
            "“How I wonder what you are”. Think of “how i”.",
        ),
        (
            "twinkle twinkle little star how i wander what you are up above the world so high "
            "like a diamond in the sky",
            "In “How I wonder what you are” it is “wonder”, not “wander”.",
        ),
        (
            "twinkle twinkle little star how i wonder what you are up above the world sew high "
            "like a diamond in the sky",
            "Same sound, another word: it is “so” as in “so high”, not “sew”.",
        ),
    ],
)
def test_an_english_mistake_is_named_with_its_line(said: str, tip: str) -> None:
    assert tips(RHYME, said) == [tip]


def test_who_has_missed_most_of_it_is_told_to_start_small() -> None:
    assert tips(POEM, "")[0] == ("不着急，先把“床前明月光”和“疑是地上霜”背熟，再一句一句往后接。")


def test_the_costliest_mistakes_come_first_and_few_are_told() -> None:
    text = "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。"
    said = "天地玄红宇宙洪方日月盈满辰宿列阵寒来秋收冬"
    found = tips(text, said)
    assert len(found) == MAX_TIPS
    assert found[0] == "“寒来暑往”这一句漏了“暑往”，完整地多读两遍。"


def test_who_makes_no_mistake_gets_no_tip() -> None:
    assert tips(POEM, POEM) == []


def test_tips_are_in_the_language_that_is_asked_for() -> None:
    errors = compare(POEM, "床前明月光疑是地上霜举头看明月低头思故乡").errors
    assert memory_tips(errors, POEM, "en") == ["In “举头望明月” it is “望”, not “看”."]


def test_a_line_without_an_end_is_quoted_in_part() -> None:
    text = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往"
    assert tips(text, text.replace("宇", "雨"))[0].startswith("注意同音字")
    assert "“天地玄黄宇宙洪荒日月盈昃辰宿列张…”" in tips(text, text.replace("宇", "天"))[0]


def test_many_mistakes_of_a_long_text_cost_no_more_than_sorting_them() -> None:
    text = "，".join(["春眠不觉晓"] * 300)
    errors = [
        Mistake(type="missing", expected="晓", actual="", position=position % 1500, cost=1)
        for position in range(2000)
    ]
    few = calls(lambda: memory_tips(errors[:1000], text))
    many = calls(lambda: memory_tips(errors, text))
    assert many < 2.5 * few
    assert many < 60 * len(errors)
