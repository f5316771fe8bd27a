"""Everything that can be wrong with a resume or a request to change one.

    ResumeError
    ├── InvalidDocumentError     the document as a whole is not a JSON Resume
    ├── InvalidPathError         the path cannot be read
    ├── UnknownSectionError      the path starts with a name that no resume has
    ├── UnknownFieldError        the path names a field that this place does not have
    ├── EntryNotFoundError       the index is out of range
    ├── NothingThereError        there is no value at the path
    ├── InvalidActionError       the action does not exist, or not for this path
    ├── InvalidValueError        the value has the wrong shape
    │   └── InvalidDateError     the value is not a date that a resume can hold
    ├── NothingToUndoError       no edit is left to undo
    └── VersionConflictError     the document has changed since the caller read it

`code` is stable; `message(language)` is a sentence for the person who talks to the agent.
"""

from collections.abc import Mapping
from typing import ClassVar

from .labels import Language, field_label, section_label

_DATE_FORMS: Mapping[Language, str] = {
    "zh": "2021、2021-07、2021-07-01、2021年7月、2021.07、2021/7",
    "en": "2021, 2021-07, 2021-07-01, Jul 2021, 2021.07, 2021/7",
}


class ResumeError(Exception):
    """Base of all errors about resumes."""

    code: ClassVar[str] = "resume_error"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历操作失败：{reason}",
        "en": "The resume could not be processed: {reason}",
    }

    def __init__(self, **details: object) -> None:
        """`details` fill the templates; `section` and `field` are shown by their labels."""
        self.details = details
        super().__init__(self.message())

    def message(self, language: Language = "en") -> str:
        """Say what is wrong and what would be right."""
        words = {key: self._word(key, value, language) for key, value in self.details.items()}
        return self.templates[language].format(**words)

    def _word(self, key: str, value: object, language: Language) -> object:
        if key == "section":
            return section_label(str(value), language)
        if key == "field":
            return field_label(str(self.details.get("section", "")), str(value), language)
        if isinstance(value, Mapping):
            return value[language]
        return value


class InvalidDocumentError(ResumeError):
    """Raised when a document cannot be understood as a JSON Resume."""

    code = "invalid_document"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这不是有效的 JSON Resume 文档：{path} {reason}",
        "en": "This is not a valid JSON Resume document: {path} {reason}",
    }


class InvalidPathError(ResumeError):
    """Raised when a path does not follow the path language."""

    code = "invalid_path"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "看不懂路径「{path}」，请写成 work、work[0]、work[0].position 或 basics.name",
        "en": "The path {path!r} cannot be read; write work, work[0], work[0].position "
        "or basics.name",
    }


class UnknownSectionError(ResumeError):
    """Raised when the first name of a path is no section of a resume."""

    code = "unknown_section"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历里没有「{name}」这个部分，可用的有：{known}",
        "en": "A resume has no section {name!r}; there are: {known}",
    }


class UnknownFieldError(ResumeError):
    """Raised when a path names a field that does not exist there."""

    code = "unknown_field"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "{section}没有「{name}」这个字段，可用的有：{known}",
        "en": "{section} has no field {name!r}; there are: {known}",
    }


class EntryNotFoundError(ResumeError):
    """Raised when a path points behind the last entry."""

    code = "entry_not_found"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "{section}没有第 {number} 条，目前共有 {count} 条",
        "en": "There is no entry {number} in {section}; it has {count}",
    }


class NothingThereError(ResumeError):
    """Raised when what a path names is empty, so that it cannot be deleted."""

    code = "nothing_there"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "「{path}」没有内容，无需删除",
        "en": "There is nothing at {path!r} to delete",
    }


class InvalidActionError(ResumeError):
    """Raised when an action is unknown or does not fit the path."""

    code = "invalid_action"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "不能对「{path}」执行「{action}」，可用的操作是 add、update、delete，"
        "且需要指明简历的某一部分",
        "en": "Cannot {action!r} at {path!r}; the actions are add, update and delete, "
        "on a part of the resume",
    }


class InvalidValueError(ResumeError):
    """Raised when a value does not have the shape that its place in the resume needs."""

    code = "invalid_value"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "「{path}」的值不合适：应为{expected}",
        "en": "The value for {path!r} does not fit: it must be {expected}",
    }


class InvalidDateError(InvalidValueError):
    """Raised when text is not a date, or names a day that does not exist."""

    code = "invalid_date"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "看不懂日期「{text}」，请用以下写法之一：{forms}，或“至今”",
        "en": "The date {text!r} is not one I can read; write it like {forms}, or 'present'",
    }

    def __init__(self, text: str) -> None:
        super().__init__(text=text, forms=_DATE_FORMS)
        self.text = text


class NothingToUndoError(ResumeError):
    """Raised when the history of edits is empty."""

    code = "nothing_to_undo"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有可以撤销的修改",
        "en": "There is no edit to undo",
    }


class VersionConflictError(ResumeError):
    """Raised when the caller expected another version of the document."""

    code = "version_conflict"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历已被修改：当前版本是 {actual}，而请求基于版本 {expected}，请重新读取后再试",
        "en": "The resume has changed: it is at version {actual}, the request expected "
        "{expected}; read it again first",
    }
