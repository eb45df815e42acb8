"""A curve as SVG: axes with round numbers, a band for the error, gaps where there is no value, points with bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

_WIDTH, _HEIGHT = 640.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 76.0, 16.0, 14.0, 48.0
#: Positive values that span more than this are drawn on a logarithmic scale.
_TALL = 1e3
#: An error below this part of the height cannot be seen.
_VISIBLE = 2e-3
#: Radius of a measured point.
_RADIUS = 3.2


@dataclass(frozen=True)
class Plot:
    """What is drawn: places, values (NaN for a gap) and their errors; measured points as (place, value, error)."""

    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float]
    x_label: str
    y_label: str
    title: str
    is_logarithmic: bool = False
    points: Sequence[tuple[float, float, float]] = field(default_factory=tuple)


def plot_svg(plot: Plot) -> str:
    """The picture; ``data-`` attributes and a title tell what it shows."""
    across = _Axis(min(plot.x), max(plot.x), _LEFT, _WIDTH - _RIGHT, plot.is_logarithmic)
    up = _up([v for v in plot.y if math.isfinite(v)] + [v for _, v, _ in plot.points if math.isfinite(v)])
    parts = [_grid(across, up)]
    parts += [f'<path class="band" d="{d}"/>' for d in _bands(plot, across, up)]
    parts += [f'<path class="curve" d="{d}"/>' for d in _lines(plot, across, up)]
    parts += [_point(across, up, *point) for point in plot.points if math.isfinite(point[1])]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="label" x="{middle:.0f}" y="{_HEIGHT - 8:.0f}">{escape(plot.x_label)}</text>')
    half = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f'transform="rotate(-90 16 {half:.0f})"'
    parts.append(f'<text class="label" x="16" y="{half:.0f}" {turned}>{escape(plot.y_label)}</text>')
    return (
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img">'
        f"<title>{escape(plot.title)}</title>{''.join(parts)}</svg>"
    )


def hidden_error(values: Sequence[float], value: float) -> float:
    """The largest error of a measured value whose bar its dot hides, where a curve of these values is drawn."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite or not math.isfinite(value):
        return 0.0
    up = _up([*finite, value])
    part = _RADIUS / abs(up.end - up.start)
    return value * math.expm1(part * math.log(up.high / up.low)) if up.is_logarithmic else part * (up.high - up.low)


def _up(values: Sequence[float]) -> _Axis:
    """The axis of the values."""
    tall = min(values) > 0 and max(values) > _TALL * min(values)
    return _Axis(*_room(values, tall), _HEIGHT - _BOTTOM, _TOP, tall)


class _Axis:
    """A range of numbers along a stretch of the picture."""

    def __init__(self, low: float, high: float, start: float, end: float, is_logarithmic: bool) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end
        self.is_logarithmic = is_logarithmic

    def at(self, value: float) -> float:
        """Where a number stands, kept to the picture and a little beyond."""
        low, high, here = self.low, self.high, value
        if self.is_logarithmic:
            low, high, here = math.log(low), math.log(high), math.log(max(value, 5e-324))
        part = (here - low) / (high - low)
        return self.start + min(max(part, -0.02), 1.02) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers along the axis."""
        return _decades(self.low, self.high) if self.is_logarithmic else round_numbers(self.low, self.high)


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """At most so many multiples of 1, 2 or 5 times a power of ten.

    >>> round_numbers(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    unit = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(unit * k for k in (1, 2, 5, 10, 20) if (high - low) / (unit * k) <= most)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.log10(low), math.log10(high)
    if last - first < 1.2:
        return [t for t in round_numbers(low, high) if t > 0]
    every = max(1, math.ceil((last - first) / 6))
    found = [10.0**k for k in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1, every)]
    more = [m * 10.0**k for k in range(math.floor(first), math.ceil(last)) for m in (2, 5)] if last - first < 3 else []
    return sorted([*found, *(t for t in more if low <= t <= high)])


def _room(values: Sequence[float], tall: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if tall:
        return low / 1.3, high * 1.3
    # a constant is drawn as a level line, not as noise
    spread = max(high - low, 1e-6 * max(abs(low), abs(high)), 1e-12)
    middle = (low + high) / 2
    return (low - 0.06 * spread, high + 0.06 * spread) if high - low >= spread else (
        middle - 0.5 * max(abs(middle), 1e-3), middle + 0.5 * max(abs(middle), 1e-3))  # fmt: skip


def _grid(across: _Axis, up: _Axis) -> str:
    top, bottom, left, right = _TOP, _HEIGHT - _BOTTOM, _LEFT, _WIDTH - _RIGHT
    parts = [f'<rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>']
    for tick in across.ticks():
        x = across.at(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>')
        parts.append(f'<text class="tick x" x="{x:.1f}" y="{bottom + 17}">{_number(tick)}</text>')
    for tick in up.ticks():
        y = up.at(tick)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{right}"/>')
        parts.append(f'<text class="tick y" x="{left - 6}" y="{y + 4:.1f}">{_number(tick)}</text>')
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")


def _lines(plot: Plot, across: _Axis, up: _Axis) -> list[str]:
    """One path for each run of values without a gap."""
    return [
        "M" + "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y, _ in run) for run in _runs(plot) if len(run) > 1
    ]


def _bands(plot: Plot, across: _Axis, up: _Axis) -> list[str]:
    """The range of one error on both sides, where it is wide enough to be seen."""
    found = []
    for run in _runs(plot):
        if not all(math.isfinite(e) for _, _, e in run) or len(run) < 2:
            continue
        above = [(across.at(x), up.at(y + e)) for x, y, e in run]
        below = [(across.at(x), up.at(y - e)) for x, y, e in run]
        if max(b - a for (_, a), (_, b) in zip(above, below, strict=True)) > _VISIBLE * _HEIGHT:
            found.append("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in [*above, *reversed(below)]) + "Z")
    return found


def _runs(plot: Plot) -> list[list[tuple[float, float, float]]]:
    runs: list[list[tuple[float, float, float]]] = [[]]
    for x, y, error in zip(plot.x, plot.y, plot.errors, strict=True):
        if math.isfinite(y):
            runs[-1].append((x, y, error))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _point(across: _Axis, up: _Axis, x: float, y: float, error: float) -> str:
    at, middle = across.at(x), up.at(y)
    bar = f'<path class="bar" d="M{at:.1f} {up.at(y - error):.1f}V{up.at(y + error):.1f}"/>' if error > 0 else ""
    return f'{bar}<circle class="point" cx="{at:.1f}" cy="{middle:.1f}" r="{_RADIUS}"/>'
