"""The agent's actions for `oda sidecar`.

generate   {"template", "prompt", "options"?, "files"?: [paths on this machine]}: one model call
agent      the same, for templates on which an agent works in rounds
list       {"query"?, "template"?}: the articles there are
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from oda.errors import InvalidRequestError
from oda.server import AppConversations, Refusal
from oda.server.sidecar import Action, Told

from .articles.store import published
from .http.articles import ListedArticle
from .http.commission import commission
from .http.orders import Upload, order_of
from .request import MOST_FILES
from .templates import templates

_FILE_BYTES = 50 * 2**20
_SHOWN = ("span.start", "span.end", "content")


def actions() -> Mapping[str, Action]:
    """Return the actions by name."""
    return {
        "generate": lambda asked, user: _run(asked, user, agent_mode=False),
        "agent": lambda asked, user: _run(asked, user, agent_mode=True),
        "list": _list,
    }


async def _run(
    asked: Told, conversations: AppConversations, *, agent_mode: bool
) -> AsyncGenerator[Told, None]:
    uploads = await _uploads(asked.pop("files", []))
    try:
        order = order_of(asked)
    except Refusal as refusal:
        raise InvalidRequestError(refusal.message) from refusal
    if templates().get(order.template).agent_mode is not agent_mode:
        other = "generate" if agent_mode else "agent"
        raise InvalidRequestError(
            f"The template {order.template!r} is none for this action.", remedy=f"use {other}"
        )
    turn = (await commission(conversations, order, uploads)).turn
    yield {"event": "accepted", "turn_id": turn.turn_id, "session_id": turn.session_id}
    async with aclosing(conversations.log(turn, view="messages")) as log:
        async for frames in log:
            for frame in frames:
                if frame.kind in _SHOWN:
                    yield {"event": frame.kind, **json.loads(frame.json)}
    turn = await conversations.turn(turn.turn_id)
    if turn.status == "cancelled":
        yield {"event": "cancelled"}
    elif turn.error is not None:
        yield {"event": "error", **turn.error.model_dump(), "remedy": None}
    elif turn.status == "waiting_input":
        waits = "The run waits for what a person says."
        remedy = f"POST /v1/turns/{turn.turn_id}/input of `oda serve`, or cancel it there"
        yield {"event": "error", "code": turn.status, "message": waits, "remedy": remedy}
    else:
        article = await published.of_run(conversations.user_id, turn.turn_id)
        yield {"event": "result", "article": article and article.model_dump(mode="json")}


async def _list(asked: Told, conversations: AppConversations) -> AsyncGenerator[Told, None]:
    query, template = asked.get("query", ""), asked.get("template")
    if not isinstance(query, str) or not isinstance(template, str | None):
        raise InvalidRequestError("query and template must be strings.")
    page = await published.list(conversations.user_id, query=query, template=template, limit=200)
    listed = [ListedArticle.of(one).model_dump(mode="json") for one in page.articles]
    yield {"event": "result", "articles": listed}


async def _uploads(paths: Any) -> list[Upload]:
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise InvalidRequestError("files: must be a list of paths.")
    if len(paths) > MOST_FILES:
        raise InvalidRequestError(f"files: at most {MOST_FILES} are taken.")
    return [await asyncio.to_thread(_upload, Path(path)) for path in paths]


def _upload(path: Path) -> Upload:
    try:
        if not path.is_file() or path.stat().st_size > _FILE_BYTES:
            limit = f"{_FILE_BYTES // 2**20} MiB"
            raise InvalidRequestError(f"files: {path.name!r} is no file of at most {limit}.")
        return Upload.of(path.name, None, path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"files: {path.name!r} cannot be read.") from error
