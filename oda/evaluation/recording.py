"""Recorded answers of a model: steps of the model server's script, by case, in a YAML file."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from google.adk.models.llm_response import LlmResponse
from pydantic import BaseModel, ConfigDict, Field

from oda.agent.prompt import Prompt
from oda.config.files import read_file
from oda.errors import InvalidRequestError
from oda.testing.script import Blocked, Call, Empty, MaxTokens, Step, Text, ToolCalls

_WIDTH = 120


class PromptMark(BaseModel):
    """Which text a prompt had."""

    model_config = ConfigDict(frozen=True)

    version: int
    digest: str

    @classmethod
    def of(cls, prompt: Prompt) -> "PromptMark":
        return cls(version=prompt.version, digest=prompt.digest)


class Recording(BaseModel):
    """What a model has answered to the cases of a set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = ""
    prompts: dict[str, PromptMark] = {}
    """The prompts that it was recorded with, by name."""
    answers: dict[str, tuple[Annotated[Step, Field(discriminator="type")], ...]] = {}
    """By case, in the order in which they came."""

    def stale(self, prompts: Mapping[str, PromptMark]) -> list[str]:
        """Return the names of the prompts that have changed since."""
        return [name for name, mark in prompts.items() if self.prompts.get(name) != mark]


def recording_file(folder: Path, name: str) -> Path:
    """Return the file of a set's recording, given the application's folder."""
    return folder / "evaluation" / "recorded" / f"{name}.yaml"


def read_recording(file: Path) -> Recording:
    """Read a recording.

    Raises:
        InvalidRequestError: there is none.
        ConfigurationError: the file is wrong.
    """
    if not file.exists():
        raise InvalidRequestError(
            f"There are no recorded answers: {file}",
            remedy="record them with a configured model: oda eval APP --record",
        )
    return read_file(file, Recording)


def write_recording(file: Path, recording: Recording) -> None:
    """Write a recording; what is left out has its default."""
    file.parent.mkdir(parents=True, exist_ok=True)
    answers = {name: [_plain(step) for step in steps] for name, steps in recording.answers.items()}
    content = {**recording.model_dump(mode="json", exclude={"answers"}), "answers": answers}
    text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=_WIDTH)
    file.write_text(text, encoding="utf-8")


def steps_of(responses: Iterable[LlmResponse]) -> Sequence[Step]:
    """Return the steps that play these answers again."""
    return [_step(response) for response in responses]


def _step(response: LlmResponse) -> Step:
    parts = (response.content and response.content.parts) or ()
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = tuple(
        Call(name=part.function_call.name or "", args=part.function_call.args or {})
        for part in parts
        if part.function_call
    )
    spoken: dict[str, Any] = {"text": text} if text else {}
    if response.error_code == "MAX_TOKENS":
        return MaxTokens(**spoken)
    if response.error_code:
        return Blocked(**spoken)
    if calls:
        return ToolCalls(calls=calls, **spoken)
    return Text(**spoken) if text else Empty()


def _plain(step: Step) -> dict[str, Any]:
    plain = step.model_dump(mode="json", exclude_defaults=True, exclude={"chunks"})
    return {"type": step.type, **plain}
