"""What token means of one weight and of two share: points one by one or together, lengths, sums of integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from theorem_engine.backends.rounded.number import Rounded, error_of, value_of
from theorem_engine.base.errors import NotAvailable, OutOfDomain
from theorem_engine.base.exact import as_float
from theorem_engine.base.reports import note
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.token_layout import Layout
from theorem_engine.numerics.laplace.nodes import refuse_too_many
from theorem_engine.numerics.laplace.sums import power_of_survival
from theorem_engine.numerics.remembering import remembered, remembering
from theorem_engine.numerics.roughly import is_rough

#: Points of a token held fixed that are evaluated together.
TOGETHER = 20_000


def over_points(method: Callable[..., list[tuple[Any, Any]]], values: tuple[Any, ...]) -> list[Any]:
    """Values of a method of scalars at each point; lengths are opaque."""
    shape = np.broadcast_shapes(*[np.shape(v) for v in values]) if values else ()
    if shape == () or method.shares(values):  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            if shape == ():
                results = _once(method, values)
            else:
                results = method(*values) if math.prod(shape) <= TOGETHER else _in_parts(method, values, shape)
        note("token mean", [e for _, e in results])
        return [v for v, _ in results]
    flat = [np.broadcast_to(np.asarray(v, dtype=object), shape).ravel() for v in values]
    with np.errstate(all="ignore"), remembering():
        rows = [_once(method, tuple(v[i] for v in flat)) for i in range(flat[0].size)]
    columns = list(zip(*rows, strict=True))
    note("token mean", [np.array([float(e) for _, e in c]).reshape(shape) for c in columns])
    return [np.array([float(v) for v, _ in c]).reshape(shape) for c in columns]


def _once(method: Callable[..., list[tuple[Any, Any]]], point: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The values at one point; among many, and inside an error, points come back."""
    numbers = tuple(v.item() if getattr(v, "ndim", None) == 0 and hasattr(v, "item") else v for v in point)
    key = (method.meaning, is_rough(), numbers)  # type: ignore[attr-defined]
    found: list[tuple[Any, Any]] = remembered(key, lambda: method(*point))
    return found


def _in_parts(
    method: Callable[..., list[tuple[Any, Any]]], values: tuple[Any, ...], shape: tuple[int, ...]
) -> list[tuple[Any, Any]]:
    """The same for many points, some at a time."""
    flat = [np.broadcast_to(v, shape).ravel() if np.ndim(v) else v for v in values]
    parts = [
        method(*(v[i : i + TOGETHER] if np.ndim(v) else v for v in flat)) for i in range(0, math.prod(shape), TOGETHER)
    ]
    return [
        (
            np.concatenate([p[k][0] for p in parts]).reshape(shape),
            np.concatenate([p[k][1] for p in parts]).reshape(shape),
        )
        for k in range(len(parts[0]))
    ]


def lengths_of(value: Any) -> list[tuple[int, float]]:
    """Lengths and their probabilities."""
    if isinstance(value, Distribution):
        return [(int(n), as_float(w)) for n, w in value.weights]
    return [(round(float(value)), 1.0)]


def combine(layout: Layout, coefficients: list[Any], integrals: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The means from the integrals, with their errors."""
    results = []
    for terms in layout.sums:
        value: Any = 0.0
        error: Any = 0.0
        for c, p in terms:
            value = value + coefficients[c] * integrals[p][0]
            error = error + abs(coefficients[c]) * integrals[p][1]
        results.append((value, error))
    return results


def sum_of_powers(log_b: Any, lengths: list[tuple[int, float]], hidden: int, count: int) -> Any:
    """Sum over lengths of P(n) times the number of ordered choices of ``count`` tokens times B^(the others)."""
    refuse_too_many(len(lengths) * np.size(log_b), 400_000_000)
    total: Any = np.zeros_like(log_b)
    for n, weight in lengths:
        choices = math.perm(n - hidden, count)
        if choices:
            total = total + weight * choices * power_of_survival(log_b, n - hidden - count)
    return total


def check_kernel(logs: Any, may_vanish: bool) -> float:
    """A kernel must be positive and monotone wherever the tokens reach; how far log h is off by rounding."""
    if np.any(np.isnan(logs)) or (not may_vanish and np.any(np.isneginf(logs))):
        raise OutOfDomain("the kernel of the weights is not positive everywhere the tokens reach")
    if np.any(np.isposinf(logs)):
        raise NotAvailable("the kernel of the weights overflows where the tokens reach; write it through softplus")
    with np.errstate(invalid="ignore"):
        falls = np.maximum.accumulate(logs, axis=-1) - logs
        rises = logs - np.minimum.accumulate(logs, axis=-1)
    turns = min(float(np.max(np.nan_to_num(part, nan=0.0))) for part in (falls, rises))
    # a kernel written as a difference of large numbers is rounded like these
    if turns > 1e-9:
        raise OutOfDomain("the kernel of the weights is not monotone where the tokens reach")
    return turns


def rounding_of(kernel: Callable[[Any], Any], x: Any) -> Any:
    """How far log h is off by rounding at each node; nothing where h vanishes."""
    with np.errstate(all="ignore"):
        found = kernel(Rounded(x))
        errors = np.broadcast_to(error_of(found), x.shape)
        return np.where(np.isneginf(value_of(found)), 0.0, errors)
