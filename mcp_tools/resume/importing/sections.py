"""Divides the lines of a resume into blocks by their headings."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .headings import DECORATION
from .lines import Line, display_width
from .spans import find_span
from .vocabulary import headings, vocabulary

_INLINE = re.compile(r"([^:：\t]{2,40}?)\s*[:：\t]\s*(\S.*)")
_INLINE_SECTIONS = ("skills", "languages", "certificates", "awards", "interests", "summary")
_PROSE_SECTIONS = ("work", "projects", "volunteer", "skills")


class Block(NamedTuple):
    """The lines under one heading; `section` is "" for a heading that no resume section has."""

    section: str
    title: str
    lines: list[Line]


def heading_section(text: str) -> str | None:
    """Return the section that a text is the heading of, or `None` if it is no heading."""
    return headings().section_of(text)


def is_title(text: str) -> bool:
    """Tell whether a text only says that this is a resume."""
    return re.sub(r"\s+", " ", text.strip(DECORATION).lower()) in vocabulary().titles


def split(lines: Sequence[Line]) -> list[Block]:
    """Return the blocks in order; the first one, `basics`, holds the lines before any heading."""
    headings = _Headings(lines)
    blocks = [Block("basics", "", [])]
    for line in lines:
        section, title, rest = headings.read(line, blocks[-1].section)
        if section is not None:
            blocks.append(Block(section, title, []))
        if rest:
            blocks[-1].lines.append(rest)
    return [block for block in blocks if block.lines or block.section == ""]


class _Headings:
    """Tells headings from the rest by their words and by how this document sets them apart."""

    def __init__(self, lines: Sequence[Line]) -> None:
        candidates = [line for line in lines if heading_section(line.text)]
        self._styles = Counter(line.style for line in candidates)
        self._all_styles = Counter(line.style for line in lines if not line.bullet)
        styled = sum(count for style, count in self._styles.items() if style)
        self._styled_only = styled >= 2 and styled >= self._styles[""]
        self._name = _name_style(lines)

    def read(self, line: Line, current: str) -> tuple[str | None, str, Line | None]:
        """Return the section that begins here, its heading, and the rest of the line."""
        if found := self._plain(line, current):
            return found, line.text, None
        if inline := self._inline(line, current):
            return inline
        if line.style and line.style == self._name and current != "basics":
            return "basics", "", line
        if self._is_unknown_heading(line):
            return "", line.text, None
        return None, "", line

    def _plain(self, line: Line, current: str) -> str | None:
        found = heading_section(line.text)
        if found is None or (self._styled_only and not line.style):
            return None
        if line.bullet and "\t" in line.text:
            return None
        labelled = line.text.endswith((":", "：")) and not line.gap and not line.style
        return None if labelled and current in _PROSE_SECTIONS and found != "work" else found

    def _inline(self, line: Line, current: str) -> tuple[str, str, Line] | None:
        match = _INLINE.fullmatch(line.text)
        found = heading_section(match[1]) if match else None
        if match is None or found is None or line.bullet:
            return None
        if self._styled_only and self._styles[line.style] < 2:
            return None
        in_margin = "\t" in line.text[match.end(1) : match.start(2)] and found != "label"
        is_free = current not in _PROSE_SECTIONS or (line.gap and current != "skills")
        if not in_margin and not (found in _INLINE_SECTIONS and is_free):
            return None
        return found, match[1], line._replace(text=match[2], style="")

    def _is_unknown_heading(self, line: Line) -> bool:
        known = self._styles[line.style]
        if line.bullet or line.style in ("", "bold", self._name) or known < 2:
            return False
        if self._all_styles[line.style] - known > known or display_width(line.text) > 40:
            return False
        is_wordy = "\t" in line.text or "," in line.text or find_span(line.text) is not None
        return not is_wordy and not (line.style == "caps" and not line.gap)


def _name_style(lines: Sequence[Line]) -> str:
    """Return the style of the greatest letters, if a single line is written in them."""
    sizes = Counter(line.style for line in lines if line.style.startswith("size:"))
    if not sizes:
        return ""
    greatest = max(sizes, key=size_of)
    alone = sizes[greatest] == 1
    texts = [line.text for line in lines if line.style == greatest]
    return greatest if alone and not heading_section(texts[0]) else ""


def size_of(style: str) -> float:
    """Return the size of letters that a style names; 0 when it names none."""
    size = style.removeprefix("size:").split(" ")[0]
    return float(size) if style.startswith("size:") else 0.0
