"""Shows a turn on a terminal, or in a pipe, while it runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.events import Event
from rich.cells import cell_len
from rich.console import Console

from oda.agent.notices import is_notice
from oda.agent.outcome import TurnOutcome
from oda.agent.resume import text_of
from oda.cli.diff_view import view
from oda.cli.narration import (
    discards_partial,
    notes_of,
    one_line,
    output_of,
    printable,
    question_of,
)
from oda.cli.state_diff import Change


class Screen:
    """Writes the text of answers to one stream as it arrives, and notes about it to another.

    Args:
        text: Stream for answers; None to discard them.
        notes: Stream for retries, tool calls and errors.
    """

    def __init__(self, text: Console | None, notes: Console) -> None:
        self._text = text
        self._notes = notes
        self._partial = ""
        """The part of a text shown so far whose complete event has not arrived yet."""
        self._prints = False
        """Whether the current line has been started by the output of a tool."""

    def show(self, event: Event) -> None:
        """Show one event of a turn."""
        if discards_partial(event):
            self._discard()
        text = "" if is_notice(event) or event.author == "user" else text_of(event)
        if text and self._prints:
            self._break_line()
        if text and event.partial:
            self._write(text)
            self._partial += text
        elif text:
            self._complete(text)
        for note in notes_of(event):
            self.note(note)
        if output := output_of(event):
            self._print(output)

    def end(self, outcome: TurnOutcome) -> None:
        """Show how the turn ended, unless its text says so."""
        self._break_line()
        if outcome.error:
            self.error(f"{outcome.error['code']}: {outcome.error['message']}")
        elif outcome.status == "cancelled":
            self.note("cancelled")

    def waiting(self, asked: Mapping[str, Any]) -> None:
        """Show a question whose addressee is not present."""
        self.note(f"waits: {question_of(asked)}")

    def changed(self, name: str, changes: Sequence[Change]) -> None:
        """Show what has become of a document of the session, if anything has."""
        if changes:
            self.note(f"{one_line(name)}:")
            for line in view(changes, self._notes):
                self._notes.print(line, soft_wrap=True)

    def note(self, line: str) -> None:
        """Say something about the turn."""
        self._break_line()
        self._notes.out(line, style="dim", highlight=False)

    def error(self, line: str) -> None:
        """Say why there is no answer."""
        self._break_line()
        self._notes.out(one_line(f"error: {line}"), style="red", highlight=False)

    def _print(self, output: str) -> None:
        """Show what a tool prints, piece by piece."""
        if not self._prints:
            self._break_line()
        self._notes.out(printable(output), style="dim", highlight=False, end="")
        self._prints = not output.endswith("\n")

    def _complete(self, text: str) -> None:
        shown, self._partial = self._partial, ""
        if not text.startswith(shown):
            self._erase(shown)
            shown = ""
        self._write(text[len(shown) :] + "\n")

    def _discard(self) -> None:
        shown, self._partial = self._partial, ""
        self._erase(shown)

    def _erase(self, shown: str) -> None:
        """Take text back: from a terminal for real, elsewhere by saying so."""
        if not shown or self._text is None:
            return
        rows = _rows(printable(shown), self._text.width)
        if self._text.is_terminal and rows <= self._text.height:
            up = f"\x1b[{rows - 1}A" if rows > 1 else ""
            self._raw(f"\r{up}\x1b[J")
        else:
            self._raw("\n")
            self._notes.out("(the text above is discarded)", style="dim", highlight=False)

    def _break_line(self) -> None:
        if self._prints:
            self._prints = False
            self._notes.out("")
        if self._partial:
            self._write("\n")
            self._partial = ""

    def _write(self, text: str) -> None:
        if self._text is not None:
            self._raw(printable(text) if self._text.is_terminal else text)

    def _raw(self, text: str) -> None:
        if self._text is not None:
            self._text.file.write(text)
            self._text.file.flush()


def _rows(text: str, width: int) -> int:
    """How many rows of a terminal the text takes, the one with the cursor included."""
    return sum(max(1, math.ceil(cell_len(line) / width)) for line in text.split("\n"))
