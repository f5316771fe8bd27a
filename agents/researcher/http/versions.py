"""`/api/articles/{id}/versions` and around it: list, read, compare, restore versions, order one."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mcp_tools.publishing.comparison import Kind
from oda.clock import SystemClock, utc
from oda.errors import InvalidRequestError
from oda.message.language import language_of
from oda.server import Conversations, KeyHeader, download_headers, page_headers, problem_responses

from ..articles.store import published
from ..publishing import ARTICLE
from ..request import LONGEST_PROMPT
from ..versions import changes_between, in_words
from .articles import FILE, PAGE, ArticleId, ArticleResource, ListedArticle
from .commission import commission_revision
from .runs import RUN, RunAccepted, accepted_run

router = APIRouter(tags=["articles"])

_clock = SystemClock()
_MOST_CHANGES = 1000

Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


def _whole(number: object) -> object:
    """In JSON 2.0 is an integer, too."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_whole)]


class ArticleVersions(BaseModel):
    """All versions of an article, the newest first."""

    versions: list[ListedArticle]


class PassageChange(BaseModel):
    """A passage that differs between two versions."""

    kind: Kind
    section: str
    """The heading under which it stands."""
    before: str
    after: str
    marked: str
    """Its text with [-what was taken out-] and {+what was put in+}."""


class ArticleComparison(BaseModel):
    """How a version of an article differs from another."""

    before: int
    after: int
    changes: list[PassageChange]
    """In the order of the text."""
    more: int
    """How many further changes there are."""
    text: str
    """The same in words, shortened."""


class Restoration(BaseModel):
    """Which version to bring back."""

    model_config = ConfigDict(extra="forbid", strict=True)

    version: VersionNumber


class RevisionOrder(BaseModel):
    """An order for a new version of an article."""

    model_config = ConfigDict(extra="forbid", strict=True)

    prompt: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]
    """What to change."""


@router.get("/{article_id}/versions", responses=problem_responses(404))
async def list_article_versions(
    article_id: ArticleId, conversations: Conversations
) -> ArticleVersions:
    """The versions of an article, the newest first."""
    found = await published.versions(conversations.user_id, article_id)
    return ArticleVersions(versions=[ListedArticle.of(one) for one in found])


@router.get("/{article_id}/versions/{version}", responses=problem_responses(404))
async def get_article_version(
    article_id: ArticleId, version: Version, conversations: Conversations
) -> ArticleResource:
    """A version of an article and the names of its files."""
    return ArticleResource.of(await published.get(conversations.user_id, article_id, version))


@router.get(
    "/{article_id}/versions/{version}/html",
    response_class=Response,
    responses={200: PAGE, **problem_responses(404)},
)
async def get_article_version_page(
    article_id: ArticleId, version: Version, conversations: Conversations
) -> Response:
    """A version of an article as a page without scripts, in an origin of its own."""
    found = await published.content(conversations.user_id, article_id, ARTICLE, version)
    return Response(found.content, headers=page_headers(ARTICLE), media_type="text/html")


@router.get(
    "/{article_id}/versions/{version}/files/{name:path}",
    response_class=Response,
    responses={200: FILE, **problem_responses(404)},
)
async def download_article_version_file(
    article_id: ArticleId,
    version: Version,
    name: Annotated[str, Path(max_length=255)],
    conversations: Conversations,
) -> Response:
    """A file of a version of an article."""
    found = await published.content(conversations.user_id, article_id, name, version)
    headers = {**download_headers(name), "Content-Type": found.mime_type}
    return Response(found.content, headers=headers)


@router.get("/{article_id}/comparison", responses=problem_responses(404))
async def compare_article_versions(
    article_id: ArticleId,
    conversations: Conversations,
    before: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="By default the one before `after`")
    ] = None,
    after: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="By default the latest one")
    ] = None,
) -> ArticleComparison:
    """How a version of an article differs from another."""
    shown = await published.get(conversations.user_id, article_id, after)
    begin = before or max(1, shown.version - 1)
    changes = await changes_between(conversations.user_id, article_id, begin, shown.version)
    return ArticleComparison(
        before=begin,
        after=shown.version,
        changes=[PassageChange(**vars(one)) for one in changes[:_MOST_CHANGES]],
        more=max(0, len(changes) - _MOST_CHANGES),
        text=in_words(changes, language_of(shown.title)),
    )


@router.post("/{article_id}/restore", responses=problem_responses(404))
async def restore_article_version(
    article_id: ArticleId, body: Restoration, conversations: Conversations
) -> ArticleResource:
    """Make a new version that is as an earlier one was; the same request changes nothing more."""
    restored = await published.restore(conversations.user_id, article_id, body.version, utc(_clock))
    return ArticleResource.of(restored)


@router.post(
    "/{article_id}/revisions",
    status_code=202,
    responses={202: {"links": RUN}, **problem_responses(404, 429)},
)
async def order_article_revision(
    article_id: ArticleId,
    body: RevisionOrder,
    response: Response,
    conversations: Conversations,
    idempotency_key: KeyHeader = None,
) -> RunAccepted:
    """Have an article changed; the run makes a new version of it."""
    if not body.prompt.strip():
        raise InvalidRequestError("prompt: is empty.", remedy="say what to change")
    article = await published.get(conversations.user_id, article_id)
    accepted = await commission_revision(conversations, article, body.prompt, key=idempotency_key)
    return accepted_run(accepted, response)
