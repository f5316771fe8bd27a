"""What one turn may use up, and what it has used."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from google.adk.events import Event
from google.genai.types import GenerateContentResponseUsageMetadata
from pydantic import BaseModel, ConfigDict, Field

from oda.agent.model.prices import cost_usd
from oda.errors import LimitExceededError

COUNTED = ("model_calls", "tokens", "cost_usd")
"""The limits that a person or a policy may raise; time passes anyway."""


class Limits(BaseModel):
    """Limits of one turn over all its attempts; None means no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_calls: int | None = Field(default=500, ge=1)
    """Calls of models, failed ones included."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars, where the model's price is known."""
    timeout_s: float | None = Field(default=600.0, gt=0)
    """Seconds from the start of the turn, waits between attempts included."""


class TurnLimits(Limits):
    """The limits of a turn, and what happens when they are used up."""

    cheaper_model: str | None = None
    """Configured models give way to this one, for as much again; None ends the turn."""
    cheaper_from_start: bool = False
    """Whether it is so from the first call on."""

    def raised(self, times: int) -> Self:
        """So many times as much, but for the time."""
        return self.model_copy(
            update={
                name: times * limit
                for name in COUNTED
                if (limit := getattr(self, name)) is not None
            }
        )

    def within(self, others: Mapping[str, float | None]) -> Self:
        """The lower of each limit and that of the same name in `others`."""
        lower = {
            name: limit
            for name, limit in others.items()
            if limit is not None and ((own := getattr(self, name)) is None or limit < own)
        }
        return self.model_copy(update=lower)


@dataclass
class Usage:
    """What a turn has used so far."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None as long as no price is known."""
    _charged: set[str] = field(default_factory=set, repr=False)

    def recall(self, turn: Iterable[Event]) -> None:
        """Count what the stored events of a turn say was used before this process ran it."""
        for event in turn:
            if event.usage_metadata and event.id not in self._charged:
                self.model_calls += 1
                self.add(event.id, event.model_version, event.usage_metadata)

    def add(
        self, event_id: str, model: str | None, usage: GenerateContentResponseUsageMetadata
    ) -> None:
        """Count the tokens of one model answer; the same event counts once."""
        if event_id in self._charged:
            return
        self._charged.add(event_id)
        tokens_in = usage.prompt_token_count or 0
        tokens_out = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        self.input_tokens += tokens_in
        self.output_tokens += tokens_out
        cost = cost_usd(model, tokens_in, tokens_out) if model else None
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost

    def check(self, limits: TurnLimits) -> None:
        """Refuse a further model call when a limit is used up.

        Raises:
            LimitExceededError: naming the limit and its value.
        """
        if exceeded := exceeded_limit(self, limits):
            raise LimitExceededError(
                f"The turn has used up its limit of {exceeded}.",
                remedy="raise the limit or ask for less in one turn",
            )


def exceeded_limit(usage: Usage, limits: Limits) -> str | None:
    """The limit that is used up, such as `20 model calls`; None when none is."""
    for unit, used, limit in (
        ("model calls", usage.model_calls, limits.model_calls),
        ("tokens", usage.input_tokens + usage.output_tokens, limits.tokens),
        ("US dollars", usage.cost_usd or 0.0, limits.cost_usd),
    ):
        if limit is not None and used >= limit:
            return f"{limit:g} {unit}"
    return None
