"""Ids of the OpenAI face, which say what they stand for, so that nothing has to be remembered."""

import re
from dataclasses import dataclass

from oda.errors import NotFoundError

_RESPONSE = re.compile(r"resp_([0-9A-Za-z]{1,64})(?:_([1-9][0-9]{0,8}))?")
_QUESTION = re.compile(r"(?:call|mcpr)_([0-9A-Za-z]{1,64})\.(.{1,256})", re.DOTALL)
_TURN = "turn_"


class ResponseNotFoundError(NotFoundError):
    """Raised when there is no such response, or it is another user's."""

    code = "response_not_found"


@dataclass(frozen=True)
class ResponseId:
    """A turn, from its beginning or from an answer to it on, until it ends or asks a person."""

    turn_id: str
    after: int = 0
    """Number of the log entry after which the response begins: the one that has asked."""

    def __str__(self) -> str:
        return f"resp_{self.base}"

    @property
    def base(self) -> str:
        """The part that the ids of the response's items share."""
        turn = self.turn_id.removeprefix(_TURN)
        return f"{turn}_{self.after}" if self.after else turn

    @classmethod
    def parse(cls, text: str) -> "ResponseId":
        """Read a response's id.

        Raises:
            ResponseNotFoundError: it is none of ours.
        """
        found = _RESPONSE.fullmatch(text)
        if found is None:
            raise ResponseNotFoundError(f"There is no response {text[:100]!r}.")
        return cls(f"{_TURN}{found[1]}", int(found[2] or 0))


@dataclass(frozen=True)
class QuestionId:
    """A question of a turn: a call that waits for the client's result or a person's approval."""

    turn_id: str
    question: str

    def __str__(self) -> str:
        return f"{self.turn_id.removeprefix(_TURN)}.{self.question}"

    @property
    def of_call(self) -> str:
        return f"call_{self}"

    @property
    def of_approval(self) -> str:
        return f"mcpr_{self}"

    @classmethod
    def parse(cls, text: str) -> "QuestionId":
        """Read a `call_id` or an `approval_request_id`.

        Raises:
            NotFoundError: it is none of ours.
        """
        found = _QUESTION.fullmatch(text)
        if found is None:
            raise NotFoundError(f"Nothing waits for an answer under {text[:100]!r}.")
        return cls(f"{_TURN}{found[1]}", found[2])
