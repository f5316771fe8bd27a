"""Errors about homework.

    HomeworkError
    ├── TextTooLongError
    ├── TooManyItemsError
    ├── InvalidLevelError
    ├── SolverMissingError
    └── ExpressionError        code cannot check this; a model or a person may
        ├── UnreadableError
        ├── AmbiguousError
        ├── TooComplexError
        └── UndefinedError

`code` is stable; `message(language)` is a sentence for the user.
"""

from collections.abc import Mapping
from typing import ClassVar

from .language import Language


class HomeworkError(Exception):
    """Base of all errors about homework."""

    code: ClassVar[str] = "homework_error"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "作业处理失败：{reason}",
        "en": "The homework could not be processed: {reason}",
    }

    def __init__(self, **details: object) -> None:
        """`details` fill the templates."""
        self.details = details
        super().__init__(self.message())

    def message(self, language: Language = "en") -> str:
        """Say what is wrong and what to do."""
        return self.templates[language].format(**self.details)


class TextTooLongError(HomeworkError):
    """Raised when a text is longer than any page of homework."""

    code = "text_too_long"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "内容有 {length} 个字符，最多 {limit} 个，请分几次发送",
        "en": "The text has {length} characters, at most {limit} are read; send it in parts",
    }


class TooManyItemsError(HomeworkError):
    """Raised when there are more items than one person does in a day."""

    code = "too_many_items"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "一共有 {count} 道题，一次最多 {limit} 道，请分几次发送",
        "en": "There are {count} items, at most {limit} at once; send them in parts",
    }


class InvalidLevelError(HomeworkError):
    """Raised when the level of a hint is not 1, 2 or 3."""

    code = "invalid_level"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "提示级别只能是 1、2、3，不能是 {level}",
        "en": "The level of a hint is 1, 2 or 3, not {level}",
    }


class SolverMissingError(HomeworkError):
    """Raised when algebra is asked for and SymPy is not installed."""

    code = "solver_missing"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这台服务器还不能检查方程和代数式，请管理员安装 oda[companion]",
        "en": "This server cannot check algebra yet: install oda[companion]",
    }

    def __init__(self) -> None:
        super().__init__()


class ExpressionError(HomeworkError):
    """Base of the reasons why code cannot check a question or an answer."""

    code = "expression_error"


class UnreadableError(ExpressionError):
    """Raised when a text is no mathematics that code understands, such as a word problem."""

    code = "unreadable"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "程序看不懂这道题的写法，请写成算式或方程",
        "en": "Code cannot read this; write it as an expression or an equation",
    }

    def __init__(self) -> None:
        super().__init__()


class AmbiguousError(ExpressionError):
    """Raised when an expression has two readings with two values, such as `6÷2(1+2)`."""

    code = "ambiguous"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这个算式有不止一种读法，请加上括号或乘号",
        "en": "This can be read in more than one way; add brackets or a multiplication sign",
    }

    def __init__(self) -> None:
        super().__init__()


class TooComplexError(ExpressionError):
    """Raised when an expression is longer, deeper or larger than homework is."""

    code = "too_complex"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这个算式太长或数太大，请拆成小一点的题目",
        "en": "This is too long or its numbers are too large; split it into smaller steps",
    }

    def __init__(self) -> None:
        super().__init__()


class UndefinedError(ExpressionError):
    """Raised when an expression has no value: a division by zero, a root of a negative number."""

    code = "undefined"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这个算式没有意义，请检查除数是不是零、根号里是不是负数",
        "en": "This has no value; check for a division by zero or a root of a negative number",
    }

    def __init__(self) -> None:
        super().__init__()
