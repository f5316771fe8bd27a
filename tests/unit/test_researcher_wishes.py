"""What rules take a message about versions for, and what they leave to the model."""

import pytest

from agents.researcher.wishes import BEFORE, LATEST, Wish, is_change, wish_of


@pytest.mark.parametrize(
    ("message", "wish"),
    [
        ("show me the versions", Wish("list")),
        ("What versions are there?", Wish("list")),
        ("version history", Wish("list")),
        ("有哪些版本？", Wish("list")),
        ("列出所有版本", Wish("list")),
        ("看看版本历史", Wish("list")),
        ("compare version 1 and 3", Wish("compare", (1, 3))),
        ("Compare v1 with v2", Wish("compare", (1, 2))),
        ("what changed?", Wish("compare")),
        ("what has changed since version 1?", Wish("compare", (1,))),
        ("What's new in the latest version?", Wish("compare", (LATEST,))),
        ("比较第一版和第三版", Wish("compare", (1, 3))),
        ("第2版和第十二版有什么不同？", Wish("compare", (2, 12))),
        ("跟上一版有什么区别", Wish("compare", (BEFORE,))),
        ("刚才改了什么？", Wish("compare")),
        ("go back to version 2", Wish("restore", (2,))),
        ("Please restore the first version", Wish("restore", (1,))),
        ("restore the original", Wish("restore", (1,))),
        ("revert to the previous version", Wish("restore", (BEFORE,))),
        ("undo", Wish("restore")),
        ("Undo that.", Wish("restore")),
        ("恢复到第二版", Wish("restore", (2,))),
        ("回到上一版吧", Wish("restore", (BEFORE,))),
        ("用回原来的版本", Wish("restore", (BEFORE,))),
        ("撤销刚才的修改", Wish("restore")),
        ("compare the current version with version 1", Wish("compare", (LATEST, 1))),
        ("make the section about fur shorter", None),
        ("go back to version 2 but keep the new title", None),
        ("compare otters and seals", None),
        ("what changed in otter hunting since 1911?", None),
        ("写一篇关于版本控制的文章", None),
        ("Is version 2 of the treaty still in force?", None),
        ("", None),
        ("undo " * 5000, None),
    ],
)
def test_wishes_about_versions(message: str, wish: Wish | None) -> None:
    assert wish_of(message) == wish


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("make the section about fur shorter", True),
        ("Could you add a chart of 2019–2024?", True),
        ("translate it", True),
        ("把毛皮那一节写短一点", True),
        ("帮我翻译成英文", True),
        ("补充一张图表", True),
        ("why is fur so dense?", False),
        ("Thanks, that is great", False),
        ("谢谢，写得很好", False),
        ("毛皮为什么这么密？", False),
        ("把" * 20_000, False),
    ],
)
def test_wishes_for_changes(message: str, changes: bool) -> None:
    assert is_change(message) is changes
