"""What a request for a response begins: a turn, or an answer to one that waits."""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

from oda.agent.outcome import INPUT
from oda.context import OdaContext
from oda.errors import ConflictError, NotFoundError, SessionExistsError, SessionNotFoundError
from oda.server.access import turns_at_once
from oda.server.idempotency import key_of_request
from oda.server.openai.ids import ResponseId
from oda.server.openai.request import CreateResponse, Input, read_input, refused
from oda.server.openai.response import NAMED
from oda.server.openai.stream import turn_of
from oda.server.v1.submission import storable_metadata
from oda.session.answers import Answer
from oda.session.oda_session import OdaSession
from oda.turn.record import Turn
from oda.turn.submission import IdempotencyKey, Submission


@dataclass(frozen=True)
class Begun:
    """A response that has begun."""

    id: ResponseId
    replayed: bool = False
    """Whether an earlier request with the same key began it."""


async def begin(oda: OdaContext, user: str, body: CreateResponse, key: str | None) -> Begun:
    """Submit what a request says.

    Raises:
        Refusal, InvalidRequestError: the request is malformed.
        NotFoundError: the model, the previous response or what is answered does not exist.
        ConflictError: what is answered does not wait any more.
        OverloadedError: the session or the user has too many unfinished turns.
    """
    app, _, agent = body.model.partition("/")
    said = read_input(body.input)
    previous: Turn | None = None
    if body.previous_response_id is not None:
        previous = await turn_of(oda, ResponseId.parse(body.previous_response_id), user)
        if previous.app != app:
            raise refused(f"is of the model {previous.app!r}", "previous_response_id")
    if said.answers:
        return await _answer(oda, user, app, said, previous)
    if previous is not None and (asked := _asks_for_text(previous)) and said.text.strip():
        return await _answered(oda, user, previous, [(asked, None, said.text)])
    return await _submit(oda, user, body, key, agent or None, said, previous)


async def _submit(
    oda: OdaContext,
    user: str,
    body: CreateResponse,
    key: str | None,
    agent: str | None,
    said: Input,
    previous: Turn | None,
) -> Begun:
    app = body.model.partition("/")[0]
    message = said.message
    kept = key_of_request(key, f"openai/{app}", body.model_dump(mode="json"))
    session_id = previous.session_id if previous else body.session_id
    session, is_new = await _session(oda, app, user, session_id, kept, previous)
    submission = Submission(
        message,
        agent=agent,
        metadata=storable_metadata({**(body.metadata or {}), NAMED: _noted(body)}),
        stream_tokens=bool(body.stream or body.background),
        key=kept,
        turns_at_once=turns_at_once(oda),
    )
    try:
        accepted = await oda.turns.submit(session, submission)
    except Exception:
        if is_new and not await oda.turns.unfinished(session):
            await oda.sessions.delete(*session.key)
        raise
    return Begun(ResponseId(accepted.turn.turn_id), accepted.replayed)


async def _session(
    oda: OdaContext,
    app: str,
    user: str,
    session_id: str | None,
    key: IdempotencyKey | None,
    previous: Turn | None,
) -> tuple[OdaSession, bool]:
    """Return the session of a request, and whether it has been made for it."""
    if previous is not None:
        return await oda.sessions.get(app, user, previous.session_id), False
    if session_id is None and key is None:
        return await oda.sessions.create(app, user, f"conv_{uuid.uuid4().hex}"), True
    session_id = session_id or _session_of_key(app, user, key)
    try:
        return await oda.sessions.get(app, user, session_id), False
    except SessionNotFoundError:
        pass
    try:
        return await oda.sessions.create(app, user, session_id), True
    except SessionExistsError:
        return await oda.sessions.get(app, user, session_id), False


def _session_of_key(app: str, user: str, key: IdempotencyKey | None) -> str:
    """The same key begins the same conversation, if none is named."""
    named = f"{app}\0{user}\0{key.key if key else ''}"
    return f"conv_{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def _noted(body: CreateResponse) -> dict[str, Any]:
    """What the response tells again of its request."""
    noted = {
        "background": body.background,
        "previous_response_id": body.previous_response_id,
        "instructions": body.instructions,
    }
    return {name: value for name, value in noted.items() if value is not None}


# --- answers


async def _answer(
    oda: OdaContext, user: str, app: str, said: Input, previous: Turn | None
) -> Begun:
    ids = {answer.to.turn_id for answer in said.answers}
    if len(ids) > 1:
        raise refused("answers questions of more than one response", "input")
    turn_id = ids.pop()
    if previous is not None and previous.turn_id != turn_id:
        raise ConflictError("The previous response does not ask this.")
    try:
        turn = previous or await oda.turns.get(turn_id, user)
    except NotFoundError as error:
        raise NotFoundError("Nothing waits for this answer.") from error
    if turn.app != app:
        raise NotFoundError(f"Nothing of {app!r} waits for this answer.")
    waiting = {question["id"]: question["name"] for question in turn.pending_input}
    answers: list[Answer] = []
    for answer in said.answers:
        payload = answer.payload
        if waiting.get(answer.to.question) == INPUT and payload is None:
            payload = answer.approved
        answers.append((answer.to.question, answer.approved, payload))
    return await _answered(oda, user, turn, answers)


async def _answered(oda: OdaContext, user: str, turn: Turn, answers: list[Answer]) -> Begun:
    seen = await oda.turns.answer(turn.turn_id, answers, user)
    return Begun(ResponseId(turn.turn_id, seen))


def _asks_for_text(turn: Turn) -> str | None:
    """Return the id of the question of a turn that waits for nothing but a person's words."""
    if turn.status == "waiting_input" and [q["name"] for q in turn.pending_input] == [INPUT]:
        return turn.pending_input[0]["id"]
    return None
