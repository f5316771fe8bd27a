"""The orchestrator `guide` in an `OdaContext`, and what a client gets of its turns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from google.adk.events import Event

from oda import OdaContext
from oda.clock import Clock
from oda.message.reply import Reply
from oda.testing import FakeClock, ModelServer

ORCHESTRATORS = Path(__file__).parent / "orchestrators"
APP = "guide"

Provider = Literal["gemini", "openai"]
"""By whose protocol the model server answers; Gemini's client starts quickest."""


def guide(
    directory: Path,
    *,
    model: ModelServer | None = None,
    provider: Provider = "gemini",
    clock: Clock | None = None,
    **options: Any,
) -> OdaContext:
    """A context, not opened yet, with SQLite in a directory and no waits between attempts."""
    if model is not None and provider == "gemini":
        options |= {"model": "gemini-stub", "model_api_base": model.url}
    elif model is not None:
        options |= {"model": "openai/stub", "model_api_base": model.openai_base}
    return OdaContext.from_settings(
        agents_dir=ORCHESTRATORS,
        data_dir=directory,
        config_dir=directory,
        clock=clock or FakeClock(start=1_800_000_000.0),
        **options,
    )


def response(reply: Reply) -> Mapping[str, Any]:
    """What a client gets of a turn."""
    return _metadata(reply, "oda_response")


def trace(reply: Reply) -> Mapping[str, Any]:
    """How the turn came to that."""
    return _metadata(reply, "oda_orchestration")


def steps_in(events: Sequence[Event]) -> list[str]:
    """The steps whose results are among events, in order, with `!` where a fallback answered."""
    records = [(event.custom_metadata or {}).get("oda_step") for event in events]
    return [f"{one['name']}{'!' * ('fell_back' in one)}" for one in records if one]


def _metadata(reply: Reply, key: str) -> Mapping[str, Any]:
    assert reply.ok, reply.error
    found: Mapping[str, Any] = (reply.events[-1].custom_metadata or {})[key]
    return found
