"""`oda run`: one message, one answer."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.adk.events import Event
from rich.console import Console

from oda.agent.outcome import TurnOutcome, outcome_of
from oda.cli.conversation import open_conversation
from oda.cli.exit_code import ExitCode
from oda.cli.screen import Screen
from oda.cli.terminal import load_settings


def run(
    agent: str,
    message: str,
    *,
    session_id: str | None,
    user: str | None,
    agents_dir: Path | None,
    as_json: bool,
    stream: bool,
) -> ExitCode:
    """Run one turn; only the answer, or the JSON, goes to stdout.

    Raises: as `open_conversation`, and InvalidRequestError for an empty message.
    """
    stream = stream and not as_json
    screen = Screen(Console() if stream else None, Console(stderr=True, highlight=False))
    settings = load_settings(agents_dir=agents_dir)
    with open_conversation(settings, agent, user=user, session_id=session_id) as conversation:
        events = conversation.say(message, show=screen.show, stream=stream)
        outcome = outcome_of(events)
        screen.end(outcome)
        for asked in outcome.pending_input:
            screen.waiting(asked)
        if as_json:
            print(json.dumps(_as_json(conversation.session_id, outcome, events)))
        elif not stream and outcome.reply:
            print(outcome.reply)
    sys.stdout.flush()
    return ExitCode.of_turn(outcome.status)


def _as_json(session_id: str, outcome: TurnOutcome, events: Sequence[Event]) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "status": outcome.status,
        "reply": outcome.reply,
        "error": outcome.error,
        "pending_input": list(outcome.pending_input),
        "events": [
            event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events
        ],
    }
