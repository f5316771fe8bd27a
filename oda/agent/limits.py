"""What one turn may use up, and what it has used."""

import sys
from dataclasses import dataclass, field

from google.genai.types import GenerateContentResponseUsageMetadata
from pydantic import BaseModel, ConfigDict, Field

from oda.errors import LimitExceededError


class TurnLimits(BaseModel):
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


@dataclass
class Usage:
    """What a turn has used so far."""

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None as long as no price is known."""
    _charged: set[str] = field(default_factory=set, repr=False)

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
        cost = _cost_usd(model, tokens_in, tokens_out)
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost

    def check(self, limits: TurnLimits) -> None:
        """Refuse a further model call when a limit is used up.

        Raises:
            LimitExceededError: naming the limit and its value.
        """
        for name, used, limit in (
            ("model calls", self.model_calls, limits.model_calls),
            ("tokens", self.input_tokens + self.output_tokens, limits.tokens),
            ("US dollars", self.cost_usd or 0.0, limits.cost_usd),
        ):
            if limit is not None and used >= limit:
                raise LimitExceededError(
                    f"The turn has used up its limit of {limit:g} {name}.",
                    remedy="raise the limit or ask for less in one turn",
                )


def _cost_usd(model: str | None, tokens_in: int, tokens_out: int) -> float | None:
    """Price by LiteLLM's table, which is there once a model has been called through LiteLLM."""
    litellm = sys.modules.get("litellm")
    if litellm is None or not model:
        return None
    try:
        prompt, completion = litellm.cost_per_token(
            model=model, prompt_tokens=tokens_in, completion_tokens=tokens_out
        )
    except Exception:  # an unknown model is reported by a bare Exception
        return None
    return float(prompt + completion)
