"""`oda run`: one message, one answer."""

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from oda.cli.conversation import Ended, open_conversation
from oda.cli.exit_code import ExitCode
from oda.cli.screen import Screen
from oda.cli.terminal import load_settings
from oda.errors import NotConfiguredError


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

    Raises: as `open_conversation`, and
        InvalidRequestError: the message is empty.
        NotConfiguredError: the agent needs a model, and none is configured.
    """
    stream = stream and not as_json
    screen = Screen(Console() if stream else None, Console(stderr=True, highlight=False))
    settings = load_settings(agents_dir=agents_dir)
    with open_conversation(
        settings, agent, screen, user=user, session_id=session_id
    ) as conversation:
        ended = conversation.say(message, stream=stream)
        for asked in ended.turn.pending_input:
            screen.waiting(asked)
        if as_json:
            print(json.dumps(_as_json(ended)))
        elif not (stream or ended.needs_model) and ended.turn.reply:
            print(ended.turn.reply)
    sys.stdout.flush()
    if ended.needs_model:
        raise NotConfiguredError(
            "no model is configured, and rules could not answer",
            remedy="set ODA_MODEL, for example to openai/gpt-4o or gemini-2.5-flash, and the "
            "provider's key",
        )
    return ExitCode.of_turn(ended.outcome.status)


def _as_json(ended: Ended) -> dict[str, Any]:
    shown = {"session_id", "turn_id", "status", "reply", "error", "pending_input"}
    return {
        **ended.turn.model_dump(mode="json", include=shown),
        "events": [
            event.model_dump(mode="json", by_alias=True, exclude_none=True)
            for event in ended.events
        ],
    }
