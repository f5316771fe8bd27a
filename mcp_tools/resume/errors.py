"""Everything that can be wrong with a resume or a request to change one.

    ResumeError
    ├── InvalidDocumentError     the document as a whole is not a JSON Resume
    ├── ResumeTooLargeError      the document, or a value for it, is larger than any resume
    ├── InvalidPathError         the path cannot be read
    ├── UnknownSectionError      the path starts with a name that no resume has
    ├── UnknownFieldError        the path names a field that this place does not have
    ├── EntryNotFoundError       the index is out of range
    ├── NothingThereError        there is no value at the path
    ├── InvalidActionError       the action does not exist, or not for this path
    ├── InvalidValueError        the value has the wrong shape
    │   └── InvalidDateError     the value is not a date that a resume can hold
    ├── NothingToUndoError       no edit is left to undo
    ├── NoSuchFileError          no file of this name was attached
    ├── TranslationDiffersError  a translation has other entries than its original
    ├── NotAloneError            another edit of the same batch is not possible
    ├── VersionConflictError     the document has changed since the caller read it
    └── ImportedFileError        a file cannot be made into a resume
        ├── FileTooLargeError        the file, or the text in it, is larger than a resume
        ├── UnknownFileTypeError     the file is of none of the accepted types
        ├── BrokenFileError          the file is damaged, cut short or not what it says it is
        ├── EncryptedFileError       the file opens only with a password
        ├── UnsafeFileError          the file holds what no resume needs: macros, bombs, entities
        ├── NothingFoundError        there is no text in the file, or nothing that a resume holds
        ├── ReaderMissingError       the libraries that read this type are not installed
        └── ReaderUnconfinedError    nothing here would confine the program that reads it

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


class ResumeTooLargeError(ResumeError):
    """Raised when a document, or a value to be put into it, exceeds the limits of a resume."""

    code = "resume_too_large"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历太大：{advice}（{path}）",
        "en": "The resume is too large: {advice} ({path})",
    }

    def __init__(self, *, advice: Mapping[Language, str], path: str = "") -> None:
        super().__init__(advice=advice, path=path or "/")


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
        "zh": "不能对「{path}」执行「{action}」，可用的操作是 add、update、delete、move，"
        "且需要指明简历的某一部分",
        "en": "Cannot {action!r} at {path!r}; the actions are add, update, delete and move, "
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


class NoSuchFileError(ResumeError):
    """Raised when a conversation has no file of a name."""

    code = "no_such_file"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有名为「{name}」的文件，现有：{known}",
        "en": "There is no file {name!r} here; there are: {known}",
    }


class TranslationDiffersError(ResumeError):
    """Raised when a translation has more or fewer entries in a section than its original."""

    code = "translation_differs"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "译文的 {section} 有 {has} 条，原文有 {should} 条，请逐条对应翻译",
        "en": "The translation has {has} entries in {section}, the resume {should}: translate "
        "entry by entry",
    }


class NotAloneError(ResumeError):
    """Raised for an edit that was possible, but not another one of the same batch."""

    code = "not_alone"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有执行：同一批修改里有一项无法完成（{reason}），所以这一批全部没有执行",
        "en": "Not done: another edit of the same batch was refused ({reason}), so none of them "
        "was made",
    }


class VersionConflictError(ResumeError):
    """Raised when the caller expected another version of the document."""

    code = "version_conflict"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历已被修改：当前版本是 {actual}，而请求基于版本 {expected}，请重新读取后再试",
        "en": "The resume has changed: it is at version {actual}, the request expected "
        "{expected}; read it again first",
    }


class ImportedFileError(ResumeError):
    """Base of what can be wrong with a file that is imported."""

    code = "import_failed"


class FileTooLargeError(ImportedFileError):
    """Raised when a file, or the text in it, is larger than a resume can be."""

    code = "file_too_large"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "文件太大：{what}，请缩小后再试",
        "en": "The file is too large: {what}; make it smaller and try again",
    }


class UnknownFileTypeError(ImportedFileError):
    """Raised when the bytes are of none of the accepted types, whatever the file is called."""

    code = "unknown_file_type"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "不支持这种文件（{found}），请上传 PDF、DOCX、TXT、Markdown 或 JSON 文件",
        "en": "This kind of file is not accepted ({found}); send a PDF, DOCX, TXT, Markdown "
        "or JSON file",
    }


class BrokenFileError(ImportedFileError):
    """Raised when a file is damaged, cut short, or takes too much to read."""

    code = "broken_file"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "无法读取这个 {format} 文件：{reason}，请重新导出后再试",
        "en": "This {format} file cannot be read: {reason}; export it anew and try again",
    }


class EncryptedFileError(ImportedFileError):
    """Raised when a file opens only with a password."""

    code = "encrypted_file"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "文件已加密，请去掉密码后再上传",
        "en": "The file is encrypted; remove its password and try again",
    }


class UnsafeFileError(ImportedFileError):
    """Raised when a file holds what no resume needs and what could do harm."""

    code = "unsafe_file"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "出于安全考虑，拒绝了这个文件：{reason}。请另存为普通的 DOCX 或 PDF 后再上传",
        "en": "The file is refused for safety: {reason}; save it as a plain DOCX or PDF "
        "and try again",
    }


class NothingFoundError(ImportedFileError):
    """Raised when a file holds no text, or nothing that belongs in a resume."""

    code = "nothing_found"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有从文件中读到简历内容：{reason}",
        "en": "No resume was found in the file: {reason}",
    }


class ReaderMissingError(ImportedFileError):
    """Raised when the libraries that read a type of file are not installed."""

    code = "reader_missing"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这台服务器还不能读取 {format} 文件，请管理员安装 oda[resume]",
        "en": "This server cannot read {format} files yet: install oda[resume]",
    }


class ReaderUnconfinedError(ImportedFileError):
    """Raised when the program that reads a file cannot be confined; the file is not opened then."""

    code = "reader_unconfined"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "这台服务器没有可用的沙箱，不能安全地读取 {format} 文件，请改用文本或 JSON",
        "en": "This server has no sandbox in which {format} files are read: send text or JSON",
    }
