"""`oda chat`: a conversation on the terminal, or line by line from a pipe."""

import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from oda.agent.outcome import INPUT, OpenQuestion
from oda.cli.chat_files import ChatFiles
from oda.cli.conversation import Conversation, Ended, open_conversation
from oda.cli.exit_code import ExitCode
from oda.cli.narration import message_of, question_of
from oda.cli.screen import Screen
from oda.cli.terminal import load_settings
from oda.errors import ConflictError, OverloadedError, TurnNotFoundError
from oda.session.answers import CONFIRMATION, Answer
from oda.turn.budget import GRANT

_YES = frozenset({"y", "yes", "是"})
_NO = frozenset({"n", "no", "否"})


def chat(
    agent: str, *, session_id: str | None, user: str | None, agents_dir: Path | None
) -> ExitCode:
    """Chat until the person leaves or the input ends.

    An existing session is resumed: an interrupted turn is finished first, and open questions are
    asked again.

    Raises: as `open_conversation`.
    """
    console = Console(highlight=False)
    screen = Screen(console, console)
    settings = load_settings(agents_dir=agents_dir)
    with open_conversation(
        settings, agent, screen, user=user, session_id=session_id
    ) as conversation:
        print(f"session {conversation.session_id}", file=sys.stderr)
        talk = _Talk(conversation, screen, stream=console.is_terminal)
        if session_id:
            talk.catch_up()
        talk.go_on()
    if sys.stdin.isatty():
        return ExitCode.OK
    return talk.code or (ExitCode.WAITING if talk.waits else ExitCode.OK)


class _Talk:
    """The exchange with a person: their messages, and the questions asked in between."""

    def __init__(self, conversation: Conversation, screen: Screen, *, stream: bool) -> None:
        self.code = ExitCode.OK
        """That of the first message that was not answered."""
        self.waits = False
        """Whether the last turn, or one that was left open, waits for a person."""
        self._conversation = conversation
        self._screen = screen
        self._stream = stream
        self._files = ChatFiles(conversation, screen)
        self._asked: deque[tuple[str | None, Sequence[OpenQuestion]]] = deque()
        """Questions by turn; those without one were asked by a host application."""

    def catch_up(self) -> None:
        """Wait for the turns that have not ended, and take up the questions of those that wait."""
        self._asked.clear()
        unfinished = self._conversation.unfinished()
        for stored in unfinished:
            if stored.turn.status == "waiting_input":
                self._note(stored.turn.turn_id, stored.turn.pending_input)
            else:
                said = message_of(stored.input.message)
                self._screen.note(f"not ended yet: {said or 'the turn that you have answered'}")
                self._ended(self._conversation.follow(stored))
        if not unfinished and (asked := self._conversation.asked_outside_of_turns()):
            self._note(None, asked)

    def go_on(self) -> None:
        """Talk until there is nothing more to say."""
        while (ended := self._next()) is not None:
            self._ended(ended)

    def _next(self) -> Ended | None:
        """One more turn, questions first; None at the end of the input."""
        while self._asked:
            turn_id, questions = self._asked[0]
            answers = self._answers(questions)
            if answers is None:
                return None
            self._asked.popleft()
            if not answers:
                continue
            try:
                if turn_id is None:
                    return self._conversation.answer_outside_of_turns(answers, stream=self._stream)
                return self._conversation.answer(turn_id, answers)
            except (ConflictError, TurnNotFoundError) as error:
                self._screen.error(str(error))
                self.waits = False
                self.catch_up()
        while (line := _read_message()) is not None:
            if (done := self._files.carry_out(line)) is not None:
                self.code = self.code or (ExitCode.OK if done else ExitCode.FAILED)
                continue
            try:
                return self._conversation.say(self._files.message(line), stream=self._stream)
            except OverloadedError as error:
                self._screen.error(str(error))
                self.code = self.code or ExitCode.FAILED
        return None

    def _ended(self, ended: Ended) -> None:
        self.waits = False
        for key, changed in ended.changes.items():
            self._screen.changed(key, changed)
        if ended.turn.status == "waiting_input":
            self._note(ended.turn.turn_id, ended.turn.pending_input)
        else:
            self.code = self.code or ExitCode.of_turn(ended.outcome.status)

    def _note(self, turn_id: str | None, questions: Sequence[OpenQuestion]) -> None:
        self.waits = True
        self._asked.append((turn_id, questions))

    def _answers(self, questions: Sequence[OpenQuestion]) -> list[Answer] | None:
        """Return a person's answers to the questions that can be asked here.

        None at the end of the input.
        """
        answers: list[Answer] = []
        for question in questions:
            if question["name"] not in (CONFIRMATION, GRANT, INPUT):
                self._screen.waiting(question)
                continue
            answer = _ask(question, self._screen)
            if answer is None:
                return None
            answers.append(answer)
        return answers


def _ask(question: OpenQuestion, screen: Screen) -> Answer | None:
    text = question_of(question)
    if not sys.stdin.isatty():
        screen.note(text)
    if question["name"] == INPUT:
        given = _read(f"{text} ")
        return None if given is None else (question["id"], None, given)
    while (given := _read(f"{text} [y/n] ")) is not None:
        if given.strip().lower() in _YES | _NO:
            return question["id"], given.strip().lower() in _YES, None
    return None


def _read_message() -> str | None:
    line: str | None = ""
    while line is not None and not line.strip():
        line = _read("> ")
    return line


def _read(prompt: str) -> str | None:
    """One line of a person's, or of the pipe's; None at its end."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None
    import readline  # noqa: F401  (gives `input` its line editing)

    try:
        return input(prompt)
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:
        print()
        raise
