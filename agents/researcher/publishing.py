"""Publishing of a run's output/ as a stored article."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import quote

from mcp_tools.publishing.cover import cover_svg
from mcp_tools.publishing.errors import MissingExtraError, PublishingError
from mcp_tools.publishing.html import MAX_CHARACTERS, Amend, Page, make_page
from mcp_tools.publishing.images import MAX_IMAGE_BYTES, MAX_TOTAL_BYTES
from mcp_tools.publishing.slides import make_slides
from mcp_tools.publishing.typesetting import one_line, shortened
from oda.errors import NoContentError, NotConfiguredError
from oda.message.language import Language
from oda.telemetry import get_logger
from oda.workspace.workspace import FileInfo, Workspace

from .articles.records import Article, Content, Draft, Run
from .articles.store import ArticleStore, published
from .media_types import HTML, PPTX, SVG, media_type
from .template import Template

log = get_logger(__name__)

ARTICLE, COVER, SLIDES, CLAIMS = "article.html", "cover.svg", "slides.pptx", "claims.json"
NEW_ARTICLE = "new-article.html"
"""Another article, where output/ holds one that a run goes on with."""
_OUTPUT = "output/"
PREVIEW = ".preview.html"
"""How the name of a translated document's preview ends."""
_DOCUMENT = re.compile(r"<html[\s>]", re.IGNORECASE)
_DOCUMENT_END = re.compile(r"</html\s{0,9}>", re.IGNORECASE)
_HEADING = re.compile(r"<h1[\s>]|^#{1,2} \S", re.IGNORECASE | re.MULTILINE)
_MOST_FILES = 50
_LONGEST_NAME = 255
_LONGEST_CHANGE = 200
_FILE_BYTES = 25 * 2**20
_ALL_BYTES = 100 * 2**20
_IMAGES = frozenset({".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"})


class Evidence(Protocol):
    """What proves an article."""

    @property
    def amend(self) -> Amend | None:
        """Marks what is not proven and shows what proves the rest; None if nothing has to be."""

    @property
    def claims(self) -> bytes:
        """The content of claims.json, once the article has been amended."""


class NoArticleError(NoContentError):
    """Raised when what a run has left is no article; publishing it again does not help."""

    retryable = False


async def publish(
    workspace: Workspace,
    *,
    owner: str,
    run: Run,
    template: Template,
    reply: str,
    now: datetime,
    request: str = "",
    article_id: str | None = None,
    without: Collection[str] = (),
    finished: bool = True,
    evidence: Evidence | None = None,
    store: ArticleStore = published,
) -> Article:
    """Keep output/article.html as an article; without it, the HTML or Markdown of the reply.

    Where there is output/new-article.html, that is the article.

    It holds its images; a cover and the other files of output/ lie beside it, and slides if the
    template makes some. What is too large to be kept stays in the workspace.

    Args:
        workspace: Of the run.
        owner: The user whose article it is.
        run: The run; publishing it again replaces its article.
        template: What was to be made.
        reply: The model's last words.
        now: The time of publishing.
        request: What the person wrote; names an article that has no title.
        article_id: The article of which this is a new version.
        without: Paths of files that belong to something else.
        finished: Whether this is what the run has come to.
        evidence: What proves it; its claims are written into output/.
        store: Where it is kept.

    Raises:
        NoArticleError: there is nothing that a reader could see, or nothing that can be parsed.
        NotConfiguredError: the extra `researcher` is not installed.
        UnavailableError: the database cannot be reached.
    """
    found = [file for file in await workspace.list() if file.path not in without]
    written = await _written(workspace, found) or reply
    images = await _images(workspace, found, written)
    beside = [content async for content in _beside(workspace, _chosen(found))]
    names = [content.name for content in beside]
    try:
        page = await asyncio.to_thread(
            make_page,
            written,
            resolve=images.get,
            files=names,
            title=_first_line(request),
            amend=evidence.amend if evidence else None,
        )
        if evidence is not None and evidence.amend is not None:
            await workspace.write(f"{_OUTPUT}{CLAIMS}", evidence.claims)
            beside.append(Content(CLAIMS, media_type(CLAIMS), evidence.claims))
        if wants_slides(template, names):
            slides = await asyncio.to_thread(make_slides, page)
            beside.append(Content(SLIDES, PPTX, slides))
    except MissingExtraError as error:
        raise NotConfiguredError(str(error)) from error
    except PublishingError as error:
        raise NoArticleError(str(error)) from error
    draft = Draft(
        run,
        template.name,
        page.title,
        page.summary,
        page.language,
        article_id=article_id,
        change=shortened(one_line(request), _LONGEST_CHANGE) if article_id else "",
        finished=finished,
    )
    article = Content(ARTICLE, HTML, page.html.encode())
    cover = _cover(page, template, seed=article_id or run.run_id)
    return await store.save(owner, draft, (article, cover, *beside), now)


def is_article(reply: str, *, whole_answer: bool) -> bool:
    """Return whether a reply is an article that has come to its end.

    Args:
        reply: The model's last words.
        whole_answer: Whether it was asked for nothing but the article, so that it need not have a
            heading to be one.
    """
    begun = _DOCUMENT.search(reply)
    if begun is not None and not _DOCUMENT_END.search(reply, begun.end()):
        return False
    return whole_answer or begun is not None or _HEADING.search(reply) is not None


async def _written(workspace: Workspace, found: Sequence[FileInfo]) -> str:
    paths = [file.path for file in found if file.path.startswith(_OUTPUT)]
    previews = [path for path in paths if path.endswith(PREVIEW)]
    for path in (f"{_OUTPUT}{NEW_ARTICLE}", f"{_OUTPUT}{ARTICLE}", *previews):
        if path in paths:
            data = await workspace.read(path, max_bytes=4 * MAX_CHARACTERS)
            return data.decode("utf-8", "replace")
    return ""


async def _images(
    workspace: Workspace, found: Sequence[FileInfo], written: str
) -> dict[str, bytes]:
    """The images that an article may mean: by their paths from output/ and from the workspace, and
    by their names alone, where models forget the folder."""
    images: dict[str, bytes] = {}
    left = MAX_TOTAL_BYTES
    for file in reversed(found):
        path = PurePosixPath(file.path)
        named = path.name in written or quote(path.name) in written
        if named and path.suffix.lower() in _IMAGES and file.bytes <= min(MAX_IMAGE_BYTES, left):
            data = await workspace.read(file.path, max_bytes=MAX_IMAGE_BYTES)
            images[file.path.removeprefix(_OUTPUT)] = data
            images.setdefault(path.name, data)
            left -= len(data)
    return images


def _chosen(found: Sequence[FileInfo]) -> Iterator[FileInfo]:
    """The files of output/ that lie beside the article, as many as may be kept."""
    files, size = 0, 0
    for file in found:
        name = file.path.removeprefix(_OUTPUT)
        if name == file.path or name in (ARTICLE, NEW_ARTICLE, COVER, CLAIMS):
            continue
        fits = file.bytes <= _FILE_BYTES and size + file.bytes <= _ALL_BYTES
        if not fits or files == _MOST_FILES or len(name) > _LONGEST_NAME:
            log.warning("file_not_published", path=file.path, bytes=file.bytes)
            continue
        files, size = files + 1, size + file.bytes
        yield file


async def _beside(workspace: Workspace, chosen: Iterator[FileInfo]) -> AsyncIterator[Content]:
    for file in chosen:
        name = file.path.removeprefix(_OUTPUT)
        data = await workspace.read(file.path, max_bytes=_FILE_BYTES)
        yield Content(name, media_type(name), data)


def wants_slides(template: Template, names: Sequence[str] = ()) -> bool:
    """Return whether slides are to be made: the template has some, and none of the files is one."""
    suffix = PurePosixPath(SLIDES).suffix
    wanted = any(result.endswith(suffix) for result in template.result)
    return wanted and not any(name.lower().endswith(suffix) for name in names)


def _cover(page: Page, template: Template, seed: str) -> Content:
    language: Language = "zh" if page.language.startswith("zh") else "en"
    label = template.title.in_language(language)
    svg = cover_svg(page.title, template=template.name, seed=seed, label=label)
    return Content(COVER, SVG, svg.encode())


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
