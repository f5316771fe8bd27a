"""Limits and usage of a turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from google.adk.events import Event
from google.genai.types import GenerateContentResponseUsageMetadata
from pydantic import BaseModel, ConfigDict, Field

from oda.agent.model.answer_form import calls_of
from oda.agent.model.prices import cost_usd
from oda.errors import LimitExceededError

COUNTED = ("model_calls", "tokens", "cost_usd")
"""The limits that a person or a policy may raise, which excludes the time limit."""


class Limits(BaseModel):
    """Limits of one turn over all its attempts; None means no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_calls: int | None = Field(default=500, ge=1)
    """Model calls, including failed ones."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars, where the model's price is known."""
    timeout_s: float | None = Field(default=600.0, gt=0)
    """Seconds from the start of the turn, including waits between attempts."""


class TurnLimits(Limits):
    """Limits of a turn, and the policy when they are used up."""

    cheaper_model: str | None = None
    """Replaces configured models at a used-up limit, doubling the limits; None ends the turn."""
    cheaper_from_start: bool = False
    """Whether the cheaper model is used from the first call on."""

    def raised(self, times: int) -> Self:
        """Return these limits multiplied by `times`, except for the time limit."""
        return self.model_copy(
            update={
                name: times * limit
                for name in COUNTED
                if (limit := getattr(self, name)) is not None
            }
        )

    def within(self, others: Mapping[str, float | None]) -> Self:
        """Return these limits, each lowered to that of the same name in `others`."""
        lower = {
            name: limit
            for name, limit in others.items()
            if limit is not None and ((own := getattr(self, name)) is None or limit < own)
        }
        return self.model_copy(update=lower)


@dataclass
class Usage:
    """Usage of a turn so far."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """US dollars; None as long as no price is known."""
    _charged: set[str] = field(default_factory=set, repr=False)

    def recall(self, turn: Iterable[Event]) -> None:
        """Count the usage recorded in a turn's stored events, such as before a crash."""
        for event in turn:
            if event.usage_metadata and event.id not in self._charged:
                self.model_calls += calls_of(event.custom_metadata)
                self.add(event.id, event.model_version, event.usage_metadata)

    def add(
        self, event_id: str, model: str | None, usage: GenerateContentResponseUsageMetadata
    ) -> None:
        """Count the tokens of a model's answer; each event is counted once."""
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
        """Check that a further model call is allowed.

        Raises:
            LimitExceededError: a limit is used up; the message names it.
        """
        if exceeded := exceeded_limit(self, limits):
            raise LimitExceededError(
                f"The turn has used up its limit of {exceeded}.",
                remedy="raise the limit or ask for less in one turn",
            )


def exceeded_limit(usage: Usage, limits: Limits) -> str | None:
    """Return the limit that is used up, such as `20 model calls`, or None."""
    for unit, used, limit in (
        ("model calls", usage.model_calls, limits.model_calls),
        ("tokens", usage.input_tokens + usage.output_tokens, limits.tokens),
        ("US dollars", usage.cost_usd or 0.0, limits.cost_usd),
    ):
        if limit is not None and used >= limit:
            return f"{limit:g} {unit}"
    return None
