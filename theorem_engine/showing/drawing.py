"""Panels drawn with matplotlib: one function for each kind of mark, the same for all figures."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorem_engine.language.panel import (
    BLACK,
    PALETTE,
    Arrows,
    Axis,
    Band,
    Contours,
    Curve,
    Dots,
    Level,
    Mark,
    Panel,
    Surface,
    Words,
)

#: Shapes of dots by their tone, told apart without colours too.
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "<")
STYLES = {"solid": "-", "dashed": "--", "dotted": ":", "dash-dot": "-."}
#: Letters that captions spell.
_LETTERS = {
    "alpha": "\u03b1", "gamma": "\u03b3", "delta": "\u03b4", "eps": "\u03b5", "eta": "\u03b7", "theta": "\u03b8",
    "kappa": "\u03ba", "lam": "\u03bb", "mu": "\u03bc", "nu": "\u03bd", "rho": "\u03c1", "sigma": "\u03c3",
    "oo": "\u221e",
}  # fmt: skip
_SPELLED = re.compile(rf"(?<![A-Za-z])({'|'.join(_LETTERS)})(?![A-Za-z])")
#: Ratio of the ends of a logarithmic axis below which numbers between powers of ten are labelled.
FEW_POWERS = 100.0
#: Letters of the caption to an inch of the figure's width.
LETTERS = 17


def draw_panels(canvas: Any, panels: Sequence[Panel], columns: int, title: str, caption: str) -> None:
    """All panels on a matplotlib figure, row by row, the title above and the caption below."""
    across = columns or len(panels)
    rows = -(-len(panels) // across)
    places = canvas.subplots(rows, across, squeeze=False).ravel()
    told: set[str] = set()
    for axes, panel in zip(places, panels, strict=False):
        for mark in panel.marks:
            DRAWN[type(mark)](axes, mark)
        _set_axis(axes, axes.xaxis, "x", panel.x)
        _set_axis(axes, axes.yaxis, "y", panel.y)
        if panel.square:
            axes.set_aspect("equal")
        # words of upright lines stand between the panel and its title
        has_words = any(isinstance(mark, Level) and mark.upright and mark.words for mark in panel.marks)
        axes.set_title(panel.title, pad=20 if has_words else 6, fontsize=10)
        _add_legend(axes, panel, told)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    canvas.suptitle(title, fontsize=12)
    width = int(LETTERS * canvas.get_figwidth())
    canvas.supxlabel(textwrap.fill(in_symbols(caption), width), x=0.01, ha="left", fontsize=8)


def in_symbols(caption: str) -> str:
    """A caption with its Greek letters as such, and nothing of the marks of a docstring.

    >>> in_symbols("``nu`` = oo, gamma^2 = 1/2, alpha_alg")
    'ν = ∞, γ^2 = 1/2, α_alg'
    """
    return _SPELLED.sub(lambda found: _LETTERS[found[0]], caption.replace("`", ""))


def _colour(mark: Mark) -> str:
    return BLACK if isinstance(mark.tone, str) else PALETTE[mark.tone % len(PALETTE)]


def _set_axis(axes: Any, axis: Any, name: str, facts: Axis) -> None:
    if facts.scale == "symmetric":
        getattr(axes, f"set_{name}scale")("symlog", linthresh=facts.linear, linscale=2)
    else:
        getattr(axes, f"set_{name}scale")(facts.scale)
    axis.set_label_text(facts.words)
    if facts.ticks is not None:
        axis.set_ticks(list(facts.ticks), [f"{tick:g}" for tick in facts.ticks])
        axis.set_ticks([], minor=True)
    getattr(axes, f"set_{name}lim")(facts.low, facts.high)
    if facts.scale == "log" and facts.ticks is None:
        _set_log_ticks(axis, *getattr(axes, f"get_{name}lim")())


def _set_log_ticks(axis: Any, low: float, high: float) -> None:
    """Numbers 1, 2, 5 at each power of ten where there are few powers, which alone are labelled elsewhere."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if high / low < FEW_POWERS and 1e-3 <= low <= high <= 1e5:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    # two labels within a power of ten would meet
    axis.set_minor_formatter(NullFormatter())


def _add_legend(axes: Any, panel: Panel, told: set[str]) -> None:
    """Each label once, in the first panel that has one that was not told before."""
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    if unique.keys() - told:
        axes.legend(unique.values(), unique.keys(), loc=panel.legend, fontsize=8, framealpha=0.9)
        told.update(unique)


def _draw_curve(axes: Any, mark: Curve) -> None:
    axes.plot(
        np.asarray(mark.x), np.asarray(mark.y), STYLES[mark.dash], color=_colour(mark), lw=mark.width,
        marker="." if mark.dots else None, label=mark.label or None,
    )  # fmt: skip


def _draw_dots(axes: Any, mark: Dots) -> None:
    shape = SHAPES[0] if isinstance(mark.tone, str) else SHAPES[mark.tone % len(SHAPES)]
    axes.errorbar(
        np.asarray(mark.x), np.asarray(mark.y), None if mark.error is None else np.asarray(mark.error), fmt=shape,
        ms=mark.size, capsize=2, color=_colour(mark), label=mark.label or None, clip_on=False, zorder=3,
    )  # fmt: skip


def _draw_band(axes: Any, mark: Band) -> None:
    low, high = np.asarray(mark.low), np.asarray(mark.high)
    axes.fill_between(np.asarray(mark.x), low, high, color=_colour(mark), alpha=0.25, lw=0, label=mark.label or None)


def _draw_level(axes: Any, mark: Level) -> None:
    line = axes.axvline if mark.upright else axes.axhline
    line(mark.at, color=_colour(mark), lw=0.9, ls=STYLES[mark.dash], label=mark.label or None)
    if mark.words:
        place, across = ((mark.at, 1.02), ("data", "axes fraction")) if mark.upright else (
            (0.99, mark.at), ("axes fraction", "data"))  # fmt: skip
        side = {"left": "right", "right": "left"}[mark.side] if mark.upright else "right"
        axes.annotate(mark.words, place, xycoords=across, ha=side, va="bottom", fontsize=8)


def _draw_surface(axes: Any, mark: Surface) -> None:
    from matplotlib.colors import TwoSlopeNorm

    z = np.asarray(mark.z, dtype=float)
    low, high = min(float(z.min()), mark.middle - 1e-6), max(float(z.max()), mark.middle + 1e-6)
    scale = TwoSlopeNorm(mark.middle, low, high)
    mesh = axes.pcolormesh(np.asarray(mark.x), np.asarray(mark.y), z, cmap="RdBu_r", norm=scale, shading="nearest")
    ticks = [*np.linspace(low, mark.middle, 3), *np.linspace(mark.middle, high, 5)[1:]]
    axes.figure.colorbar(mesh, ax=axes, ticks=ticks, format="%.2g", label=mark.words)


def _draw_contours(axes: Any, mark: Contours) -> None:
    z = np.asarray(mark.z, dtype=float)
    listed = not isinstance(mark.levels, int)
    if listed and not any(z.min() < level < z.max() for level in mark.levels):  # type: ignore[union-attr]
        return
    looks: dict[str, Any] = {"colors": _colour(mark), "linewidths": 1.5} if listed else {
        "cmap": "Greys", "linewidths": 0.6}  # fmt: skip
    axes.contour(np.asarray(mark.x), np.asarray(mark.y), z, levels=mark.levels, linestyles=STYLES[mark.dash], **looks)
    if mark.label:
        axes.plot([], [], STYLES[mark.dash], color=_colour(mark), label=mark.label)


def _draw_arrows(axes: Any, mark: Arrows) -> None:
    u, v = np.asarray(mark.u), np.asarray(mark.v)
    size = np.hypot(u, v)
    unit = np.where(size > 0, size, 1.0)
    arrows = axes.quiver(np.asarray(mark.x), np.asarray(mark.y), u / unit, v / unit, size, cmap="viridis")
    axes.figure.colorbar(arrows, ax=axes, label=mark.words)


def _draw_words(axes: Any, mark: Words) -> None:
    axes.text(0.5, 0.5, mark.text, ha="center", va="center", transform=axes.transAxes, fontsize=9)


#: How each kind of mark is drawn.
DRAWN: dict[type[Mark], Callable[[Any, Any], None]] = {
    Curve: _draw_curve, Dots: _draw_dots, Band: _draw_band, Level: _draw_level, Surface: _draw_surface,
    Contours: _draw_contours, Arrows: _draw_arrows, Words: _draw_words,
}  # fmt: skip
