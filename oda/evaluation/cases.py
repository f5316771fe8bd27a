"""Evaluation sets: files of cases, each a conversation and what must come of each message."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from oda.config.files import read_file
from oda.errors import ConfigurationError, InvalidRequestError
from oda.message.language import Language

Phrase = str | tuple[str, ...]
"""A text to look for, whatever its case; of several one suffices."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Expectation(_Value):
    """What must come of a message; what is left out does not matter."""

    says: tuple[Phrase, ...] = ()
    """What stands in the reply."""
    never_says: tuple[str, ...] = ()
    """What does not stand in the reply."""
    language: Language | None = None
    """Of the reply."""
    calls: tuple[str, ...] | None = None
    """Tools that are called; none: no tool is."""
    state: dict[str, JsonValue] = {}
    """Values in the session's state afterwards, by path, such as `resume.work[0].name`. Instead of
    a value, `{has: text}` and `{lacks: text}` look into it, `{any: [...]}` lists alternatives, and
    null means that nothing is there."""
    unchanged: tuple[str, ...] = ()
    """Paths in the state whose values stay as they were before the message."""
    model_calls: int | None = None
    """Most answers of models."""
    judge: str | None = None
    """What a judging model must find true of the reply, where rules cannot tell."""


class Said(_Value):
    """One message, and what must come of it."""

    say: Annotated[str, Field(min_length=1)] | dict[str, JsonValue]
    """The text; of an object, its JSON."""
    expect: Expectation = Expectation()


class Case(_Value):
    """A conversation in a session of its own."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    state: str | dict[str, JsonValue] = {}
    """The state in which the session begins, or the name of one of the set's states."""
    talk: Annotated[tuple[Said, ...], Field(min_length=1)]


class EvaluationSet(_Value):
    """The cases of a file."""

    prompts: tuple[str, ...] = ()
    """The prompts that it evaluates."""
    states: dict[str, dict[str, JsonValue]] = {}
    """States that cases begin with, by name."""
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [case.name for case in self.cases]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two cases are called {twice!r}")
        for case in self.cases:
            if isinstance(case.state, str) and case.state not in self.states:
                raise ValueError(f"{case.name} begins with {case.state!r}, which is no state here")
        return self

    def state_of(self, case: Case) -> dict[str, Any]:
        """Return the state that a case begins with."""
        return self.states[case.state] if isinstance(case.state, str) else case.state


def sets_of(app: str, folder: Path, only: str | None = None) -> dict[str, EvaluationSet]:
    """Return the evaluation sets of an application by name, given its folder.

    Args:
        only: The name of the only one that is wanted.

    Raises:
        InvalidRequestError: there are none, or none of that name.
        ConfigurationError: a file is wrong.
    """
    files = {file.stem: file for file in sorted((folder / "evaluation").glob("*.yaml"))}
    if not files:
        raise InvalidRequestError(
            f"The app {app!r} has no evaluation set.",
            remedy=f"write {folder / 'evaluation'}/NAME.yaml; see docs/evaluation.md",
        )
    if only is not None and only not in files:
        raise InvalidRequestError(
            f"The app {app!r} has no evaluation set {only!r}.", remedy=f"there are: {list(files)}"
        )
    known = {prompt.stem for prompt in (folder / "prompts").glob("*.md")}
    wanted = files if only is None else {only: files[only]}
    sets = {name: read_file(file, EvaluationSet) for name, file in wanted.items()}
    for name, found in sets.items():
        if missing := set(found.prompts) - known:
            raise ConfigurationError(
                f"{files[name]}: prompts: there is no {sorted(missing)[0]!r}",
                remedy=f"there are: {sorted(known)}",
            )
    return sets
