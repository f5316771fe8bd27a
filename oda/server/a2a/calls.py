"""What a request of A2A asks of the engine: begin or answer a turn, read one, follow one."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from a2a import types as a2a
from starlette.requests import Request

from oda.context import OdaContext
from oda.errors import ConflictError, InvalidRequestError, NotFoundError, TurnNotFoundError
from oda.server.a2a.decoder import answers_in, check_key, context_of, submitted
from oda.server.a2a.encoder import File, TaskUpdates, Update, files_in, saved_in, task_of
from oda.server.a2a.parts import written_parts
from oda.server.audit import audit_answers
from oda.server.idempotency import key_of_request
from oda.server.v1.submission import to_submission
from oda.session.oda_session import OdaSession
from oda.turn.log import Entry
from oda.turn.record import Turn
from oda.turn.rows import StoredTurn, key_of


@dataclass(frozen=True)
class Begun:
    """A turn that a message has begun, or gone on with."""

    turn: Turn
    task: a2a.Task
    """The turn as it is, or was when the message was taken."""
    after: int
    """Number of the last entry of its log that the task includes."""


@dataclass(frozen=True)
class Call:
    """A request of a user to an app."""

    oda: OdaContext
    app: str
    user_id: str
    request: Request
    url: str
    """Where the app is served."""
    is_open: bool
    """Whether the server needs no credential."""

    async def begin(self, asked: a2a.SendMessageRequest) -> Begun:
        """Submit a message, or answer the task that it names.

        Raises:
            SessionNotFoundError, TurnNotFoundError: the user has no such context or task.
            ConflictError: the task does not wait for an answer.
            InvalidRequestError: the message is malformed, or its id was used with another one.
        """
        message = asked.message
        if message.task_id:
            return await self._answer(message)
        body = submitted(asked)
        session = await self._session_of(message)
        submission = await to_submission(
            self.oda, session, body, streamed=True, idempotency_key=message.message_id
        )
        accepted = await self.oda.turns.submit(session, submission)
        if accepted.replayed:
            return await self.now(accepted.turn.turn_id)
        task = task_of(accepted.turn, submission.message)
        return Begun(accepted.turn, task, after=1 if accepted.turn.status == "queued" else 2)

    async def _session_of(self, message: a2a.Message) -> OdaSession:
        sessions = self.oda.sessions
        if message.context_id:
            return await sessions.get(self.app, self.user_id, message.context_id)
        return await sessions.get_or_create(self.app, self.user_id, context_of(message))

    async def _answer(self, message: a2a.Message) -> Begun:
        stored = await self._stored(message.task_id)
        turn = stored.turn
        if message.context_id and message.context_id != turn.session_id:
            raise InvalidRequestError("contextId: is not that of the task")
        check_key(message.message_id)
        fields = {"task": turn.turn_id, "parts": [*written_parts(message.parts)]}
        key = key_of_request(message.message_id, f"a2a/{self.app}/{turn.session_id}", fields)
        if await self.oda.turns.is_answered(turn, key):
            return await self.now(turn.turn_id)
        waits = turn.status == "waiting_input"
        answers = answers_in(message, turn.pending_input) if waits else []
        audit_answers(self.request.scope, [(one, confirmed) for one, confirmed, _ in answers])
        seen = await self.oda.turns.answer(turn.turn_id, answers, self.user_id, key=key)
        queued = turn.model_copy(update={"status": "queued"})
        files = await self._files(turn, await self._entries(turn, seen))
        return Begun(queued, task_of(queued, stored.input.message, files), seen)

    async def turn(self, task_id: str) -> Turn:
        """Return the turn that is a task.

        Raises:
            TurnNotFoundError: the user has no such task with this app.
        """
        return (await self._stored(task_id)).turn

    async def now(self, task_id: str) -> Begun:
        """Return a task as it is now.

        Raises: as `turn`.
        """
        stored = await self._stored(task_id)
        files = await self._files(stored.turn, await self._entries(stored.turn, stored.last))
        return Begun(stored.turn, task_of(stored.turn, stored.input.message, files), stored.last)

    async def listed(self, turn: Turn, *, with_files: bool) -> a2a.Task:
        """Return a turn as a task in a list, without its message."""
        entries = await self.oda.turns.entries(turn.turn_id) if with_files else ()
        return task_of(turn, files=await self._files(turn, entries))

    async def updates(self, begun: Begun) -> AsyncGenerator[Update, None]:
        """Yield what happens to a task until it ends, or waits for the client."""
        if begun.task.status.state == a2a.TaskState.TASK_STATE_INPUT_REQUIRED or begun.turn.final:
            return
        turn_id = begun.turn.turn_id
        follower = self.oda.turns.follow(turn_id, begun.after)
        updates = TaskUpdates(begun.turn)
        while not follower.ended:
            for entry in await follower.read():
                if isinstance(entry, Entry):
                    for update in updates.of(entry, await self._files(begun.turn, [entry])):
                        yield update
        if not updates.ended:
            for update in updates.became(await self.oda.turns.get(turn_id)):
                yield update

    async def _stored(self, task_id: str) -> StoredTurn:
        stored = await self.oda.turns.stored(task_id, self.user_id)
        if stored.turn.app != self.app:
            raise TurnNotFoundError(f"There is no turn {task_id!r}.")
        return stored

    async def _entries(self, turn: Turn, last: int) -> Sequence[Entry]:
        entries = await self.oda.turns.entries(turn.turn_id)
        return [entry for entry in entries if entry.number <= last]

    async def _files(self, turn: Turn, entries: Sequence[Entry]) -> list[File]:
        """Return the files that were made, with their contents; those that are gone are not."""
        files: list[File] = []
        for entry in entries:
            files += files_in(entry)
            for name, version in saved_in(entry).items():
                with suppress(NotFoundError, ConflictError, InvalidRequestError):
                    session = await self.oda.sessions.get(*key_of(turn))
                    part = await session.artifacts.load_part(name, version)
                    files.append(File(name, name, part))
        return files
