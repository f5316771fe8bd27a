"""Shapes on covers, of each kind of article its own; drawn at the right, where no title is."""

from collections.abc import Callable, Iterator, Mapping
from math import cos, pi, sin
from random import Random

WIDTH, HEIGHT = 1200, 630
"""Size of a cover in pixels."""

Motif = Callable[[Random], Iterator[str]]
"""Draws elements of SVG in the current colour."""


def motif(template: str) -> Motif:
    """The shapes for a kind of article."""
    return _MOTIFS.get(template, _rings)


def _rings(random: Random) -> Iterator[str]:
    """Circles around places that are connected: what belongs together."""
    for _ in range(3):
        x, y = random.randint(700, 1150), random.randint(60, 570)
        for ring in range(1, random.randint(5, 8)):
            yield f'<circle cx="{x}" cy="{y}" r="{ring * 38}" opacity="{0.5 / ring:.2f}"/>'
        yield f'<circle cx="{x}" cy="{y}" r="9" fill="currentColor" stroke="none"/>'


def _network(random: Random) -> Iterator[str]:
    """Points and the lines between near ones: sources."""
    points = [(random.randint(560, 1190), random.randint(15, 615)) for _ in range(34)]
    for at, (x, y) in enumerate(points):
        for x2, y2 in points[at + 1 :]:
            if (x - x2) ** 2 + (y - y2) ** 2 < 170**2:
                yield f'<path d="M{x} {y}L{x2} {y2}" opacity="0.28"/>'
        radius = random.choice((4, 5, 6, 9, 13))
        yield (
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="currentColor" stroke="none" '
            f'opacity="{random.uniform(0.5, 0.95):.2f}"/>'
        )


def _bars(random: Random) -> Iterator[str]:
    """Columns and a curve over them: data."""
    heights = [random.randint(60, 150) + 32 * step for step in range(11)]
    for step, height in enumerate(heights):
        yield (
            f'<rect x="{590 + step * 56}" y="{HEIGHT - height}" width="36" height="{height}" '
            f'rx="6" fill="currentColor" stroke="none" opacity="{0.16 + step * 0.045:.2f}"/>'
        )
    points = " ".join(
        f"{608 + step * 56},{HEIGHT - height - 45}" for step, height in enumerate(heights)
    )
    yield f'<polyline points="{points}" stroke-width="4" stroke-linejoin="round" opacity="0.9"/>'


def _pages(random: Random) -> Iterator[str]:
    """Two sheets of the same lines: a document and its translation."""
    widths = [random.randint(110, 220) for _ in range(9)]
    for x, y, tilt, opacity in ((690, 70, -6, 0.45), (900, 110, 5, 0.9)):
        yield f'<g transform="rotate({tilt} {x + 140} {y + 200})" opacity="{opacity}">'
        yield f'<rect x="{x}" y="{y}" width="290" height="410" rx="14" stroke-width="3"/>'
        for line, width in enumerate(widths):
            yield (
                f'<rect x="{x + 34}" y="{y + 46 + line * 37}" width="{width}" height="11" rx="5" '
                'fill="currentColor" stroke="none" opacity="0.6"/>'
            )
        yield "</g>"


def _columns(random: Random) -> Iterator[str]:
    """Headlines in columns: news."""
    for column in range(4):
        x, y = 600 + column * 152, random.randint(-60, 20)
        while y < HEIGHT:
            height = random.choice((46, 72, 104, 150))
            yield (
                f'<rect x="{x}" y="{y}" width="132" height="{height}" rx="8" fill="currentColor" '
                f'stroke="none" opacity="{random.uniform(0.12, 0.62):.2f}"/>'
            )
            y += height + 20


def _steps(random: Random) -> Iterator[str]:
    """Stairs: what is learnt one after the other."""
    count = random.randint(5, 7)
    width, height = 620 // count, 470 // count
    for step in range(count):
        x, y = 580 + step * width, HEIGHT - (step + 1) * height - 40
        yield (
            f'<rect x="{x}" y="{y}" width="{width - 12}" height="{HEIGHT - y + 10}" rx="10" '
            f'fill="currentColor" stroke="none" opacity="{0.14 + step * 0.1:.2f}"/>'
        )
        yield f'<circle cx="{x + width // 2 - 6}" cy="{y - 26}" r="9" opacity="0.8"/>'


def _stars(random: Random) -> Iterator[str]:
    """Five stars: a judgement."""
    for number in range(5):
        x, y = 640 + number * 125, 500 - number * 95 + random.randint(-20, 20)
        points = " ".join(
            f"{x + r * sin(k * pi / 5):.0f},{y - r * cos(k * pi / 5):.0f}"
            for k in range(10)
            for r in (74 if k % 2 == 0 else 31,)
        )
        yield (
            f'<polygon points="{points}" fill="currentColor" '
            f'fill-opacity="{0.12 + number * 0.14:.2f}" stroke-linejoin="round" stroke-width="3"/>'
        )


def _sheets(random: Random) -> Iterator[str]:
    """Wide sheets behind one another: slides."""
    tilt = random.randint(-9, -4)
    for number in range(5):
        x, y = 600 + number * 46, 330 - number * 62
        yield (
            f'<rect x="{x}" y="{y}" width="440" height="248" rx="16" fill="currentColor" '
            f'fill-opacity="{0.06 + number * 0.03:.2f}" stroke-width="3" '
            f'opacity="{0.35 + number * 0.15:.2f}" transform="rotate({tilt} 900 300)"/>'
        )


def _wave(random: Random) -> Iterator[str]:
    """A frame, and the sound below it: a video."""
    yield '<rect x="680" y="80" width="450" height="270" rx="20" stroke-width="3" opacity="0.8"/>'
    yield (
        '<path d="M870 155 L970 215 L870 275 Z" fill="currentColor" stroke-linejoin="round" '
        'stroke-width="10" opacity="0.9"/>'
    )
    for bar in range(38):
        height = 20 + abs(sin(bar * 0.55)) * random.randint(40, 130)
        yield (
            f'<rect x="{640 + bar * 14}" y="{480 - height / 2:.0f}" width="7" '
            f'height="{height:.0f}" rx="3" fill="currentColor" stroke="none" opacity="0.65"/>'
        )


_MOTIFS: Mapping[str, Motif] = {
    "deep-research": _network,
    "data-analysis": _bars,
    "translate-document": _pages,
    "daily-brief": _columns,
    "tutorial": _steps,
    "product-review": _stars,
    "slides": _sheets,
    "video-analysis": _wave,
}
