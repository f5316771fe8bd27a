"""Encoding of turns and their log as tasks and updates of A2A. Pure functions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from a2a import types as a2a
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, Part

from oda.agent.notices import RETRY_ATTEMPT, is_notice
from oda.agent.outcome import OpenQuestion
from oda.message.storable import storable, storable_text
from oda.server.a2a.parts import call_part, part_of, parts_of
from oda.session.answers import CONFIRMATION
from oda.turn.budget import GRANT
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnStatus

STATES: Mapping[TurnStatus, a2a.TaskState] = {
    "queued": a2a.TaskState.TASK_STATE_SUBMITTED,
    "running": a2a.TaskState.TASK_STATE_WORKING,
    "waiting_input": a2a.TaskState.TASK_STATE_INPUT_REQUIRED,
    "succeeded": a2a.TaskState.TASK_STATE_COMPLETED,
    "failed": a2a.TaskState.TASK_STATE_FAILED,
    "cancelled": a2a.TaskState.TASK_STATE_CANCELED,
}
MESSAGE_ID = "a2a_message_id"
"""Metadata of a turn: the id of the client's message."""

Update = a2a.TaskStatusUpdateEvent | a2a.TaskArtifactUpdateEvent


@dataclass(frozen=True)
class File:
    """A file that a turn has made."""

    file_id: str
    """Unique within the turn; a file with the same id takes the place of the one before."""
    name: str
    content: Part

    @property
    def artifact(self) -> a2a.Artifact | None:
        part = part_of(self.content, self.name)
        if part is None:
            return None
        return a2a.Artifact(artifact_id=self.file_id, name=self.name, parts=[part])


def task_of(turn: Turn, said: Content | None = None, files: Iterable[File] = ()) -> a2a.Task:
    """Return a turn as a task.

    Args:
        said: The user's message, or the latest answer.
        files: All that the turn has made, in order.
    """
    latest = {file.file_id: artifact for file in files if (artifact := file.artifact) is not None}
    parts = parts_of(said.parts) if said is not None else []
    return a2a.Task(
        id=turn.turn_id,
        context_id=turn.session_id,
        status=status_of(turn),
        artifacts=[*latest.values()],
        history=[_said_by_user(turn, parts)] if parts else [],
    )


def _said_by_user(turn: Turn, parts: Sequence[a2a.Part]) -> a2a.Message:
    message_id = turn.metadata.get(MESSAGE_ID)
    message = _message(turn, message_id if isinstance(message_id, str) else "user", parts)
    message.role = a2a.Role.ROLE_USER
    if isinstance(message_id, str):
        message.message_id = message_id
    return message


def status_of(turn: Turn) -> a2a.TaskStatus:
    """Return the status of a turn, whose message is the reply, a question, or why it failed."""
    status = a2a.TaskStatus(state=STATES[turn.status], message=_told(turn))
    status.timestamp.FromDatetime(turn.finished_at or turn.started_at or turn.created_at)
    return status


def _told(turn: Turn) -> a2a.Message | None:
    if turn.status == "succeeded" and turn.reply:
        return _message(turn, "reply", [a2a.Part(text=turn.reply)])
    if turn.status == "waiting_input":
        words = dict.fromkeys([turn.reply, *map(_words_of, turn.pending_input)])
        texts = [a2a.Part(text=storable_text(text)) for text in words if text]
        calls = [
            call_part(FunctionCall(id=one["id"], name=one["name"], args=one["args"]), asks=True)
            for one in turn.pending_input
        ]
        return _message(turn, f"question.{turn.attempts}", [*texts, *calls])
    if turn.error is not None:
        metadata = {"code": turn.error.code, "retryable": turn.error.retryable}
        return _message(turn, "error", [a2a.Part(text=turn.error.message)], metadata)
    return None


def _words_of(question: OpenQuestion) -> str:
    args = question["args"]
    if question["name"] == GRANT:
        return f"The limit of {args.get('limit')} is used up. May as much be used again?"
    if question["name"] == CONFIRMATION:
        hint = (args.get("toolConfirmation") or {}).get("hint")
        call = (args.get("originalFunctionCall") or {}).get("name")
        return str(hint or f"May {call} be called?")
    return str(args.get("message") or f"{question['name']} waits for an answer.")


def _message(
    turn: Turn, name: str, parts: Sequence[a2a.Part], metadata: Mapping[str, Any] | None = None
) -> a2a.Message:
    return a2a.Message(
        message_id=f"{turn.turn_id}.{name}",
        task_id=turn.turn_id,
        context_id=turn.session_id,
        role=a2a.Role.ROLE_AGENT,
        parts=parts,
        metadata=storable(dict(metadata)) if metadata else None,
    )


def files_in(entry: Entry) -> Iterator[File]:
    """Yield the files that an agent's message contains."""
    event = entry.data
    if isinstance(event, Event) and not event.partial and event.content:
        for place, part in enumerate(event.content.parts or ()):
            blob = part.inline_data
            if blob is not None and blob.data:
                name = blob.display_name or f"file {entry.number}.{place}"
                yield File(f"{entry.number}.{place}", name, part)


def saved_in(entry: Entry) -> Mapping[str, int]:
    """Return the versions of artifacts that were saved, by name."""
    event = entry.data
    return event.actions.artifact_delta if isinstance(event, Event) else {}


class TaskUpdates:
    """Folds the log of a turn into the updates of its task.

    Texts come when they are complete, and the last one, which is the reply, only as the final
    status, so no text that was sent is withdrawn.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._text: a2a.Message | None = None
        """The latest text, which may be the reply."""
        self.ended = False
        """Whether the task has ended, or waits for the client."""

    def of(self, entry: Entry, files: Iterable[File] = ()) -> list[Update]:
        """Return the updates of the next entry.

        Args:
            files: Those of the entry.
        """
        if isinstance(entry.data, Turn):
            return self.became(entry.data)
        if entry.partial:
            return []
        return [*self._event(entry.number, entry.data), *map(self._file, _artifacts(files))]

    def became(self, turn: Turn) -> list[Update]:
        """Return the updates for a new state of the turn."""
        before = self._spoken() if self._text and not _is_said_by(turn, self._text) else []
        self._text = None
        self.ended = turn.ended
        return [*before, self._status(status_of(turn))]

    def _event(self, number: int, event: Event) -> list[Update]:
        before = self._spoken()
        if is_notice(event):
            return [*before, *self._notice(number, event)]
        asked = event.long_running_tool_ids or ()
        content = (event.content and event.content.parts) or []
        calls = [
            part
            for part in content
            if part.function_response or (part.function_call and part.function_call.id not in asked)
        ]
        texts = parts_of(part for part in content if part.text)
        if calls:
            said = _message(self._turn, str(number), [*texts, *parts_of(calls)], _origin(event))
            return [*before, self._working(said)]
        if texts:
            self._text = _message(self._turn, str(number), texts, _origin(event))
        return before

    def _notice(self, number: int, event: Event) -> list[Update]:
        """An attempt that is made again; how a turn ends is told by its record."""
        if event.error_code != RETRY_ATTEMPT:
            return []
        metadata = {"code": RETRY_ATTEMPT, **(event.custom_metadata or {})}
        text = a2a.Part(text=storable_text(event.error_message or ""))
        return [self._working(_message(self._turn, str(number), [text], metadata))]

    def _spoken(self) -> list[Update]:
        text, self._text = self._text, None
        return [] if text is None else [self._working(text)]

    def _working(self, message: a2a.Message) -> Update:
        return self._status(a2a.TaskStatus(state=STATES["running"], message=message))

    def _status(self, status: a2a.TaskStatus) -> Update:
        return a2a.TaskStatusUpdateEvent(
            task_id=self._turn.turn_id, context_id=self._turn.session_id, status=status
        )

    def _file(self, artifact: a2a.Artifact) -> Update:
        return a2a.TaskArtifactUpdateEvent(
            task_id=self._turn.turn_id,
            context_id=self._turn.session_id,
            artifact=artifact,
            last_chunk=True,
        )


def _artifacts(files: Iterable[File]) -> Iterator[a2a.Artifact]:
    for file in files:
        if (artifact := file.artifact) is not None:
            yield artifact


def _origin(event: Event) -> dict[str, Any]:
    return {"author": event.author}


def _is_said_by(turn: Turn, message: a2a.Message) -> bool:
    """Return whether the record of a turn says the text of a message."""
    return "".join(part.text for part in message.parts) in (turn.reply, storable_text(turn.reply))
