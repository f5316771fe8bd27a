"""The instructions of the agent: the files of `prompts/`."""

from functools import cache
from pathlib import Path

from oda import Prompt

_PROMPTS = Path(__file__).parent / "prompts"

WORKPLACE = Prompt.read(_PROMPTS / "workplace.md")
ONE_ANSWER = Prompt.read(_PROMPTS / "one_answer.md")
GOING_ON = Prompt.read(_PROMPTS / "going_on.md")
GLOSSARY = Prompt.read(_PROMPTS / "glossary.md")
TRANSLATE_PART = Prompt.read(_PROMPTS / "translate_part.md")
_ARTICLE_RULES = Prompt.read(_PROMPTS / "article_rules.md")


@cache
def article_rules(*, in_file: bool) -> str:
    """Return the rules for an article's form and destination: a file, or the answer."""
    where = (
        "Write the article to output/article.html with write_file, then answer in two or three "
        "sentences: what is in it, and which other files are in output/."
        if in_file
        else "Answer with the HTML document only, from <!doctype html> to </html>: no words before "
        "or after it."
    )
    return f"{_ARTICLE_RULES.text.strip()}\n- {where}"
