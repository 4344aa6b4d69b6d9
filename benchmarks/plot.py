"""Lines over steps, as an SVG picture that looks the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

COLOURS = ("#c0392b", "#2471a3", "#5dade2", "#1e8449", "#58d68d")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 64, 24, 210, 48
ACROSS, DOWN = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM


@dataclass(frozen=True, slots=True)
class Axes:
    """What the lines are drawn over."""

    steps: Sequence[str]
    """Labels across, evenly apart."""
    across: str
    """What they are."""
    ticks: Mapping[float, str]
    """Values upwards with their labels; the first and the last are the ends."""
    is_log: bool = False
    line: tuple[float, str] | None = None
    """A value to hold the lines against, and what it is."""

    def height(self, value: float) -> float:
        """Where a value is, from the top of the picture."""
        scale: Callable[[float], float] = math.log if self.is_log else float
        least, most = scale(min(self.ticks)), scale(max(self.ticks))
        return TOP + DOWN * (1 - (scale(value) - least) / (most - least))

    def place(self, step: int) -> float:
        """Where a step is, from the left."""
        return LEFT + ACROSS * step / (len(self.steps) - 1)


def plot(curves: Mapping[str, Sequence[float | None]], axes: Axes) -> str:
    """The picture. A curve may begin later than the steps, and end sooner."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value, label in axes.ticks.items():
        height = axes.height(value)
        parts.append(_line(LEFT, height, LEFT + ACROSS, height, "#dddddd"))
        parts.append(_text(LEFT - 8, height + 4, label, "end"))
    if axes.line:
        height = axes.height(axes.line[0])
        parts.append(_line(LEFT, height, LEFT + ACROSS, height, "#c0392b", dashes="4 4"))
        parts.append(_text(LEFT + ACROSS + 8, height - 8, axes.line[1], "start"))
    parts += [_text(axes.place(at), TOP + DOWN + 20, step, "middle") for at, step in enumerate(axes.steps)]
    parts.append(_text(LEFT + ACROSS / 2, HEIGHT - 8, axes.across, "middle"))
    ends = _apart([axes.height(values[-1] or 0.0) for values in curves.values()])
    for (name, values), colour, end in zip(curves.items(), COLOURS, ends, strict=False):
        points = " ".join(
            f"{axes.place(at):.1f},{axes.height(value):.1f}"
            for at, value in enumerate(values)
            if value is not None
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(LEFT + ACROSS + 8, end + 4, name, "start", colour))
    return "\n".join([*parts, "</svg>", ""])


def _apart(places: Sequence[float], gap: float = 16) -> list[float]:
    """Places of labels, moved so that none covers another."""
    moved = list(places)
    taken = TOP - gap
    for index in sorted(range(len(places)), key=places.__getitem__):
        moved[index] = taken = max(places[index], taken + gap)
    return moved


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "none") -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-dasharray="{dashes}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
