"""An agent on another server, spoken to by A2A. Needs the extra `a2a`."""

import warnings
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import httpx
from google.adk.events import Event
from pydantic import JsonValue

from oda.adapter.adk import AdkAgent
from oda.adapter.adk_events import messages_of
from oda.adapter.http_failures import TIMEOUT_S, Failures, noting, noting_client
from oda.adapter.protocol import AgentMessage
from oda.agent.failure import ModelReportedError
from oda.errors import ConfigurationError

try:
    from a2a.types import AgentCard
    from google.adk.agents.remote_a2a_agent import (
        A2A_METADATA_PREFIX,
        AGENT_CARD_WELL_KNOWN_PATH,
        RemoteA2aAgent,
    )
except ImportError as error:
    raise ConfigurationError(
        "RemoteAgent needs the A2A SDK, which is not installed.", remedy="pip install 'oda[a2a]'"
    ) from error

_RESPONSE = A2A_METADATA_PREFIX + "response"
_REQUEST = A2A_METADATA_PREFIX + "request"
_FAILED = {"FAILED": "UNKNOWN_ERROR", "REJECTED": "REJECTED", "CANCELED": "CANCELED"}
"""Task states that are a failure, as error codes; only the first is worth another try."""
_UNDER_WAY = frozenset({"SUBMITTED", "WORKING"})


class RemoteAgent(AdkAgent):
    """A remote A2A agent.

    The conversation is kept by the remote agent; the exported state holds the id under which it
    does so, and the latest events. Texts come in pieces if the remote agent sends its answer so;
    what it tells while it works comes as `progress`, its calls of tools as far as it tells them. A
    question (`input-required`) is answered by `confirmed` or by a text.

    Failures are raised as what they are: of the network, an HTTP status, or what the remote agent
    says of a task that has failed. A message whose answer was cut off is sent again when the call
    is made again.

    Args:
        card: URL of the agent or of its card, path of a card's file, or the card. ADK takes
            addresses with https, and with http those of this machine.
        name: Of the agent here: an identifier.
        http: What requests are made with, to share it between objects; `noting_client` makes one.
            By default each object has its own, closed by `aclose`. Of other clients, failures are
            known in words only.
        timeout_s: Without any byte of an answer.
        headers: Sent with each request, such as `Authorization`; not with an own `http`.
        options: Of `AdkAgent`.
    """

    _is_metered = False

    def __init__(
        self,
        card: str | AgentCard,
        *,
        name: str,
        description: str = "",
        http: httpx.AsyncClient | None = None,
        timeout_s: float = TIMEOUT_S,
        headers: Mapping[str, str] | None = None,
        max_events: int = 20,
        **options: Any,
    ) -> None:
        self._own = noting_client(timeout_s=timeout_s, headers=headers) if http is None else None
        _keep_quiet()
        agent = RemoteA2aAgent(
            name=name,
            agent_card=_card_url(card) if isinstance(card, str) else card,
            description=description,
            httpx_client=http or self._own,
        )
        super().__init__(agent, max_events=max_events, **options)
        self._failures: Failures = []

    async def aclose(self) -> None:
        """Close the connections that are the object's own."""
        if self._own is not None:
            await self._own.aclose()

    def _surroundings(self) -> AbstractContextManager[None]:
        self._failures = []
        return noting(self._failures)

    def _messages(self, event: Event) -> Iterable[AgentMessage]:
        under_way = _task_state(event) in _UNDER_WAY
        for message in messages_of(event):
            is_progress = under_way and message.kind == "thought"
            yield message.model_copy(update={"kind": "progress"}) if is_progress else message

    def _failure(self, event: Event) -> Exception | None:
        if (code := _FAILED.get(_task_state(event))) is not None:
            parts = (event.content and event.content.parts) or ()
            words = " ".join(part.text for part in parts if part.text) or event.error_message
            return ModelReportedError(code, words or "The remote agent has failed.")
        if event.error_message and self._failures:
            return self._failures[-1]
        return super()._failure(event)

    def _stored(self, event: Event) -> dict[str, JsonValue]:
        """Drop the copies of requests and responses: ADK only reads the state in them."""
        metadata = dict(event.custom_metadata or {})
        metadata.pop(_REQUEST, None)
        if response := metadata.get(_RESPONSE):
            metadata[_RESPONSE] = {"status": {"state": response.get("status", {}).get("state")}}
        return super()._stored(event.model_copy(update={"custom_metadata": metadata or None}))


def _keep_quiet() -> None:
    """ADK warns of its A2A parts being experimental wherever one is used, on the way, too."""
    warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\].*A2A support", UserWarning)


def _card_url(card: str) -> str:
    if not card.startswith(("http://", "https://")) or card.endswith(".json"):
        return card
    return card.rstrip("/") + AGENT_CARD_WELL_KNOWN_PATH


def _task_state(event: Event) -> str:
    """Return the state of the remote task as in A2A 1.x, without its prefix.

    Empty if there is none.
    """
    response = (event.custom_metadata or {}).get(_RESPONSE) or {}
    state = str((response.get("status") or {}).get("state") or "")
    return state.upper().replace("-", "_").removeprefix("TASK_STATE_")
