"""Pages of homework as children write them, and the items that are found."""

import pytest

from mcp_tools.homework import (
    MAX_ITEMS,
    MAX_TEXT,
    Item,
    TextTooLongError,
    TooManyItemsError,
    collect,
)

PAGES = {
    "3+4=7\n12-5=6": [("3+4", "7"), ("12-5", "6")],
    "1. 3×4=12 2. 5x6=35": [("3×4", "12"), ("5x6", "35")],
    "15÷3=5；2/3+1/6=5/6": [("15÷3", "5"), ("2/3+1/6", "5/6")],
    "1+1=2, 2+2=5": [("1+1", "2"), ("2+2", "5")],
    "5-3=2、6-2=4": [("5-3", "2"), ("6-2", "4")],
    "3+4=7 5 + 6 = 11": [("3+4", "7"), ("5 + 6", "11")],
    "1/2+1 = 1 1/2 3+4=7": [("1/2+1", "1 1/2"), ("3+4", "7")],
    "1,000+1=1,001": [("1,000+1", "1,001")],
    "x+3=7, x=4": [("x+3=7", "x=4")],
    "解方程 2x+1=7 答：x=3": [("解方程 2x+1=7", "x=3")],
    "2x+1=7 x=3": [("2x+1=7", "x=3")],
    "2x+1=7\n2x=6\nx=3": [("2x+1=7", "2x=6\nx=3")],
    "x²-5x+6=0\nx=2或x=3": [("x²-5x+6=0", "x=2或x=3")],
    "x+y=5, x-y=1, x=3, y=2": [("x+y=5, x-y=1", "x=3, y=2")],
    "x+y=5; x-y=1; x=3; y=2": [("x+y=5; x-y=1", "x=3; y=2")],
    "x+3=7\n2y=10": [("x+3=7", None), ("2y=10", None)],
    "What is 7 times 8? 54": [("What is 7 times 8?", "54")],
    "七加八等于十五": [("七加八", "十五")],
    "seven times eight is 56": [("seven times eight", "56")],
    "①3+4=7②5+6=12": [("3+4", "7"), ("5+6", "12")],
    "(1)3+4=8 (2)9-3=6": [("3+4", "8"), ("9-3", "6")],
    "(3+4)×2=14": [("(3+4)×2", "14")],
    "1、3+4=7\n2、12-5=": [("3+4", "7"), ("12-5=", None)],
    "1.3+4=7\n2.5+6=11": [("3+4", "7"), ("5+6", "11")],
    "1.3×4=5.2": [("1.3×4", "5.2")],
    "第1题：3+4=7\n第2题：5+6=11": [("3+4", "7"), ("5+6", "11")],
    "一、计算题\n1. 3+4=7": [("3+4", "7")],
    "数学作业\n姓名：小明\n3+4=7": [("3+4", "7")],
    "12×(3+4)\n=12×7\n=84": [("12×(3+4)", "12×7=84")],
    "17÷5=3……2": [("17÷5", "3……2")],
    "3/4 > 2/3": [("3/4 ○ 2/3", ">")],
    "10÷3≈3.33": [("10÷3", "≈3.33")],
    "7+□=12 答5": [("7+□=12", "5")],
    "7+□=12": [("7+□=12", None)],
    "3+4=?\n7": [("3+4=?", "7")],
    "2小时=120分钟": [("2小时", "120分钟")],
    "3.5米=(350)厘米": [("3.5米", "(350)厘米")],
    "判断：3+4=8 答：错": [("判断：3+4=8", "错")],
    "判断：3+4=8": [("判断：3+4=8", None)],
    "化简 2x+3x = 5x": [("化简 2x+3x", "5x")],
    "小明有3个苹果，又买了4个，一共有几个？\n3+4=7\n答：一共有7个。": [
        ("小明有3个苹果，又买了4个，一共有几个？", "3+4=7\n答：一共有7个。")
    ],
    "中国的首都是哪里？北京": [("中国的首都是哪里？", "北京")],
    "1. 中国的首都：北京": [("中国的首都", "北京")],
    "今天我不想写作业": [],
    "": [],
}


@pytest.mark.parametrize("page", PAGES, ids=repr)
def test_the_items_of_a_page(page: str) -> None:
    assert [(item.question, item.answer) for item in collect(page)] == PAGES[page]


def test_known_items_come_first_and_the_text_completes_them() -> None:
    known = [Item(question="3+4=?"), Item(question="5×6", answer="30")]
    assert collect("3+4=7\n5×6=31\n2+2=4", known) == [
        Item(question="3+4=?", answer="7"),
        Item(question="5×6", answer="30"),
        Item(question="2+2", answer="4"),
    ]


def test_a_blank_answer_is_none() -> None:
    assert Item(question="3+4", answer="  ").answer is None


def test_too_much_is_refused_with_what_to_do() -> None:
    with pytest.raises(TextTooLongError, match="send it in parts"):
        collect("1" * (MAX_TEXT + 1))
    with pytest.raises(TooManyItemsError) as refused:
        collect("\n".join(f"{number}+1={number + 1}" for number in range(MAX_ITEMS + 1)))
    assert "分几次" in refused.value.message("zh")
