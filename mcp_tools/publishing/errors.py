"""Errors that prevent a text from becoming an article.

PublishingError
├── NothingToPublishError    it contains neither text nor an image
├── TextTooLongError         it is longer than any article
├── TooIntricateError        it has more elements, or deeper nesting, than any article
└── MissingExtraError        an optional package is not installed

`code` is stable; `message(language)` is a sentence for the user.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

Language = Literal["en", "zh"]


class PublishingError(Exception):
    """Base of all errors about publishing."""

    code: ClassVar[str] = "publishing_failed"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "无法发布：{reason}",
        "en": "The article could not be published: {reason}",
    }

    def __init__(self, **details: object) -> None:
        """`details` fill the templates."""
        self.details = details
        super().__init__(self.message())

    def message(self, language: Language = "en") -> str:
        """Say what is wrong and what to do."""
        return self.templates[language].format(**self.details)


class NothingToPublishError(PublishingError):
    """Raised when nothing is left that a reader could see."""

    code = "nothing_to_publish"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "文章是空的，请让模型重新生成",
        "en": "The article is empty; have it written again",
    }


class TextTooLongError(PublishingError):
    """Raised when a text is longer than any article."""

    code = "article_too_long"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "文章有 {length} 个字符，最多 {limit} 个，请写短一些，图片请存成文件",
        "en": "The article has {length} characters, at most {limit} are allowed; write less, and "
        "keep images in files",
    }


class TooIntricateError(PublishingError):
    """Raised when a text would take its parser minutes, as nothing that people read does."""

    code = "article_too_intricate"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "文章的元素太多或嵌套太深，请让模型重新生成，写得简单一些",
        "en": "The article has too many elements, or too many in one another; have it written "
        "again, and simpler",
    }


class MissingExtraError(PublishingError):
    """Raised when publishing needs a package that is not installed."""

    code = "publishing_not_installed"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "生成 {format} 需要安装可选组件：pip install 'oda[researcher]'",
        "en": "Making {format} needs optional packages: pip install 'oda[researcher]'",
    }
