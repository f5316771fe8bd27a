"""`/api/articles`: list, read, download, delete what was published."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from oda.server import Conversations, download_headers, leads_to, page_headers, problem_responses

from ..articles.records import Article, File
from ..articles.store import published
from ..publishing import ARTICLE

router = APIRouter(tags=["articles"])

ArticleId = Annotated[str, Path(max_length=64)]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_FILE: dict[str, Any] = {
    "description": "The file, to be saved, never to be shown",
    "content": {"application/octet-stream": _BYTES, "*/*": _BYTES},
}
_PAGE: dict[str, Any] = {
    "description": "The article with its images, on one page",
    "content": {"text/html": {"schema": {"type": "string"}}},
}


_NEWEST = leads_to(
    *("get_article", "get_article_page", "delete_article"),
    article_id="$response.body#/articles/0/id",
)


class ListedArticle(BaseModel):
    """An article in a list."""

    id: str
    title: str
    summary: str
    template: str
    language: str
    run_id: str
    session_id: str
    created_at: datetime

    @classmethod
    def of(cls, article: Article) -> "ListedArticle":
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
    query: Annotated[str, Query(description="Words in title or summary")] = "",
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
    """An article and the names of its files."""
    found = await published.get(conversations.user_id, article_id)
    listed = ListedArticle.of(found).model_dump()
    return ArticleResource(**listed, files=[*found.files])


@router.get(
    "/{article_id}/html",
    response_class=Response,
    responses={200: _PAGE, **problem_responses(404)},
)
async def get_article_page(article_id: ArticleId, conversations: Conversations) -> Response:
    """The article as a page without scripts, in an origin of its own."""
    found = await published.content(conversations.user_id, article_id, ARTICLE)
    return Response(found.content, headers=page_headers(ARTICLE), media_type="text/html")


@router.get(
    "/{article_id}/files/{name:path}",
    response_class=Response,
    responses={200: _FILE, **problem_responses(404)},
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
    """Remove an article with its files; the run's workspace stays until it is swept."""
    await published.delete(conversations.user_id, article_id)
