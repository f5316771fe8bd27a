"""A model that tells whether a statement about a reply is true, where rules cannot."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from oda.agent.prompt import Prompt
from oda.evaluation.report import Exchange
from oda.message.storable import storable
from oda.orchestration.model_access import StepContext

_LONGEST_STATE = 20_000


class _Verdict(BaseModel):
    reason: str
    holds: bool


class Judge:
    """Asks a configured model."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._prompt = Prompt.read(Path(__file__).with_name("judge.md"))

    async def objection(
        self, statement: str, talk: Sequence[Exchange], state: Mapping[str, Any]
    ) -> str | None:
        """Return why a statement about the latest reply is not true, or None if it is.

        Raises:
            Exception: the model could not be asked, or did not answer in form.
        """
        told = {
            "statement": statement,
            "conversation": [exchange.model_dump() for exchange in talk],
            "data": json.dumps(storable(state), ensure_ascii=False)[:_LONGEST_STATE],
        }
        context = StepContext(user_id="judge", now=datetime.now(UTC), model=self._model)
        said = json.dumps(told, ensure_ascii=False)
        verdict = await context.ask(self._prompt.text, said, _Verdict)
        return None if verdict.holds else f"not true: {statement} ({verdict.reason})"
