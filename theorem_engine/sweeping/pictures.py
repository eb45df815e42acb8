"""Curves and points on matplotlib canvases: a colour-blind safe palette, sensible axes, bands for errors."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theorem_engine.base.errors import BadRequest, NotAvailable
from theorem_engine.base.exact import as_float, to_text
from theorem_engine.base.files import write_whole
from theorem_engine.language.panel import PALETTE as COLOURS

if TYPE_CHECKING:
    from theorem_engine.sweeping.comparison import Comparison

#: Black comes last: it is the colour of what stands alone.
PALETTE = (*COLOURS, "#000000")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: An axis of positive values that span more than this is logarithmic unless it is evenly spaced.
WIDE_SPAN = 20.0
#: Residuals within this band are ordinary.
ORDINARY = 2.0


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure; ``save`` writes it whole or not at all."""

    figure: Any

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the picture; the ending of the name chooses the format."""
        save_picture(path, lambda: self.figure, overwrite=overwrite)

    def _repr_png_(self) -> bytes:
        return picture_bytes(self.figure)


def save_picture(path: Path | str, draw: Callable[[], Any], *, overwrite: bool, others: tuple[str, ...] = ()) -> None:
    """Write what is drawn, once the ending of the name is known to be that of a format; ``others`` are named too."""
    ending = Path(path).suffix
    if ending not in picture_endings():
        known = ", ".join((*picture_endings(), *others))
        raise BadRequest(f"{path}: the ending of the name must be one of {known}")
    write_whole(path, picture_bytes(draw(), ending.removeprefix("."), dpi=150), overwrite=overwrite)


def picture_bytes(figure: Any, form: str = "png", dpi: int = 110) -> bytes:
    """A matplotlib figure in one of its formats."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form, dpi=dpi)
    return buffer.getvalue()


def new_figure(size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """An empty figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NotAvailable("plots need matplotlib: pip install 'theorem-engine[plot]'") from None
    return Figure(figsize=size, layout="constrained")


def picture_endings() -> tuple[str, ...]:
    """Endings of the names of files that a picture can be written to."""
    return tuple(f".{ending}" for ending in new_figure().canvas.get_supported_filetypes())


def style(number: int) -> dict[str, Any]:
    """Colour and dashes of a curve; no two of the first 28 share both."""
    return {
        "color": PALETTE[number % len(PALETTE)],
        "linestyle": DASHES[number // len(PALETTE) % len(DASHES)],
    }


def marker(number: int) -> dict[str, Any]:
    """Colour and shape of a set of points."""
    return {"color": PALETTE[number % len(PALETTE)], "marker": MARKERS[number % len(MARKERS)], "linestyle": "none"}


def is_logarithmic(values: Any) -> bool:
    """Whether values ask for a logarithmic axis: positive, over more than a factor of 20, not evenly spaced.

    >>> is_logarithmic([1, 10, 100, 1000]), is_logarithmic([0, 1, 10, 100]), is_logarithmic(range(1, 100))
    (True, False, False)
    """
    places = np.unique(np.asarray(values, dtype=float))
    places = places[np.isfinite(places)]
    if len(places) < 3 or places[0] <= 0 or places[-1] < WIDE_SPAN * places[0]:
        return False
    # the middle of a geometric grid is far below the middle of its ends
    return bool(np.median(places) < 0.4 * (places[0] + places[-1]))


def draw_band(axes: Any, x: Any, y: Any, errors: Any, color: Any) -> None:
    """The range of one error on both sides of a curve."""
    good = np.isfinite(errors)
    if np.any(good & (errors > 0)):
        axes.fill_between(
            x,
            y - np.where(good, errors, np.nan),
            y + np.where(good, errors, np.nan),
            color=color,
            alpha=0.2,
            linewidth=0,
        )


def draw_comparison(comparison: Comparison) -> Picture:
    """Points with error bars and the theorem above, residuals in standard errors below."""
    figure = new_figure((6.4, 5.4))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    groups, letter = _groups(comparison)
    for number, (label, x, one, here) in enumerate(groups):
        order = np.argsort(x, kind="stable")
        points = marker(number)
        measured = one.measured
        upper.errorbar(x, measured.values[here], yerr=measured.errors[here], capsize=2, label=label or "data", **points)
        curve = {**style(number), "linestyle": "-"}
        upper.plot(x[order], one.theorem[here][order], label=None if label else "theorem", **curve)
        draw_band(upper, x[order], one.theorem[here][order], one.theorem_errors[here][order], curve["color"])
        lower.plot(x, one.residuals[here], **points)
    lower.axhspan(-ORDINARY, ORDINARY, color="0.9", zorder=0)
    lower.axhline(0, color="0.4", linewidth=0.8)
    upper.set_ylabel(" / ".join(dict.fromkeys(one.measured.output for one in comparison.sets)))
    lower.set_ylabel("residual\n(std. errors)")
    lower.set_xlabel(letter)
    if letter and is_logarithmic(np.concatenate([x for _, x, _, _ in groups])):
        lower.set_xscale("log")
    upper.set_title(f"{comparison.entry.id}: {comparison.summary()}", fontsize="medium")
    upper.legend(fontsize="small")
    return Picture(figure)


def _groups(comparison: Comparison) -> tuple[list[tuple[str, Any, Any, Any]], str]:
    """Points that make one curve: the letter with most values runs along the axis, the others name the curve."""
    rows = [(one, point) for one in comparison.sets for point in one.measured.points]
    numbers = _numeric_letters([point for _, point in rows])
    counts = {name: len({point[name] for _, point in rows if name in point}) for name in numbers}
    letter = max(counts, key=lambda name: counts[name], default="")
    found = []
    for one in comparison.sets:
        others: dict[str, list[int]] = {}
        for i, point in enumerate(one.measured.points):
            label = ", ".join(f"{k}={to_text(v)}" for k, v in point.items() if k != letter and _varies(rows, k))
            others.setdefault(label, []).append(i)
        for label, members in others.items():
            here = np.array(members)
            x = np.array([as_float(one.measured.points[i][letter]) if letter else i + 1.0 for i in members])
            name = one.measured.name if len(comparison.sets) > 1 else ""
            found.append((", ".join(part for part in (name, label) if part), x, one, here))
    return found, letter


def _numeric_letters(points: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [name for name in points[0] if all(name in point for point in points)]
    return [name for name in names if all(_is_real(point[name]) for point in points)]


def _is_real(value: Any) -> bool:
    try:
        return bool(np.isfinite(as_float(value)))
    except (TypeError, ValueError, AttributeError):
        return False


def _varies(rows: Sequence[tuple[Any, Mapping[str, Any]]], name: str) -> bool:
    return len({to_text(point[name]) for _, point in rows if name in point}) > 1
