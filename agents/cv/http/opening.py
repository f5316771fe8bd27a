"""How a request finds its conversation, and what becomes of the document that it brings."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_tools.resume import (
    Resume,
    ResumeError,
    check_version,
    load_resume,
)
from oda import OdaSession
from oda.server import AppConversations

from ..dialogue.understanding.message import language_of
from ..memory import EXPECTED_VERSION_KEY, RESUME_KEY, Memory
from .models import ChatRequest
from .refusals import refusal
from .replacing import replaced


@dataclass(frozen=True)
class Opened:
    """A conversation that is ready for the message."""

    session: OdaSession
    resume_data_ignored: bool
    is_replaced: bool
    """Whether the request's document has replaced the resume."""
    state_delta: Mapping[str, Any]
    """State changes that are stored with the message."""


async def open_session(conversations: AppConversations, request: ChatRequest) -> Opened:
    """Find or start the conversation of a request, and apply the request's document.

    A document starts a conversation or, if requested, replaces the existing resume.

    The version is checked here, so that a stale request has no effect, and again when the turn
    begins (`Memory.settle_resume`), to notice changes by other messages in the meantime.

    Raises:
        Refusal: the document is invalid, or the version is not the expected one; nothing is
            changed.
        InvalidRequestError: the session id is not allowed.
    """
    field = "resume_data"
    try:
        given = None
        if request.resume_data is not None:
            given = await asyncio.to_thread(load_resume, request.resume_data)
        field = "session_id"
        return await _opened(conversations, request, given)
    except ResumeError as error:
        raise refusal(error, language_of(request.message), field=field) from error


async def _opened(
    conversations: AppConversations, request: ChatRequest, given: Resume | None
) -> Opened:
    session, is_new = await _session(conversations, request, given)
    expected, is_replaced = request.expected_version, False
    if not is_new:
        state = session.state.to_dict()
        if expected is not None:
            check_version(Memory(state).resume, expected)
        if given is not None and request.replace_resume:
            version = await _replace(session, given, expected)
            is_replaced = version is not None
            expected = version if is_replaced and expected is not None else expected
    return Opened(
        session,
        resume_data_ignored=given is not None and not is_new and not is_replaced,
        is_replaced=is_replaced,
        state_delta={EXPECTED_VERSION_KEY: expected},
    )


async def _session(
    conversations: AppConversations, request: ChatRequest, given: Resume | None
) -> tuple[OdaSession, bool]:
    """The conversation, and whether it has been started now, with the document if there is one."""
    if request.session_id and (found := await conversations.find(request.session_id)):
        return found, False
    if request.expected_version is not None:
        check_version(given or load_resume(None), request.expected_version)
    state = {} if given is None else {RESUME_KEY: given.to_json()}
    return await conversations.get_or_begin(request.session_id, state=state)


async def _replace(session: OdaSession, given: Resume, expected: int | None) -> int | None:
    """Replace the resume between two turns; the version that it has then, None if it was not."""
    version: int | None = None

    def change(state: dict[str, Any]) -> Mapping[str, Any]:
        nonlocal version
        changes, version = replaced(state, given, expected)
        return changes

    await session.revise(change)
    return version
