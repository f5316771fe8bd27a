"""From an order to a run: its files are kept, its message is sent."""

import hashlib
from collections.abc import Sequence

from oda.server import AppConversations, key_of_request
from oda.turn.admission import Accepted

from ..articles.records import Article
from ..brief import check
from ..request import ArticleRequest, RevisionRequest
from .orders import ArticleOrder, Upload

ROUTE = "/api/articles"


async def commission(
    conversations: AppConversations,
    order: ArticleOrder,
    uploads: Sequence[Upload] = (),
    *,
    key: str | None = None,
) -> Accepted:
    """Submit an order for an article; the turn is the run.

    Args:
        key: Idempotency key: the same key and order refer to the same run.

    Raises:
        InvalidRequestError: the template, an option or a file is invalid (422).
        OverloadedError: the user has too many unfinished turns (429).
        IdempotencyConflictError: the key was used for another order (422).
    """
    asked = ArticleRequest(
        template=order.template,
        prompt=order.prompt,
        options=order.options,
        files=tuple(upload.artifact for upload in uploads),
    )
    check(asked)
    session_id = order.session_id or (key and _session_of(key))
    session, _ = await conversations.get_or_begin(session_id)
    for upload in uploads:
        await session.artifacts.save(upload.artifact, upload.mime_type, upload.data)
    return await conversations.accept(
        session,
        asked.as_text(),
        stream_tokens=True,
        key=key_of_request(key, ROUTE, asked.model_dump(mode="json")),
    )


async def commission_revision(
    conversations: AppConversations, article: Article, prompt: str, *, key: str | None = None
) -> Accepted:
    """Submit an order for a new version of an article, in its session if that is still there.

    Raises: as `commission`.
    """
    asked = RevisionRequest(article=article.id, prompt=prompt)
    session = await conversations.find(article.session_id)
    if session is None:
        session, _ = await conversations.get_or_begin(key and _session_of(key))
    return await conversations.accept(
        session,
        asked.as_text(),
        stream_tokens=True,
        key=key_of_request(key, ROUTE, asked.model_dump(mode="json")),
    )


def _session_of(key: str) -> str:
    """The session of an order with a key: the same when it comes again."""
    return f"article_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
