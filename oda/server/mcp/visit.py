"""One request of an MCP client, and what it begins before anything is streamed."""

import json
import re
import uuid
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from oda.agent.definition import Definition
from oda.context import OdaContext
from oda.errors import ConflictError, SessionNotFoundError
from oda.orchestration.orchestrator import Orchestrator
from oda.server.audit import audit_answers
from oda.server.conversations import AppConversations
from oda.server.idempotency import key_of_request
from oda.server.mcp.peer import Peer
from oda.server.mcp.questions import answer_of, question_of
from oda.server.mcp.tools import ANSWER, ASK, AnyStep, Ask, GiveAnswer
from oda.session.answers import Answer
from oda.session.oda_session import OdaSession
from oda.turn.record import Turn

_MADE_HERE = re.compile(r"[0-9a-f]{32}")
"""Ids of sessions that clients have not named themselves."""

Dismissed = MutableMapping[tuple[str, str], bool]
"""Questions, by turn and id, that users of this process's clients do not want to answer now."""

AnyModel = TypeVar("AnyModel", bound=BaseModel)


@dataclass(frozen=True)
class Begun:
    """A turn whose end a request waits for."""

    turn_id: str
    after: int = 0
    """Number of the last entry of its log that the client need not hear of."""
    dismissed: bool = False
    """Whether the user does not want to be asked again now."""


@dataclass
class Visit:
    """A request, who has sent it, and to which app."""

    request: Request
    oda: OdaContext
    conversations: AppConversations
    definition: Definition
    peer: Peer | None
    dismissed: Dismissed
    message: Mapping[str, Any] = field(default_factory=dict)
    """The JSON-RPC message; empty where there is none."""
    begun: Begun | None = None
    arguments: BaseModel | None = None
    """Of the step that is called."""

    @property
    def app(self) -> str:
        return self.conversations.app

    @property
    def steps(self) -> Sequence[AnyStep]:
        """The steps of an app that is an orchestrator; none has the name of another tool."""
        root = self.definition.app.root_agent
        steps = root.steps if isinstance(root, Orchestrator) else ()
        return [step for step in steps if step.name not in (ASK, ANSWER)]

    @property
    def call(self) -> Mapping[str, Any] | None:
        """The parameters of a tool call; None for any other message."""
        params = self.message.get("params")
        is_call = self.message.get("method") == "tools/call" and "id" in self.message
        return params if is_call and isinstance(params, Mapping) else None

    async def begin(self) -> None:
        """Begin what a tool call asks for: what is refused is refused before the stream.

        Raises:
            RequestValidationError: the arguments are wrong (422).
            OdaError: as `AppConversations.accept` and `TurnEngine.answer`.
        """
        if (call := self.call) is None:
            return
        name, arguments = call.get("name"), call.get("arguments")
        given = arguments if isinstance(arguments, Mapping) else {}
        state = call.get("requestState")
        if name in (ASK, ANSWER) and isinstance(state, str):
            responses = call.get("inputResponses")
            self.begun = await self._retried(
                state, responses if isinstance(responses, Mapping) else {}
            )
        elif name == ASK:
            self.begun = await self._ask(_valid(Ask, given))
        elif name == ANSWER:
            self.begun = await self._answer(_valid(GiveAnswer, given))
        elif step := next((one for one in self.steps if one.name == name), None):
            self.arguments = _valid(step.request, given)

    async def answered(self, turn: Turn, answers: Sequence[Answer]) -> Begun:
        """Give the turn a person's answers."""
        audit_answers(self.request.scope, [(id_, confirmed) for id_, confirmed, _ in answers])
        user = self.conversations.user_id
        seen = await self.oda.turns.answer(turn.turn_id, answers, user)
        return Begun(turn.turn_id, after=seen)

    async def _ask(self, ask: Ask) -> Begun:
        name = ask.idempotency_key or self._key
        session = await self._session(ask.session_id, name)
        fields = ask.model_dump(mode="json", exclude={"idempotency_key"})
        key = key_of_request(name, f"mcp/{self.app}", fields)
        accepted = await self.conversations.accept(session, ask.message, key=key)
        return Begun(accepted.turn.turn_id)

    async def _session(self, session_id: str | None, key: str | None) -> OdaSession:
        """Return a session of the user's, or begin one; an id that we have made begins none."""
        if session_id is None and key is not None:
            named = "\n".join(("mcp", self.app, self.conversations.user_id, key))
            session_id = uuid.uuid5(uuid.NAMESPACE_OID, named).hex
        elif session_id is not None and _MADE_HERE.fullmatch(session_id):
            if (found := await self.conversations.find(session_id)) is None:
                raise SessionNotFoundError(
                    f"There is no session {session_id!r}.", remedy="leave session_id out"
                )
            return found
        return (await self.conversations.get_or_begin(session_id))[0]

    @property
    def _key(self) -> str | None:
        """The key of a request of a client that has shaken hands, whose ids are unique."""
        if self.peer is None:
            return None
        return f"{self.peer.name}/{json.dumps(self.message.get('id'))}"[:255]

    async def _answer(self, answer: GiveAnswer) -> Begun:
        turn = await self.conversations.turn(answer.turn_id)
        given = answer.given(turn)
        return await self.answered(turn, given) if given else Begun(turn.turn_id)

    async def _retried(self, turn_id: str, responses: Mapping[str, Any]) -> Begun:
        """Go on with a call that was given back to the client with questions for its user."""
        turn = await self.conversations.turn(turn_id)
        questions = [question_of(asked) for asked in turn.pending_input]
        found = [
            answer_of(question, response)
            for question in questions
            if isinstance(response := responses.get(question.id), Mapping)
        ]
        if not (given := [answer for answer in found if answer is not None]):
            return Begun(turn_id, dismissed=bool(found))
        try:
            return await self.answered(turn, given)
        except ConflictError:  # answered at the same time, or before this repetition
            return Begun(turn_id)


def _valid(model: type[AnyModel], arguments: Mapping[str, Any]) -> AnyModel:
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        wrong = error.errors(include_context=False, include_input=False, include_url=False)
        raise RequestValidationError(
            [{**one, "loc": ("arguments", *one["loc"])} for one in wrong]
        ) from None
