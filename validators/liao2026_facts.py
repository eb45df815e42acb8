"""What changes nothing in the interpolation error, and the error at a given linear part, on the same matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from .liao2026 import SIZE, attention_error, correction_orders
from .liao2026_model import Array, Point, series_from
from .simulator import simulator


def _products(point: Point) -> dict[str, float]:
    """Inner products of mu, w_K and w_Q, from the words for them too."""
    snr = float(point.get("snr", 0.0))
    words: dict[Any, tuple[float, ...]] = {
        "aligned": (snr, snr, snr, snr, snr),
        "unit-aligned": (1.0, 1.0, np.sqrt(snr), np.sqrt(snr), 1.0),
        "orthogonal": (1.0, 1.0, 0.0, 0.0, 0.0),
        "none": (0.0,) * 5,
    }
    names = ("key_norm2", "query_norm2", "mu_key", "mu_query", "key_query")
    if "weights" in point:
        return dict(zip(names, words[point["weights"]], strict=True))
    return {name: float(point[name]) for name in names}


def _errors(point: Point, rng: Generator, count: int, others: dict[str, dict[str, float]]) -> dict[str, Array]:
    """Errors at other letters less those at the point's own, on the same tokens."""
    rest = {name: value for name, value in point.items() if name not in ("weights", "t")}
    seed, weights = int(rng.integers(2**63)), _products(point)

    def error(**changed: float) -> Array:
        return attention_error({**rest, **weights, **changed}, np.random.default_rng(seed), count)["error"]

    base = error()
    return {name: error(**changed) - base for name, changed in others.items()}


@simulator(size=SIZE, orders=correction_orders, cost=3.0, scale=1.0, covers=("scaled", "flipped", "balanced"))
def changes(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Errors after a change less those before; f is changed where its moments are given."""
    t, weights = float(point["t"]), _products(point)
    turned = {"key_norm2": t**2 * weights["key_norm2"], "query_norm2": weights["query_norm2"] / t**2,
              "mu_key": t * weights["mu_key"], "mu_query": weights["mu_query"] / t}  # fmt: skip
    others = {"balanced": turned}
    if "second_moment" in point:
        slope, moment = float(point.get("a1", 0.0)), float(point["second_moment"])
        others["scaled"] = {"gamma": t**2 * float(point["gamma"]), "a1": t * slope, "second_moment": t**2 * moment}
        others["flipped"] = {"a1": -slope}
    return _errors(point, rng, count, others)


@simulator(size=SIZE, orders=correction_orders, cost=3.0, series_from=series_from, scale=1.0, covers=("exchanged",))
def exchange(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error with w_K and w_Q exchanged less the error, on the same tokens."""
    weights = _products(point)
    swapped = {"key_norm2": weights["query_norm2"], "query_norm2": weights["key_norm2"],
               "mu_key": weights["mu_query"], "mu_query": weights["mu_key"]}  # fmt: skip
    return _errors(point, rng, count, {"exchanged": swapped})


@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_from, takes=("a1",), covers=("error", "linear")
)
def at_linear_part(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error at the linear part that is said to be best, and that of a linear f of the same second moment."""
    found = {}
    for name, slope in (("error", float(point["a1"])), ("linear", float(np.sqrt(float(point["second_moment"]))))):
        found[name] = attention_error({**point, "a1": slope}, rng, count)["error"]
    return found
