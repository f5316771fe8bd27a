"""A picture for an article in lists: its title over shapes that its seed chooses."""

from dataclasses import dataclass
from hashlib import sha256
from html import escape
from random import Random

from .motifs import HEIGHT, WIDTH, motif
from .typesetting import balanced, one_line, text_width

_MARGIN = 80
_MOST_LINES = 4
_SIZES = (76, 68, 60, 54, 48, 42)
"""Sizes of the title in pixels, in order of preference."""
_ROOM = 720
"""Pixels for a line of the title, with some to spare for fonts that are wider than most."""
_FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'PingFang SC', "
    "'Hiragino Sans GB', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', sans-serif"
)


@dataclass(frozen=True)
class _Palette:
    """Two ends of the ground, and what is drawn on it."""

    dark: str
    light: str
    accent: str


_PALETTES = (
    _Palette("#0b1f3a", "#1c4f8c", "#6fb7ff"),
    _Palette("#10302b", "#1f6f5c", "#7fe0b8"),
    _Palette("#2a1540", "#5b3a9e", "#c5a3ff"),
    _Palette("#3a1420", "#a03a4d", "#ffb199"),
    _Palette("#1e2430", "#47556b", "#ffd37a"),
    _Palette("#05303a", "#0e7283", "#8ff0e0"),
)


def cover_svg(title: str, *, template: str, seed: str, label: str = "") -> str:
    """Draw a cover of 1200 × 630; the same for the same arguments.

    Args:
        title: Any text; too much of it is cut off.
        template: What kind of article it is; each has its own shapes.
        seed: Chooses colours and places.
        label: A word or two above the title.
    """
    random = Random(sha256(f"{template}\n{seed}".encode("utf-8", "replace")).digest())
    palette = random.choice(_PALETTES)
    shapes = "\n".join(motif(template)(random))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" \
viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_written(title)}">
<defs>
<linearGradient id="ground" x1="0" y1="1" x2="1" y2="0">\
<stop offset="0.25" stop-color="{palette.dark}"/><stop offset="1" stop-color="{palette.light}"/>\
</linearGradient>
<linearGradient id="shade" x1="0" y1="0" x2="1" y2="0">\
<stop offset="0.42" stop-color="{palette.dark}" stop-opacity="0.94"/>\
<stop offset="0.95" stop-color="{palette.dark}" stop-opacity="0"/></linearGradient>
</defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="url(#ground)"/>
<g fill="none" stroke="{palette.accent}" color="{palette.accent}" stroke-width="2">
{shapes}
</g>
<rect width="{WIDTH}" height="{HEIGHT}" fill="url(#shade)"/>
<g font-family="{_FONTS}" fill="#ffffff">
{_words(title, label, palette)}
</g>
</svg>
"""


def _words(title: str, label: str, palette: _Palette) -> str:
    size, lines = _set(one_line(title))
    leading = size * 1.3
    first = HEIGHT / 2 - leading * (len(lines) - 1) / 2 + size * 0.36 + (18 if label else 0)
    texts = [
        f'<text x="{_MARGIN}" y="{first + number * leading:.0f}" font-size="{size}" '
        f'font-weight="700">{_written(line)}</text>'
        for number, line in enumerate(lines)
    ]
    top = first - size - 46
    texts.append(
        f'<rect x="{_MARGIN}" y="{top - 22:.0f}" width="44" height="6" rx="3" '
        f'fill="{palette.accent}"/>'
    )
    if label:
        texts.append(
            f'<text x="{_MARGIN + 62}" y="{top - 9:.0f}" font-size="28" font-weight="600" '
            f'letter-spacing="2" fill="{palette.accent}">{_written(label)}</text>'
        )
    return "\n".join(texts)


def _set(title: str) -> tuple[int, list[str]]:
    """The largest size in which the title fits, and its lines."""
    for size in _SIZES:
        lines = balanced(title, _ROOM / size)
        if len(lines) <= (3 if size > 54 else _MOST_LINES):
            return size, lines
    last = lines[_MOST_LINES - 1]
    while text_width(last) > _ROOM / size - 1:
        last = last[:-1]
    return size, [*lines[: _MOST_LINES - 1], f"{last.rstrip()}…"]


def _written(text: str) -> str:
    return escape(one_line(text))
