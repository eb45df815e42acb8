"""Estimates at infinite size from simulations at several sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from theorem_engine.checking.evidence import Order, Row

#: The next term of a correction of one term may be this share of it at the smallest size: what the fit leaves out.
NEXT = 0.2
#: Later terms of a series are, at the smallest size, shares of the first of this standard deviation.
RATIO = 0.4
#: Chi-squared, of one degree of freedom, above which an order of correction is taken not to describe the sizes.
POOR = 6.6


def extrapolated_row(
    output: str,
    simulator: str,
    at_size: Sequence[tuple[int, Mapping[str, Row]]],
    orders: Sequence[Order],
    is_series: bool = False,
) -> Row:
    """The value at infinite size, with what the choice of sizes and of the order changes as a systematic error.

    Every stated order is fitted to all sizes and to all but the smallest; an order that is a pair stands for a
    correction of two terms, fitted to all sizes. What fits best gives the estimate; how far the other admissible fits
    lie from it bounds what is not known about the correction. To a correction of one term a share of it is added, for
    the next term. Of a series in one order the next terms are fitted too, and are part of the standard error.
    """
    sizes = [size for size, _ in at_size]
    rows = [found[output] for _, found in at_size]
    last = rows[-1]
    problem = next((row.problem for row in rows if row.problem), "")
    if problem or len(rows) < 2:
        return Row(output, simulator, last.estimate, raw=last.estimate, samples=last.samples,
                   problem=problem or "one size is not enough for a limit")  # fmt: skip
    values = [row.estimate for row in rows]
    # a sample without spread (a count, say) is known to rounding
    errors = [max(row.standard_error, 1e-12 * (1 + abs(row.estimate))) for row in rows]
    if is_series and isinstance(orders[0], float):
        return _of_series(output, simulator, sizes, rows, errors, orders[0])
    fits = sorted(_fits(sizes, values, errors, orders), key=lambda fit: (not fit[4], fit[3]))
    value, error, order, _, _ = fits[0]
    admissible = [fit for fit in fits if fit[3] <= max(POOR, 4 * fits[0][3])]
    # fits differ by their noise too: only what exceeds it is put down to the correction
    apart = max((max(0.0, abs(fit[0] - value) - math.hypot(fit[1], error) / 2) for fit in admissible), default=0.0)
    if len(order) == 1:
        apart += NEXT * _left_out(sizes, errors, order[0]) * abs(values[0] - value)
    poor = fits[0][3] > POOR
    shown = ", ".join(str(size) for size in sizes)
    terms = " and ".join(f"size^-{o:g}" for o in order)
    treatment = f"sizes {shown} extrapolated in {terms}" + ("; the fit is poor" if poor else "")
    if poor:
        apart += abs(values[-1] - value)
    return _row(output, simulator, rows, value, error, apart, treatment)


def _of_series(
    output: str, simulator: str, sizes: Sequence[int], rows: Sequence[Row], errors: Sequence[float], order: float
) -> Row:
    from theorem_engine.validators.statistics import extrapolate_series

    values = [row.estimate for row in rows]
    value, error, misfit = extrapolate_series(sizes, values, errors, order, RATIO)
    shown = ", ".join(str(size) for size in sizes)
    treatment = f"sizes {shown} extrapolated as a series from size^-{order:g} on"
    if misfit <= POOR:
        return _row(output, simulator, rows, value, error, 0.0, treatment)
    return _row(output, simulator, rows, value, error, abs(values[-1] - value), f"{treatment}; the fit is poor")


def _row(
    output: str, simulator: str, rows: Sequence[Row], value: float, error: float, apart: float, treatment: str
) -> Row:
    last = rows[-1]
    return Row(
        output, simulator, value, error, last.spread, systematic=apart + last.systematic,
        systematic_of="the extrapolation" if apart else last.systematic_of,
        skewness=max((row.skewness for row in rows), key=abs), dominance=max(row.dominance for row in rows),
        samples=sum(row.samples for row in rows), degrees=min(row.degrees for row in rows), treatment=treatment,
        raw=last.estimate, scale=last.scale,
    )  # fmt: skip


def _left_out(sizes: Sequence[int], errors: Sequence[float], order: float) -> float:
    """How far a unit of the next term at the smallest size, of twice the order, moves the value at infinite size."""
    from theorem_engine.validators.statistics import extrapolate

    return abs(extrapolate(sizes, [(sizes[0] / size) ** (2 * order) for size in sizes], errors, order)[0])


def _fits(
    sizes: Sequence[int], values: Sequence[float], errors: Sequence[float], orders: Sequence[Order]
) -> list[tuple[float, float, tuple[float, ...], float, bool]]:
    """Value, error, orders, chi-squared and whether all sizes took part, for each order and choice of sizes."""
    from theorem_engine.validators.statistics import extrapolate

    fits: list[tuple[float, float, tuple[float, ...], float, bool]] = []
    for order in orders:
        if isinstance(order, tuple):
            value, error = extrapolate(sizes, values, errors, order)
            fits.append((value, error, order, 0.0, True))
            continue
        for first in range(len(sizes) - 1):
            value, error = extrapolate(sizes[first:], values[first:], errors[first:], order)
            misfit = 0.0
            if first == 0 and len(sizes) > 2:
                # distance of the smallest size from the line through the others, in its own standard errors
                others, others_error = extrapolate(sizes[1:], values[1:], errors[1:], order)
                misfit = (value - others) ** 2 / max(others_error**2 - error**2, 1e-300)
            fits.append((value, error, (order,), misfit, first == 0))
    return fits
