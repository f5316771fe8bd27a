"""The instructions to the model, each a file of its own beside this one."""

from functools import cache
from pathlib import Path

from mcp_tools.resume import Language
from oda import Prompt


def instruction(name: str, language: Language) -> str:
    """Return an instruction for answers in a language."""
    return _prompt(name).filled(language=language)


@cache
def _prompt(name: str) -> Prompt:
    return Prompt.read(Path(__file__).with_name(f"{name}.md"))
