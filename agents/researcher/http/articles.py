"""`/api/articles`: list, read, download, delete what was published."""

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from oda.server import Conversations, download_headers, leads_to, page_headers, problem_responses

from ..articles.records import Article, File
from ..articles.store import published
from ..publishing import ARTICLE

router = APIRouter(tags=["articles"])

ArticleId = Annotated[str, Path(max_length=64)]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
FILE: dict[str, Any] = {
    "description": "The file, to be saved, never to be shown",
    "content": {"application/octet-stream": _BYTES, "*/*": _BYTES},
}
PAGE: dict[str, Any] = {
    "description": "The article with its images, on one page",
    "content": {"text/html": {"schema": {"type": "string"}}},
}


_NEWEST = leads_to(
    *("get_article", "get_article_page", "list_article_versions", "delete_article"),
    article_id="$response.body#/articles/0/id",
)


class ListedArticle(BaseModel):
    """An article in a list."""

    id: str
    version: int
    """The latest one in a list of articles."""
    title: str
    summary: str
    template: str
    language: str
    run_id: str
    """The run that has made this version; a name of its own where a client has restored it."""
    session_id: str
    created_at: datetime
    """When this version was first published."""
    finished: bool
    """Whether its run has come to its end."""
    change: str
    """What was asked for, of a version that goes on with an earlier one."""
    restored_from: int | None
    """The version that this one brings back."""

    @classmethod
    def of(cls, article: Article) -> Self:
        return cls(**article.model_dump(include=set(cls.model_fields)))


class ArticleResource(ListedArticle):
    """An article with its files."""

    files: list[File]


class ArticleList(BaseModel):
    """A part of a list, the newest first."""

    articles: list[ListedArticle]
    next_cursor: str | None


@router.get("", responses={200: {"links": _NEWEST}, **problem_responses()})
async def list_articles(
    conversations: Conversations,
    query: Annotated[
        str, Query(description="Words in title or summary", pattern=r"^[^\x00]*$")
    ] = "",
    template: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> ArticleList:
    """The user's articles, the newest first."""
    page = await published.list(
        conversations.user_id, query=query, template=template, limit=limit, cursor=cursor
    )
    return ArticleList(
        articles=[ListedArticle.of(one) for one in page.articles], next_cursor=page.next_cursor
    )


@router.get("/{article_id}", responses=problem_responses(404))
async def get_article(article_id: ArticleId, conversations: Conversations) -> ArticleResource:
    """The latest version of an article and the names of its files."""
    return ArticleResource.of(await published.get(conversations.user_id, article_id))


@router.get(
    "/{article_id}/html",
    response_class=Response,
    responses={200: PAGE, **problem_responses(404)},
)
async def get_article_page(article_id: ArticleId, conversations: Conversations) -> Response:
    """The article as a page without scripts, in an origin of its own."""
    found = await published.content(conversations.user_id, article_id, ARTICLE)
    return Response(found.content, headers=page_headers(ARTICLE), media_type="text/html")


@router.get(
    "/{article_id}/files/{name:path}",
    response_class=Response,
    responses={200: FILE, **problem_responses(404)},
)
async def download_article_file(
    article_id: ArticleId,
    name: Annotated[str, Path(max_length=255)],
    conversations: Conversations,
) -> Response:
    """A file of an article."""
    found = await published.content(conversations.user_id, article_id, name)
    headers = {**download_headers(name), "Content-Type": found.mime_type}
    return Response(found.content, headers=headers)


@router.delete("/{article_id}", status_code=204, responses=problem_responses(404))
async def delete_article(article_id: ArticleId, conversations: Conversations) -> None:
    """Remove an article with its versions; the workspaces of its runs stay until they are swept."""
    await published.delete(conversations.user_id, article_id)
