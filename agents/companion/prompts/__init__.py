"""The instructions to the model, each a file of its own beside this one."""

from functools import cache
from pathlib import Path

from oda import Prompt


def instruction(name: str, **values: str) -> str:
    """Return an instruction with its places filled."""
    return _prompt(name).filled(**values)


@cache
def _prompt(name: str) -> Prompt:
    return Prompt.read(Path(__file__).with_name(f"{name}.md"))
