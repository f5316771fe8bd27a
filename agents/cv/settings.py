"""Settings of the agent: the environment (`ODA_CV__…`) and `.env`."""

from functools import cache
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from mcp_tools.resume.history import HISTORY_LIMIT

from .window import Window


class CvSettings(BaseSettings):
    """`ODA_CV__…`: what the model is sent, and what a session keeps. Rules need none of it."""

    model_config = SettingsConfigDict(
        env_prefix="ODA_CV__",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )

    window_messages: Annotated[int, Field(ge=4)] = 50
    """Most messages that the model is sent, tool calls and their results included."""
    window_tokens: Annotated[int, Field(ge=500)] = 8_000
    """Most tokens of these, estimated. The current turn is always sent whole."""
    summary_after: Annotated[int, Field(ge=0)] = 10
    """The running summary is made anew when more messages than this have fallen out."""
    summary_chars: Annotated[int, Field(ge=200)] = 2_000
    """Longest running summary."""
    summary_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30.0
    """How long the model may take for a summary; after that, one is made without it."""
    undo_edits: Annotated[int, Field(ge=1, le=HISTORY_LIMIT)] = HISTORY_LIMIT
    """Edits of a session that can be undone."""

    @property
    def window(self) -> Window:
        """The part of the conversation that is sent to the model."""
        return Window(self.window_messages, self.window_tokens, self.summary_chars)


@cache
def cv_settings() -> CvSettings:
    """The settings of this process.

    Raises:
        pydantic.ValidationError: one is wrong.
    """
    return CvSettings()
