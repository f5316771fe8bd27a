"""A run of an AG-UI client: which turn it is, and what of that turn's log."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core.types import RunAgentInput
from pydantic_core import to_json

from oda.context import OdaContext
from oda.errors import ConflictError
from oda.message.storable import storable
from oda.server.access import turns_at_once
from oda.server.agui.interrupts import answers_of, client_calls, interrupt_of, interrupting
from oda.server.agui.request import (
    answered_ids,
    begin_of_run,
    content_of,
    context_of,
    fingerprint,
    last_user_message,
    results_of,
    size_of,
    tools_of,
)
from oda.server.agui.state import changes_of
from oda.server.conversations import AppConversations
from oda.server.problems import Refusal
from oda.session.answers import Answer
from oda.session.oda_session import OdaSession
from oda.session.state import refuse_client_keys
from oda.turn.record import Turn
from oda.turn.submission import Brought, IdempotencyKey, Submission

METADATA = "agui"
"""Key in the metadata of a turn: `{run_id, message_id}` of the run that submitted it."""


@dataclass(frozen=True)
class Run:
    """A run that was accepted, now or before."""

    thread_id: str
    run_id: str
    turn: Turn
    session: OdaSession
    begins_after: int = 0
    """Number of the last entry of the turn's log before this run."""
    replayed: bool = False
    state_delta: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the state that come with its message, which may not be stored yet."""
    answers: Sequence[Answer] = ()
    """What it has answered now."""


async def begin_run(oda: OdaContext, app: str, user_id: str, given: RunAgentInput) -> Run:
    """Submit what a run brings, or find the turn that it has begun before.

    Raises:
        Refusal: the run leaves a question open (409), or its input is malformed (422).
        AgentNotFoundError, AgentLoadError: there is no such app, or it cannot be loaded.
        ConflictError: it answers what nothing asks (409).
        IdempotencyConflictError: the id is that of another run (422).
        InvalidRequestError: a value or a key of the state is not allowed (422).
        OverloadedError, StorageQuotaError: it is too much.
    """
    conversations = AppConversations(oda, app, user_id)
    key = IdempotencyKey(given.run_id, f"agui/{app}/{given.thread_id}", fingerprint(given))
    session = await conversations.find(given.thread_id)
    if session is None:
        return await _submit(oda, conversations, given, key)
    if (known := await oda.turns.of_key(user_id, key)) is not None:
        return await _known(oda, session, given, known)
    waiting = [
        stored.turn
        for stored in await oda.turns.unfinished(session)
        if stored.turn.status == "waiting_input"
    ]
    asking = [turn for turn in waiting if interrupting(turn)]
    if asking and not given.resume:
        raise _still_open(asking[-1])
    answered = _answered(waiting, given)
    if answered is None:
        for turn in waiting:  # the user goes on without the results of the client's tools
            await oda.turns.cancel(turn.turn_id, user_id)
        return await _submit(oda, conversations, given, key)
    turn, answers = answered
    brought = _brought(oda, session, given, key)
    try:
        seen = await oda.turns.answer(turn.turn_id, answers, user_id, brought=brought)
    except ConflictError:
        if (known := await oda.turns.of_key(user_id, key)) is None:
            raise
        return await _known(oda, session, given, known)
    return Run(
        given.thread_id,
        given.run_id,
        turn,
        session,
        begins_after=seen,
        state_delta=brought.state_delta or {},
        answers=answers,
    )


async def _known(oda: OdaContext, session: OdaSession, given: RunAgentInput, turn: Turn) -> Run:
    """Return a run that is repeated."""
    begun = turn.metadata.get(METADATA)
    begins_after = 0
    if not (isinstance(begun, dict) and begun.get("run_id") == given.run_id):
        entries = await oda.turns.entries(turn.turn_id)
        begins_after = begin_of_run(entries, answered_ids(given))
    return Run(given.thread_id, given.run_id, turn, session, begins_after, replayed=True)


async def _submit(
    oda: OdaContext, conversations: AppConversations, given: RunAgentInput, key: IdempotencyKey
) -> Run:
    if given.resume:
        raise ConflictError(
            f"Nothing waits for an answer under {given.resume[0].interrupt_id!r}.",
            remedy="it may have been answered already",
        )
    asked = last_user_message(given)
    message = content_of(asked)
    _check_size(oda, given, size_of(given, message))
    found = await conversations.find(given.thread_id)
    delta = _state_delta(oda, found, given)
    tools, context = tools_of(given), context_of(given)
    session, _ = await conversations.get_or_begin(given.thread_id)
    message_id = asked.id if asked is not None else None
    submission = Submission(
        message,
        metadata={METADATA: storable({"run_id": given.run_id, "message_id": message_id})},
        stream_tokens=True,
        state_delta=delta,
        client_tools=tools,
        context=context,
        key=key,
        turns_at_once=turns_at_once(oda),
    )
    accepted = await oda.turns.submit(session, submission)
    return Run(
        given.thread_id,
        given.run_id,
        accepted.turn,
        session,
        replayed=accepted.replayed,
        state_delta=delta,
    )


def _brought(
    oda: OdaContext, session: OdaSession, given: RunAgentInput, key: IdempotencyKey
) -> Brought:
    _check_size(oda, given, size_of(given, None))
    return Brought(
        state_delta=_state_delta(oda, session, given) or None,
        client_tools=tools_of(given),
        context=context_of(given),
        key=key,
    )


def _answered(waiting: Sequence[Turn], given: RunAgentInput) -> tuple[Turn, list[Answer]] | None:
    """Return the turn that a run answers, with its answers; None if it brings none.

    Raises:
        Refusal: it leaves a question of that turn open.
        ConflictError: it answers what nothing asks.
    """
    resumed = answers_of(given.resume or [])
    results = results_of(given)
    for turn in reversed(waiting):
        questions = {question["id"] for question in interrupting(turn)}
        returned: list[Answer] = [
            (call_id, None, results[call_id])
            for call_id in client_calls(turn)
            if call_id in results
        ]
        if resumed and questions & {answer_id for answer_id, _, _ in resumed}:
            if questions - {answer_id for answer_id, _, _ in resumed}:
                raise _still_open(turn)
            return turn, [*resumed, *returned]
        if returned and not resumed:
            return turn, returned
    if resumed:
        raise ConflictError(
            f"Nothing waits for an answer under {resumed[0][0]!r}.",
            remedy="it may have been answered already",
        )
    return None


def _still_open(turn: Turn) -> Refusal:
    interrupts = [interrupt_of(question) for question in interrupting(turn)]
    return Refusal(
        409,
        f"The turn {turn.turn_id!r} waits for answers, which `resume` must bring all.",
        code="interrupts_open",
        details={
            "turn_id": turn.turn_id,
            "interrupts": [one.model_dump(mode="json", by_alias=True) for one in interrupts],
        },
    )


def _state_delta(
    oda: OdaContext, session: OdaSession | None, given: RunAgentInput
) -> dict[str, Any]:
    """Return what a run changes in the state.

    Raises:
        InvalidRequestError: a key is not the client's to write.
        Refusal: the state would be too large.
    """
    current = session.state.to_dict() if session else {}
    sent: dict[str, Any] = given.state or {}
    changes = changes_of(current, sent)
    refuse_client_keys(changes)
    if not changes:
        return {}
    try:
        stored: dict[str, Any] = storable(changes)
    except ValueError as error:
        raise Refusal(422, "state: no store takes all of its names.") from error
    most = oda.settings.limits.state_bytes
    if len(to_json({**current, **stored})) > most:
        raise Refusal(413, f"The state would be larger than {most} bytes.")
    return stored


def _check_size(oda: OdaContext, given: RunAgentInput, size: int) -> None:
    most = oda.settings.limits.small_body_bytes
    if size > most:
        raise Refusal(
            413,
            f"What run {json.dumps(given.run_id)} brings is larger than {most} bytes.",
            remedy="send long texts as files",
        )
