"""Two states of a resume side by side, for people to read."""

from collections.abc import Iterator
from difflib import unified_diff
from html import escape

import yaml

from .document import JsonObject
from .labels import Language

_TITLE = {"zh": "简历修改对比", "en": "Changes of the resume"}
_PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>
<pre>{lines}</pre>
</body>
</html>
"""


def text_diff(before: JsonObject, after: JsonObject) -> str:
    """Return a unified diff of the documents as YAML; "" where nothing has changed.

    The count of edits, `meta.version`, is left out.
    """
    return "\n".join(_lines(before, after))


def html_diff(before: JsonObject, after: JsonObject, *, language: Language) -> str:
    """Return the same as a page, without script; everything in it is escaped."""
    lines = "\n".join(map(_marked, _lines(before, after)))
    return _PAGE.format(language=language, title=_TITLE[language], lines=lines)


def _lines(before: JsonObject, after: JsonObject) -> Iterator[str]:
    old, new = _written(before), _written(after)
    return unified_diff(old, new, "before", "after", lineterm="")


def _written(document: JsonObject) -> list[str]:
    meta = document.get("meta")
    shown = dict(document)
    if isinstance(meta, dict):
        shown["meta"] = {key: value for key, value in meta.items() if key != "version"}
        if not shown["meta"]:
            del shown["meta"]
    text: str = yaml.safe_dump(shown, allow_unicode=True, sort_keys=False, width=100)
    return text.splitlines()


def _marked(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line)
