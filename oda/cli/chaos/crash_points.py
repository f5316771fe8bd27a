"""Points of a turn at which a process kills itself, reached from SQLAlchemy's events.

A file that `ODA_TEST_CRASH` names arms them: it holds a `Crash` and is taken away by the hit, so
the next process lives. An agent of a test may `reach` the points around its model and its tools.
"""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from psycopg.types.json import Json, Jsonb
from pydantic import BaseModel
from sqlalchemy import Connection, Engine, event

ARMED_BY = "ODA_TEST_CRASH"

Point = Literal[
    "accepting",
    "accepted",
    "message_storing",
    "message_stored",
    "model_called",
    "model_streaming",
    "failure_storing",
    "failure_stored",
    "call_storing",
    "call_stored",
    "intent_storing",
    "intent_stored",
    "in_tool",
    "after_effect",
    "outcome_storing",
    "outcome_stored",
    "result_storing",
    "result_stored",
    "answer_storing",
    "answer_stored",
    "finishing",
    "finished",
]
"""In the order of a turn that calls a tool. `…ing` is before a commit, its partner right after it.

`failure` is the error event of an attempt that failed; `intent` and `outcome` are the tool
ledger's; `message`, `call`, `result` and `answer` are the session's events.
"""
FAILURES: frozenset[Point] = frozenset({"failure_storing", "failure_stored"})
"""Only a turn in which a model fails comes to them."""
OF_AGENTS: frozenset[Point] = frozenset(
    {"model_called", "model_streaming", "in_tool", "after_effect"}
)
"""Only agents that call `reach` come to them."""
POINTS: tuple[Point, ...] = tuple(point for point in get_args(Point) if point not in FAILURES)

AFTER_COMMIT: dict[Point, Point] = {
    "accepting": "accepted",
    "message_storing": "message_stored",
    "failure_storing": "failure_stored",
    "call_storing": "call_stored",
    "intent_storing": "intent_stored",
    "outcome_storing": "outcome_stored",
    "result_storing": "result_stored",
    "answer_storing": "answer_stored",
    "finishing": "finished",
}
_MARKS = "crash_points"
_one_at_a_time = threading.Lock()
"""Tools and drivers of databases have threads of their own."""


class Crash(BaseModel, frozen=True):
    """Where to die, and at which time of coming there."""

    point: Point
    times: int = 1

    def arm(self, file: Path) -> None:
        """Leave it for the next process that comes there."""
        draft = file.with_suffix(".draft")
        draft.write_text(self.model_dump_json())
        draft.rename(file)


def reach(point: Point) -> None:
    """Kill the own process if the point is armed and this is the time."""
    if file := _armed(point):
        _die(file)


def _armed(point: Point) -> Path | None:
    """The arming file, when the process is to die here and now."""
    file = Path(os.environ.get(ARMED_BY) or os.devnull)
    with _one_at_a_time:
        if not file.is_file():
            return None
        crash = Crash.model_validate_json(file.read_text())
        if crash.point != point:
            return None
        if crash.times > 1:
            Crash(point=point, times=crash.times - 1).arm(file)
            return None
        return file


def _die(file: Path) -> None:
    file.unlink()
    os.kill(os.getpid(), signal.SIGKILL)


def listen() -> None:
    """Reach points around the commits of all databases of this process, if it may be told to."""
    if ARMED_BY not in os.environ:
        return
    event.listen(Engine, "before_cursor_execute", _before_statement)
    event.listen(Engine, "commit", _before_commit)
    event.listen(Engine, "rollback", _forget)


def _before_statement(
    connection: Connection, _: Any, statement: str, parameters: Any, *__: Any
) -> None:
    marks: set[Point] = connection.info.setdefault(_MARKS, set())
    marks.update(_marks(" ".join(statement.split()), parameters))


def _before_commit(connection: Connection) -> None:
    marks: set[Point] = connection.info.pop(_MARKS, set())
    for point in get_args(Point):
        if point not in marks:
            continue
        reach(point)
        after = AFTER_COMMIT.get(point)
        if after is not None and (file := _armed(after)):
            raw: Any = connection.connection
            raw.commit()
            _die(file)


def _forget(connection: Connection) -> None:
    if not connection.invalidated:  # then its `info` cannot be read, and is gone with it
        connection.info.pop(_MARKS, None)


def _marks(statement: str, parameters: Any) -> Iterator[Point]:
    if statement.startswith("INSERT INTO oda_turns "):
        yield "accepting"
    elif statement.startswith("INSERT INTO oda_turn_entries"):
        if "done" in _values(parameters):
            yield "finishing"
    elif statement.startswith("INSERT INTO oda_tool_calls"):
        yield "intent_storing"
    elif statement.startswith("UPDATE oda_tool_calls"):
        yield "outcome_storing"
    elif statement.startswith("INSERT INTO events"):
        yield from _marks_of_event("".join(map(_text, _values(parameters))).replace(" ", ""))


def _marks_of_event(stored: str) -> Iterator[Point]:
    if '"error_code"' in stored:
        yield "failure_storing"
    elif "function_response" in stored:
        yield "result_storing"
    elif "function_call" in stored:
        yield "call_storing"
    elif '"role":"model"' in stored:
        yield "answer_storing"
    elif '"role":"user"' in stored:
        yield "message_storing"


def _text(value: Any) -> str:
    """A value as text; psycopg wraps what becomes JSON."""
    return json.dumps(value.obj) if isinstance(value, Json | Jsonb) else str(value)


def _values(parameters: Any) -> Iterator[Any]:
    """The values of one or many rows, given by name or by position."""
    if isinstance(parameters, dict):
        yield from parameters.values()
    elif isinstance(parameters, list | tuple):
        for item in parameters:
            if isinstance(item, dict | list | tuple):
                yield from _values(item)
            else:
                yield item
