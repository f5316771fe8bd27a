"""Records of an article, as exchanged by publishing, store and routes."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Run:
    """The run that has made an article."""

    app: str
    session_id: str
    run_id: str
    """The id of its turn."""


class File(BaseModel):
    """A file that belongs to an article, without its content."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Its path; may have folders in it."""
    mime_type: str
    bytes: int


class Article(BaseModel):
    """A version of a published article."""

    model_config = ConfigDict(frozen=True)

    id: str
    """The same for all versions."""
    version: int = 1
    app: str
    run_id: str
    """The run that has made this version; a name of its own where a client has restored it."""
    session_id: str
    template: str
    title: str
    summary: str
    language: str
    """BCP 47."""
    created_at: datetime
    """When this version was first published."""
    finished: bool = True
    """Whether its run has come to its end."""
    change: str = ""
    """What was asked for, if it goes on with an earlier version."""
    restored_from: int | None = None
    """The version that it brings back."""
    files: tuple[File, ...] = ()
    """Files by name; `article.html` and `cover.svg` are always present. Empty in lists."""


class ArticlePage(BaseModel):
    """A part of a list."""

    model_config = ConfigDict(frozen=True)

    articles: tuple[Article, ...]
    next_cursor: str | None
    """For the page after this one."""


@dataclass(frozen=True)
class Draft:
    """An article, or a version of one, that is to be published."""

    run: Run
    template: str
    title: str
    summary: str
    language: str
    article_id: str | None = None
    """The article of which it is a new version; None begins one."""
    change: str = ""
    """What was asked for."""
    finished: bool = True


@dataclass(frozen=True)
class Content:
    """A file with its content."""

    name: str
    mime_type: str
    content: bytes
