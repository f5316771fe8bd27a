"""Turns and their logs as tasks of A2A: what each entry becomes."""

from datetime import timedelta
from typing import Any

import pytest
from a2a import types as a2a
from google.adk.events import Event, EventActions
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from oda.agent import notices
from oda.agent.failure import Failure
from oda.errors import InvalidRequestError
from oda.server.a2a.decoder import answers_in, submitted
from oda.server.a2a.encoder import File, TaskUpdates, Update, files_in, saved_in, task_of
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnError
from tests.support.turns import START, became, new_turn, spoken

QUEUED = new_turn().model_copy(update={"turn_id": "t"})
RUNNING = became(QUEUED, "running")
ASKED: dict[str, Any] = {
    "id": "c1",
    "name": "adk_request_confirmation",
    "args": {"toolConfirmation": {"hint": "Pay 3?"}},
}


def calls(*names: str, long_running: bool = False) -> Event:
    parts = [Part(function_call=FunctionCall(id=f"id-{n}", name=n, args={"a": 2})) for n in names]
    ids = {f"id-{name}" for name in names} if long_running else None
    content = Content(role="model", parts=parts)
    return Event(author="agent", content=content, long_running_tool_ids=ids)


def results(name: str) -> Event:
    response = FunctionResponse(id=f"id-{name}", name=name, response={"sum": 5})
    return Event(author="agent", content=Content(parts=[Part(function_response=response)]))


def retry(*, discard_partial: bool) -> Event:
    failure = Failure(code="rate_limited", message="slow down", retryable=True, error_type="E")
    return notices.retry_attempt(
        failure,
        invocation_id="t",
        retry=1,
        max_retries=3,
        delay_s=0.5,
        discard_partial=discard_partial,
        timestamp=START.timestamp(),
    )


def log(*things: Turn | Event) -> list[Entry]:
    entries = []
    for number, thing in enumerate(things, 1):
        kind = "event" if isinstance(thing, Event) else "done" if thing.final else "turn"
        entries.append(Entry.of(number, kind, thing))  # type: ignore[arg-type]
    return entries


def told(*things: Turn | Event) -> list[tuple[str, Any]]:
    """State and parts of each update, an artifact with its name."""
    updates = TaskUpdates(QUEUED)
    found = [one for entry in log(*things) for one in updates.of(entry, [*files_in(entry)])]
    return [in_short(update) for update in found]


def in_short(update: Update) -> tuple[str, Any]:
    if isinstance(update, a2a.TaskArtifactUpdateEvent):
        return update.artifact.name, [part.raw or part.text for part in update.artifact.parts]
    state = a2a.TaskState.Name(update.status.state).removeprefix("TASK_STATE_")
    parts = [part.text or MessageToDict(part.data)["name"] for part in update.status.message.parts]
    return state, parts


def test_a_turn_with_a_tool() -> None:
    done = became(RUNNING, "succeeded", reply="Five.")
    assert told(QUEUED, RUNNING, calls("add"), results("add"), spoken("Five."), done) == [
        ("SUBMITTED", []),
        ("WORKING", []),
        ("WORKING", ["add"]),
        ("WORKING", ["add"]),
        ("COMPLETED", ["Five."]),
    ]


def test_texts_before_the_reply_are_told_and_the_reply_once() -> None:
    done = became(RUNNING, "succeeded", reply="Second.")
    assert told(RUNNING, spoken("First."), spoken("Second."), done) == [
        ("WORKING", []),
        ("WORKING", ["First."]),
        ("COMPLETED", ["Second."]),
    ]


def test_thoughts_and_previews_are_not_told() -> None:
    done = became(RUNNING, "succeeded", reply="Yes.")
    hidden = (spoken("hm", thought=True), spoken("Y", partial=True))
    assert told(RUNNING, *hidden, spoken("Yes."), done) == [
        ("WORKING", []),
        ("COMPLETED", ["Yes."]),
    ]


def test_a_retry_is_told_with_its_cause() -> None:
    updates = TaskUpdates(QUEUED)
    (update,) = updates.of(Entry.of(3, "event", retry(discard_partial=True)))
    assert isinstance(update, a2a.TaskStatusUpdateEvent)
    metadata = MessageToDict(update.status.message.metadata)
    assert metadata["code"] == "RETRY_ATTEMPT"
    assert (metadata["attempt"], metadata["delay_s"]) == (1, 0.5)
    assert metadata["discard_partial"] is True
    assert metadata["error"]["code"] == "rate_limited"


def test_a_failure_is_the_final_status() -> None:
    error = TurnError(code="authentication", message="The key is wrong.", retryable=False)
    failed = became(RUNNING, "failed", error=error)
    assert told(RUNNING, spoken("Half."), failed) == [
        ("WORKING", []),
        ("WORKING", ["Half."]),
        ("FAILED", ["The key is wrong."]),
    ]
    message = task_of(failed).status.message
    assert MessageToDict(message.metadata) == {"code": "authentication", "retryable": False}


def test_a_cancelled_turn_has_no_words() -> None:
    assert told(RUNNING, became(RUNNING, "cancelled")) == [("WORKING", []), ("CANCELED", [])]


def test_a_question_is_in_words_and_as_a_call() -> None:
    waiting = became(RUNNING, "waiting_input", pending_input=[ASKED])
    asks = calls("adk_request_confirmation", long_running=True)
    assert told(RUNNING, asks, waiting) == [
        ("WORKING", []),
        ("INPUT_REQUIRED", ["Pay 3?", "adk_request_confirmation"]),
    ]
    _, call = task_of(waiting).status.message.parts
    assert MessageToDict(call.data) == ASKED
    assert MessageToDict(call.metadata) == {
        "adk_type": "function_call",
        "adk_is_long_running": True,
    }


def test_files_are_artifacts() -> None:
    part = Part(inline_data=Blob(data=b"png", mime_type="image/png", display_name="a.png"))
    drawn = Event(author="agent", content=Content(role="model", parts=[part]))
    assert told(drawn) == [("a.png", [b"png"])]
    saved = Event(author="agent", actions=EventActions(artifact_delta={"b.txt": 1}))
    assert saved_in(Entry.of(1, "event", saved)) == {"b.txt": 1}


def test_a_task_has_the_latest_files_and_what_the_user_said() -> None:
    done = became(RUNNING, "succeeded", reply="Done.", at=START + timedelta(seconds=1))
    said = Content(role="user", parts=[Part(text="write")])
    files = [File("b.txt", "b.txt", Part(text=text)) for text in ("old", "new")]
    task = MessageToDict(task_of(done, said, files))
    assert task == {
        "id": "t",
        "contextId": "s",
        "status": {
            "state": "TASK_STATE_COMPLETED",
            "timestamp": "2026-01-01T00:00:01Z",
            "message": {
                "messageId": "t.reply",
                "taskId": "t",
                "contextId": "s",
                "role": "ROLE_AGENT",
                "parts": [{"text": "Done."}],
            },
        },
        "artifacts": [
            {
                "artifactId": "b.txt",
                "name": "b.txt",
                "parts": [{"text": "new", "filename": "b.txt"}],
            }
        ],
        "history": [
            {
                "messageId": "t.user",
                "taskId": "t",
                "contextId": "s",
                "role": "ROLE_USER",
                "parts": [{"text": "write"}],
            }
        ],
    }


def said(*parts: a2a.Part) -> a2a.Message:
    return a2a.Message(message_id="m", role=a2a.Role.ROLE_USER, parts=parts)


def data(value: Any, **metadata: Any) -> a2a.Part:
    from a2a.helpers import new_data_part

    part = new_data_part(value)
    if metadata:
        part.metadata.update(metadata)
    return part


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        (a2a.Part(text="Yes."), ("c1", True, None)),
        (a2a.Part(text="no"), ("c1", False, None)),
        (a2a.Part(text="好的"), ("c1", True, None)),
        (data({"responses": [{"id": "c1", "confirmed": True}]}), ("c1", True, None)),
        (data({"responses": [{"id": "c1", "payload": {"n": 3}}]}), ("c1", None, {"n": 3})),
        (
            data(
                {"id": "c1", "name": ASKED["name"], "response": {"confirmed": False}},
                adk_type="function_response",
            ),
            ("c1", False, None),
        ),
    ],
)
def test_answers_to_a_confirmation(part: a2a.Part, answer: Any) -> None:
    assert answers_in(said(part), [ASKED]) == [answer]  # type: ignore[list-item]


def test_a_text_answers_the_only_question() -> None:
    question: Any = {"id": "c2", "name": "adk_request_input", "args": {}}
    assert answers_in(said(a2a.Part(text="blue")), [question]) == [("c2", None, "blue")]
    cases: tuple[tuple[a2a.Part, list[Any]], ...] = (
        (a2a.Part(text="perhaps"), [ASKED]),
        (a2a.Part(text="yes"), [ASKED, question]),
        (data({"responses": [{"confirmed": True}]}), [ASKED]),
        (data({"responses": 3}), [ASKED]),
    )
    for part, asked in cases:
        with pytest.raises(InvalidRequestError):
            answers_in(said(part), asked)


def test_parts_of_a_message_are_a_users() -> None:
    parts = (
        a2a.Part(text="look"),
        a2a.Part(raw=b"png", media_type="image/png", filename="a.png"),
        a2a.Part(url="https://example.com/b.pdf"),
        data({"n": 3}),
    )
    request = a2a.SendMessageRequest(message=said(*parts))
    request.metadata.update({"from": "tests"})
    body = submitted(request)
    assert body.message == {
        "parts": [
            {"text": "look"},
            {"inlineData": {"mimeType": "image/png", "data": "cG5n", "displayName": "a.png"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/b.pdf"}},
            {"text": '{"n": 3}'},
        ]
    }
    assert body.metadata == {"from": "tests", "a2a_message_id": "m"}
    for wrong in (said(a2a.Part(text=" ")), a2a.Message(message_id="m\n", parts=parts)):
        with pytest.raises(InvalidRequestError):
            submitted(a2a.SendMessageRequest(message=wrong))
