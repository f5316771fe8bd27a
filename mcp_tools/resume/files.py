"""Resumes as files: one JSON file for each in a folder, with the edits that can be undone.

A file is replaced as a whole, so a reader sees one version or the next and a crash leaves the last
one. Writers take turns, those of other processes too (POSIX file locks).
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .document import JsonObject, Resume
from .errors import ResumeError, ResumeTooLargeError
from .history import EditRecord
from .labels import Language
from .naming import load_resume

MAX_FILE_BYTES = 2_000_000
LOCK_TIMEOUT_S = 10.0
_LOCK_POLL_S = 0.01
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class InvalidIdError(ResumeError):
    """Raised when an id cannot be the name of a file."""

    code = "invalid_id"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历编号「{id}」不可用：请用小写字母、数字、- 和 _，最多 64 个字符",
        "en": "{id!r} cannot be the id of a resume: use lower-case letters, digits, - and _, "
        "at most 64",
    }


class UnknownResumeError(ResumeError):
    """Raised when there is no resume of an id."""

    code = "unknown_resume"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "没有编号为「{id}」的简历，可以先列出或新建",
        "en": "There is no resume {id!r}; list them, or create it first",
    }


class ResumeExistsError(ResumeError):
    """Raised when a resume would overwrite another one."""

    code = "resume_exists"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "编号「{id}」已被占用，请换一个，或直接编辑那份简历",
        "en": "There is a resume {id!r} already; take another id, or edit that one",
    }


class UnreadableResumeError(ResumeError):
    """Raised when a file does not hold what this module has written."""

    code = "unreadable_resume"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "简历「{id}」的文件已损坏，无法读取",
        "en": "The file of the resume {id!r} is damaged and cannot be read",
    }


class StorageError(ResumeError):
    """Raised when the folder cannot be used right now."""

    code = "storage"
    templates: ClassVar[Mapping[Language, str]] = {
        "zh": "暂时无法读写简历：{reason}",
        "en": "The resumes cannot be read or written right now: {reason}",
    }


@dataclass
class StoredResume:
    """A resume and the edits of it that can be undone, oldest first."""

    resume: Resume
    history: list[EditRecord] = field(default_factory=list)
    language: Language = "en"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    resume: JsonObject
    history: list[EditRecord]


class ResumeFiles:
    """The resumes in a folder. Its methods block, so call them from a thread.

    Args:
        folder: Directory of the files; created when the first one is written.
        language: Language of error messages.
    """

    def __init__(self, folder: Path, *, language: Language = "en") -> None:
        self._folder = folder
        self.language = language

    def ids(self) -> list[str]:
        """The ids of all resumes, the one changed last first.

        Raises:
            StorageError: the folder cannot be read.
        """
        with _told():
            found = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name.removesuffix(".json"))
                for entry in (os.scandir(self._folder) if self._folder.exists() else ())
                if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False)
            ]
        return [name for _, name in sorted(found, reverse=True) if _ID.fullmatch(name)]

    def load(self, resume_id: str) -> StoredResume:
        """A resume as it is stored now.

        Raises:
            InvalidIdError, UnknownResumeError, UnreadableResumeError, StorageError.
        """
        path = self._path(resume_id)
        with _told():
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except FileNotFoundError:
                raise UnknownResumeError(id=resume_id) from None
            with os.fdopen(descriptor, "rb") as file:
                text = file.read(MAX_FILE_BYTES + 1)
        try:
            stored = _File.model_validate_json(text)
            resume = load_resume(stored.resume)
        except (ValidationError, ResumeError) as error:
            raise UnreadableResumeError(id=resume_id) from error
        return StoredResume(resume, stored.history, self.language)

    def create(self, resume_id: str, resume: Resume) -> StoredResume:
        """Store a new resume.

        Raises:
            InvalidIdError, ResumeExistsError, ResumeTooLargeError, StorageError.
        """
        path = self._path(resume_id)
        stored = StoredResume(resume, language=self.language)
        with self._one_writer():
            if os.path.lexists(path):
                raise ResumeExistsError(id=resume_id)
            _write(path, stored)
        return stored

    @contextmanager
    def changing(self, resume_id: str) -> Iterator[StoredResume]:
        """Lock a resume against other changes; assignments to it are stored at the end.

        Raises: as `load` and `create`.
        """
        path = self._path(resume_id)
        with self._one_writer():
            stored = self.load(resume_id)
            before = stored.resume, stored.history
            yield stored
            if (stored.resume, stored.history) != before:
                _write(path, stored)

    def _path(self, resume_id: str) -> Path:
        if not _ID.fullmatch(resume_id):
            raise InvalidIdError(id=resume_id)
        return self._folder / f"{resume_id}.json"

    @contextmanager
    def _one_writer(self) -> Iterator[None]:
        with _told():
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                _take(lock)
                yield
            finally:
                os.close(lock)  # which gives it back


def _take(lock: int) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StorageError(reason="another writer does not finish") from None
            time.sleep(_LOCK_POLL_S)
        else:
            return


def _write(path: Path, stored: StoredResume) -> None:
    """Put the file in place as a whole, surely on the disk."""
    content = {"resume": stored.resume.to_json(), "history": stored.history}
    data = json.dumps(content, ensure_ascii=False, indent=1).encode(errors="replace")
    if len(data) > MAX_FILE_BYTES:
        most = f"{MAX_FILE_BYTES:,}"
        raise ResumeTooLargeError(
            advice={
                "zh": f"连同可撤销的修改，最多 {most} 字节",
                "en": f"at most {most} bytes together with the edits that can be undone",
            }
        )
    draft = path.with_name(f".{path.stem}.tmp")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _told() -> Iterator[None]:
    """Say what the system refuses, without its paths."""
    try:
        yield
    except OSError as error:
        raise StorageError(reason=os.strerror(error.errno or 0)) from error
