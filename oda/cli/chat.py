"""`oda chat`: a conversation on the terminal, or line by line from a pipe."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from oda.agent.outcome import outcome_of
from oda.cli.conversation import Answer, Conversation, open_conversation
from oda.cli.exit_code import ExitCode
from oda.cli.narration import CONFIRMATION, INPUT, question_of
from oda.cli.screen import Screen
from oda.cli.terminal import load_settings
from oda.message.content import Message

_YES = frozenset({"y", "yes", "是"})
_NO = frozenset({"n", "no", "否"})


def chat(
    agent: str, *, session_id: str | None, user: str | None, agents_dir: Path | None
) -> ExitCode:
    """Talk until the person leaves or the input ends.

    Raises: as `open_conversation`.
    """
    console = Console(highlight=False)
    screen = Screen(console, console)
    settings = load_settings(agents_dir=agents_dir)
    with open_conversation(settings, agent, user=user, session_id=session_id) as conversation:
        print(f"session {conversation.session_id}", file=sys.stderr)
        asked = conversation.pending() if session_id else ()
        code = ExitCode.OK
        while (message := _next_message(conversation, asked, screen)) is not None:
            events = conversation.say(message, show=screen.show, stream=console.is_terminal)
            outcome = outcome_of(events)
            screen.end(outcome)
            asked = outcome.pending_input
            if not asked:
                code = code or ExitCode.of_turn(outcome.status)
    if sys.stdin.isatty():
        return ExitCode.OK
    return code or (ExitCode.WAITING if asked else ExitCode.OK)


def _next_message(
    conversation: Conversation, asked: Sequence[dict[str, Any]], screen: Screen
) -> Message | None:
    """What is said next: answers to questions first; None when there is nothing more."""
    answers: list[Answer] = []
    for question in asked:
        if question["name"] not in (CONFIRMATION, INPUT):
            screen.waiting(question)
            continue
        answer = _ask(question, screen)
        if answer is None:
            return None
        answers.append(answer)
    return conversation.answer(answers) if answers else _read_message()


def _ask(question: dict[str, Any], screen: Screen) -> Answer | None:
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
