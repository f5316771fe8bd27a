"""Plain text and Markdown as lines: marks taken off, hard-wrapped lines joined."""

import html
import re
from dataclasses import dataclass

from .lines import Bulleted, Line, clean, display_width, joined, take_bullet
from .spans import find_span

_RULE = re.compile(r"\s*([-=_*~#—·.]\s?)\1{2,}\s*")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_FRAMED = re.compile(
    r"\s*(?:[=*~#_+|-]{2,}\s*([^=*~#_|]+?)\s*[=*~#_+|-]{2,}|[【\[《]([^】\]》]+)[】\]》][:：]?)\s*"
)
_TABLE_RULE = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])([^*_]+?)(?<=[^\s*_])\1(?![\w*])")
_IMAGE = re.compile(r"!\[([^\]\[]{0,200})\]\([^()\s]{0,500}\)")
_LINK = re.compile(
    r"\[([^\]\[]{1,300})\]\(<?(?:mailto:|tel:)?([^()\s<>]{1,500})>?(?:\s+\"[^\"]{0,200}\")?\)"
)
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)?[^\s<>@]{1,200}[@.][^\s<>]{1,300})>")
_TAG = re.compile(
    r"</?[A-Za-z][A-Za-z0-9]{0,10}(?:\s[^<>]{0,300})?/?>|<!--.{0,2000}?-->", re.DOTALL
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
_SENTENCE_END = re.compile(r"[.。;；!！?？:：]\s*$")
_HELD = "\ue000"
_COLUMNS = re.compile(r"\s{3,}|\t|[|｜]")
_WRAP_LIMITS = range(50, 121)


def text_lines(text: str, *, markdown: bool) -> list[Line]:
    """Return the lines of a text; Markdown is understood in both, HTML tags only in Markdown."""
    if markdown:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    raw = [line.expandtabs(4) if not line.strip("\t ") else line for line in text.splitlines()]
    return _Joiner(_wrap_width(raw), markdown).lines(raw)


def _wrap_width(raw: list[str]) -> int:
    """Return the width at which lines were broken by hand; 0 when they were not."""
    flowing = (line.strip() for line in raw if not _COLUMNS.search(line.strip()))
    widest = max(map(display_width, flowing), default=0)
    return widest if widest in _WRAP_LIMITS else 0


@dataclass
class _Joiner:
    """Walks over raw lines; knows what came before, to tell a new line from a broken one."""

    wrap: int
    markdown: bool

    def lines(self, raw: list[str]) -> list[Line]:
        found: list[Line] = []
        gap, last, hang = False, "", -1
        for index, line in enumerate(raw):
            if not line.strip() or _RULE.fullmatch(line) or _TABLE_RULE.fullmatch(line):
                gap, last = True, ""
                continue
            below = raw[index + 1] if index + 1 < len(raw) else ""
            read, bulleted = self._read(line, below)
            if not gap and last and found and self._continues(found[-1], last, hang, line, read):
                found[-1] = found[-1]._replace(text=joined(found[-1].text, read.text))
            elif read.text:
                found.append(read._replace(gap=gap and bool(found)))
                hang = bulleted.width if read.bullet else -1
            gap, last = False, line
        return found

    def _read(self, line: str, below: str) -> tuple[Line, Bulleted]:
        if match := _HEADING.fullmatch(line):
            heading = Line(self._inline(match[2]), style=f"#{len(match[1])}")
            return heading, Bulleted(heading.text, False, 0)
        if match := _FRAMED.fullmatch(line):
            return Line(clean(match[1] or match[2]), style="framed"), Bulleted("", False, 0)
        bulleted = take_bullet(line)
        text = self._inline(bulleted.text)
        return Line(text, bulleted.bullet, self._style(bulleted.text, below)), bulleted

    def _style(self, text: str, below: str) -> str:
        ruled = below.strip()
        if len(ruled) >= 3 and set(ruled) in ({"="}, {"-"}) and display_width(text) < 60:
            return "ruled" + ruled[0]
        if _STRONG.fullmatch(text.strip()):
            return "bold"
        return "caps" if text.isupper() and len(text) > 3 and text.isascii() else ""

    def _inline(self, text: str) -> str:
        text = _ESCAPE.sub(lambda match: f"{_HELD}{ord(match[1]):02x}", text)
        text = _IMAGE.sub("", text).replace("`", "")
        text = _AUTOLINK.sub(r"\1", _LINK.sub(_link, text))
        text = _EMPHASIS.sub(r"\2", _STRONG.sub(r"\2", text))
        if text.startswith("|") and text.endswith("|") and len(text) > 2:
            text = re.sub(r"\s*\|\s*", "\t", text.strip("|"))
        text = re.sub(f"{_HELD}([0-9a-f]{{2}})", lambda match: chr(int(match[1], 16)), text)
        return clean(html.unescape(text) if self.markdown else text).rstrip("\\").rstrip()

    def _continues(self, before: Line, last: str, hang: int, line: str, read: Line) -> bool:
        if read.bullet or read.style or before.style:
            return False
        indent = len(line) - len(line.lstrip())
        if before.bullet and indent > 0 and indent >= min(hang, 2):
            return True
        if not self.wrap or _SENTENCE_END.search(last) or _COLUMNS.search(last.strip()):
            return False
        if _COLUMNS.search(line.strip()) or find_span(read.text):
            return False
        first_word = line.split()[0] if line.isascii() else line.strip()[0]
        return display_width(last.rstrip()) + 1 + display_width(first_word) > self.wrap


def _link(match: re.Match[str]) -> str:
    shown, target = match[1].strip(), match[2]
    bare = re.sub(r"^(?:https?://)?(?:www\.)?|/$", "", target)
    if re.sub(r"^(?:https?://)?(?:www\.)?|/$", "", shown) == bare:
        return target if "://" in target else shown
    return shown if shown == bare else f"{shown} ({target})"
