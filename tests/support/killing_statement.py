"""A server process kills itself around the commit of a statement that says certain words.

A file that `ODA_TEST_KILL` names arms it: its JSON tells the words, and whether the commit is made
before. The hit takes the file away, so the next process lives. An agents module calls `listen`.
"""

import os
import signal
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, Engine, event

ARMED_BY = "ODA_TEST_KILL"
_MARK = "killing_statement"


class Kill(BaseModel, frozen=True):
    """Where to die."""

    words: tuple[str, ...]
    """All in the statement or its parameters."""
    committed: bool
    """Whether what it has written is kept."""

    def arm(self, file: Path) -> None:
        """Leave it for the next process that comes there."""
        draft = file.with_suffix(".draft")
        draft.write_text(self.model_dump_json())
        draft.rename(file)


def listen() -> None:
    """Look at the statements of all databases of this process."""
    event.listen(Engine, "before_cursor_execute", _before_statement)
    event.listen(Engine, "commit", _before_commit)
    event.listen(Engine, "rollback", lambda connection: connection.info.pop(_MARK, None))


def _before_statement(
    connection: Connection, _: Any, statement: str, parameters: Any, *__: Any
) -> None:
    file = _file()
    if file.is_file():
        kill = Kill.model_validate_json(file.read_text())
        said = f"{statement} {parameters}"
        if all(word in said for word in kill.words):
            connection.info[_MARK] = kill


def _before_commit(connection: Connection) -> None:
    kill: Kill | None = connection.info.pop(_MARK, None)
    if kill is None:
        return
    if kill.committed:
        raw: Any = connection.connection
        raw.commit()
    _file().unlink(missing_ok=True)
    os.kill(os.getpid(), signal.SIGKILL)


def _file() -> Path:
    return Path(os.environ.get(ARMED_BY) or os.devnull)
