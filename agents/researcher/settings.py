"""Settings of the agent: the environment (`ODA_RESEARCHER__…`) and `.env`."""

from functools import cache
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from oda import RunLimits


class ResearcherSettings(BaseSettings):
    """`ODA_RESEARCHER__…`: what one run may use up before it must conclude."""

    model_config = SettingsConfigDict(
        env_prefix="ODA_RESEARCHER__",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )

    rounds: Annotated[int, Field(ge=1)] = 15
    """Most rounds of the model; the last one concludes."""
    wall_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Seconds after which it must conclude; a turn has its own, hard limit."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    cost_usd: Annotated[float, Field(gt=0)] | None = None

    translations_at_once: Annotated[int, Field(ge=1, le=32)] = 6
    """Parts of a long document that are translated at the same time."""

    @property
    def limits(self) -> RunLimits:
        """As an agent takes them."""
        return RunLimits(
            rounds=self.rounds, wall_s=self.wall_s, tokens=self.tokens, cost_usd=self.cost_usd
        )


@cache
def researcher_settings() -> ResearcherSettings:
    """The settings of this process.

    Raises:
        pydantic.ValidationError: one is wrong.
    """
    return ResearcherSettings()
