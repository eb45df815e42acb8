"""Any number of digits: evaluations at growing precision until two of them agree."""

from __future__ import annotations

from typing import Any

from theorem_engine.asking.evaluation import compiled, plan_of
from theorem_engine.asking.point import Point
from theorem_engine.asking.ranges import within_ranges
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.precision import decimals
from theorem_engine.language.entry import Entry
from theorem_engine.language.statement import assemble, shape_errors

#: Digits carried beyond those asked for.
GUARD = 12


def evaluate_digits(entry: Entry, point: Point, digits: int) -> tuple[dict[str, Any], Any, str]:
    """Evaluate at growing precision until two evaluations agree on the digits asked for."""
    import numpy as np
    from mpmath import mp

    from theorem_engine.backends.multiprecision import BACKEND
    from theorem_engine.backends.multiprecision.group import Singular

    statement, _ = plan_of(entry, point.options)
    run = compiled(entry, point.options, "multiprecision")
    targets = statement.targets()
    precision = digits + GUARD
    previous: list[Any] | None = None
    problem = ""
    while precision <= 8 * (digits + 60):
        # many operators begin with their solution in double precision
        with decimals(precision), np.errstate(all="ignore"):
            try:
                results = run(*[BACKEND.number(v) for v in point.values])
            except Singular as found:
                previous, problem, precision = None, str(found), 2 * precision
                continue
            if previous is not None:
                gaps = [_gap(a, b, digits) for a, b in zip(previous, results, strict=True)]
                if all(gap is not None for gap in gaps):
                    pairs = [_cleared(v, gap) for v, gap in zip(results, gaps, strict=True)]
                    errors = {s: error for s, (_, error) in zip(targets, pairs, strict=True)}
                    cleared = {s: value for s, (value, _) in zip(targets, pairs, strict=True)}
                    values = within_ranges(entry, statement, cleared, lambda: errors)  # noqa: B023 - called before the next turn of the loop
                    with mp.workdps(digits):
                        rounded = {s: _rounded(v) for s, v in values.items()}
                    outputs = {name: assemble(shape, rounded) for name, shape in statement.outputs.items()}
                    shaped = {name: shape_errors(shape, rounded, errors) for name, shape in statement.outputs.items()}
                    return outputs, shaped, f"mpmath, {precision} digits carried"
        previous, precision = results, precision + max(10, precision // 3)
    problem = problem or f"evaluations up to {precision} digits do not agree on {digits} of them"
    raise NotConverged(f"{entry.id}: {problem}")


def _cleared(value: Any, error: Any) -> tuple[Any, Any]:
    """The value and its error; noise that is smaller than its own error is shown as zero, which has no digits."""
    if isinstance(value, list):
        parts = [_cleared(v, e) for v, e in zip(value, error, strict=True)]
        return [v for v, _ in parts], [e for _, e in parts]
    if not hasattr(value, "_mpf_") or not 0 < abs(value) <= error:
        return value, error
    return 0 * value, error + abs(value)


def _rounded(value: Any) -> Any:
    return value if isinstance(value, bool) or not hasattr(value, "_mpf_") else +value


def _gap(a: Any, b: Any, digits: int) -> Any:
    """Distance of two evaluations plus rounding, each of a list its own; None if it exceeds the digits asked for."""
    from mpmath import mp

    if isinstance(b, list):
        gaps = [_gap(x, y, digits) for x, y in zip(a, b, strict=True)]
        return None if any(g is None for g in gaps) else gaps
    if isinstance(b, bool) or not (hasattr(b, "_mpf_") or hasattr(b, "_mpc_")):
        return mp.zero if a == b else None
    if mp.isnan(b):
        return None
    if a == b:
        return abs(b) * mp.mpf(10) ** (-digits) if mp.isfinite(b) else mp.zero
    unit = mp.mpf(10) ** (-digits)
    gap = abs(a - b)
    # zero itself has no leading digit: both evaluations are rounding noise of their own precision, and fall with it,
    # which a small number does not
    noise = mp.mpf(10) ** (8 - digits - GUARD)
    is_zero = abs(a) < noise and abs(b) < mp.mpf(10) ** (8 - mp.dps) and (a == 0 or abs(b) < abs(a) / 1000)
    if gap <= unit * abs(b) / 10 or is_zero:
        return gap + unit * abs(b)
    return None
