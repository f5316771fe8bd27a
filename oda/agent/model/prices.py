"""Prices of models from the table that LiteLLM ships, read without importing LiteLLM."""

import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pydantic_core import from_json

_TABLE = "model_prices_and_context_window_backup.json"


def cost_usd(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return the cost of a call in US dollars, or None if the model's price is unknown."""
    if (litellm := sys.modules.get("litellm")) is not None:
        # Includes prices that the program has registered with LiteLLM.
        try:
            prompt, completion = litellm.cost_per_token(
                model=model, prompt_tokens=tokens_in, completion_tokens=tokens_out
            )
        except Exception:  # LiteLLM raises a bare `Exception` for an unknown model
            return None
        return float(prompt + completion)
    price = prices().get(model) or prices().get(model.rpartition("/")[2])
    return None if price is None else price[0] * tokens_in + price[1] * tokens_out


@cache
def prices() -> Mapping[str, tuple[float, float]]:
    """Return US dollars per input and output token, by model. Reads a file of 3 MB once."""
    found = find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        return {}
    file = Path(found.submodule_search_locations[0]) / _TABLE
    try:
        table = from_json(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return {
        name: (float(entry["input_cost_per_token"]), float(entry["output_cost_per_token"]))
        for name, entry in table.items()
        if isinstance(entry, dict)
        and isinstance(entry.get("input_cost_per_token"), int | float)
        and isinstance(entry.get("output_cost_per_token"), int | float)
    }
