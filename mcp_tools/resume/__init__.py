"""The domain of resumes: a JSON Resume document, reading, editing and undoing. No I/O, no agent."""

from .batch import BatchError, Edit, edit_all
from .dates import DATE_PATTERN, MONTHS, is_present, iso_date, parse_date
from .desk import Answer, HeldResume, ResumeDesk, described_by, refusal
from .document import SECTIONS, JsonObject, Resume, Section, title_field
from .edit import Action, Edited, check_version, edit, exchange, read
from .errors import (
    EntryNotFoundError,
    InvalidActionError,
    InvalidDateError,
    InvalidDocumentError,
    InvalidPathError,
    InvalidValueError,
    NotAloneError,
    NothingThereError,
    NothingToUndoError,
    ResumeError,
    ResumeTooLargeError,
    UnknownFieldError,
    UnknownSectionError,
    VersionConflictError,
)
from .history import EditRecord, Undone, record, undo
from .labels import Language, field_label, section_label
from .naming import load_resume
from .patch import Operation, apply_patch, diff
from .path import Path
from .shape import field_kind

__all__ = [
    "DATE_PATTERN",
    "MONTHS",
    "SECTIONS",
    "Action",
    "Answer",
    "BatchError",
    "Edit",
    "EditRecord",
    "Edited",
    "EntryNotFoundError",
    "HeldResume",
    "InvalidActionError",
    "InvalidDateError",
    "InvalidDocumentError",
    "InvalidPathError",
    "InvalidValueError",
    "JsonObject",
    "Language",
    "NotAloneError",
    "NothingThereError",
    "NothingToUndoError",
    "Operation",
    "Path",
    "Resume",
    "ResumeDesk",
    "ResumeError",
    "ResumeTooLargeError",
    "Section",
    "Undone",
    "UnknownFieldError",
    "UnknownSectionError",
    "VersionConflictError",
    "apply_patch",
    "check_version",
    "described_by",
    "diff",
    "edit",
    "edit_all",
    "exchange",
    "field_kind",
    "field_label",
    "is_present",
    "iso_date",
    "load_resume",
    "parse_date",
    "read",
    "record",
    "refusal",
    "section_label",
    "title_field",
    "undo",
]
