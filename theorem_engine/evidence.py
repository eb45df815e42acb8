"""Evidence: what the simulators of an entry say at a point, before anything is compared with the theorem.

A simulator may state facts about itself as attributes; a plain sampler states none.

- ``deterministic``: it returns runs of one computation, not samples. ``tolerance`` is its relative accuracy
  (1e-6 if absent). What two runs differ by shows how far rounding or step sizes were magnified; an output named
  ``accuracy`` bounds the absolute error of all others.
- ``scale``: natural size of its outputs, one for products of unit vectors; a percent of it is a relevant deviation.
- ``systematic``: relative bound on what its samples are off by in the mean.
- ``order``: power of the size in the leading finite-size correction, where the entry's own words leave it open, or
  a pair where the next term is not small, or a list of those that may be it; a function of the point where it
  depends on that.
- ``exact``: it simulates a limit itself, and has no size to grow.
- ``size``: sizes around which a limit is simulated, where ``SIZE`` of its module is not large enough.
- ``own_size``: its size is the ``size`` of a point, whatever whole-number letters the entry has.
- ``takes``: outputs of the prediction that it is told, as values of the point; what it returns must be equal to
  others, or to the same ones by an identity.
- ``random_letter``: the prediction is a random path itself, drawn by this letter; the two laws are compared.
- ``token_laws``: the laws it can draw tokens from, as ``point["tokens"]``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from theorem_engine.declaration import Entry
from theorem_engine.domains import ComplexValue, Distribution
from theorem_engine.simulators import simulator
from theorem_engine.values import as_float

#: Deviation, relative to the scale of an output, that a check must be able to see before it may agree.
RELEVANT = 0.01
#: Standard errors by which a relevant deviation must exceed the threshold to be seen 95 times in 100.
POWER = 1.645


#: A power of the size, or the powers of two terms.
Order = float | tuple[float, float]
#: Outputs of a random prediction, each for many values of one letter.
Redraw = Callable[[str, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """What one simulator says about one output."""

    output: str
    simulator: str
    estimate: Any
    standard_error: float = 0.0
    #: Standard deviation of one sample; of runs of a computation, how far they lie apart.
    spread: float = 0.0
    #: Bound on what the estimate is off by whatever the number of samples.
    systematic: float = 0.0
    #: Skewness of the mean: that of a sample over the square root of their number.
    skewness: float = 0.0
    #: Share of the spread that a few samples make up.
    dominance: float = 0.0
    samples: int = 0
    degrees: float = math.inf
    deterministic: bool = False
    tolerance: float = 0.0
    scale: float = 0.0
    treatment: str = ""
    #: Estimate at the largest size, where the estimate is an extrapolation.
    raw: float | None = None
    #: Whether a limit was simulated at one size only, which cannot refute it.
    one_size: bool = False
    #: Means of random predictions, which take the place of the prediction.
    predicted: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Effort:
    """How much may be spent, and from which random numbers."""

    seconds: float | None = 20.0
    samples: int | None = None
    seed: int = 0
    tokens: str = "gaussian"
    #: Two-sided threshold in standard errors that the sample size is planned for.
    threshold: float = 4.0


@dataclass
class Evidence:
    """All rows, and the reasons why there are no more."""

    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def named_simulators(entry: Entry) -> list[tuple[str, Callable[..., Any]]]:
    """The functions an entry names, by text or as they are."""
    return [
        (check, simulator(check)) if isinstance(check, str) else (f"{_module(check)}.{check.__name__}", check)
        for check in entry.checks
    ]


def _module(function: Any) -> str:
    return str(function.__module__).rpartition(".")[2]


def plain_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point of exact values as the numbers and names that simulators read."""
    return {name: _plain(value) for name, value in point.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, Distribution):
        return value.weights[0][0] if len(value.weights) == 1 else {n: as_float(w) for n, w in value.weights}
    if isinstance(value, ComplexValue):
        return complex(as_float(value.real), as_float(value.imaginary))
    try:
        number = as_float(value)
    except (TypeError, ValueError, AttributeError):
        return value
    return int(number) if math.isfinite(number) and number == int(number) else number


def flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Numbers, truth values and words of an output, each under a name of its own."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from flatten(f"{name}.{key}", part)
    elif isinstance(value, (list, tuple)) or (hasattr(value, "ndim") and value.ndim):
        for i, part in enumerate(value):
            yield from flatten(f"{name}.{i}", part)
    elif isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        yield f"{name}.re", float(value.real)
        yield f"{name}.im", float(value.imag)
    elif isinstance(value, (bool, str)):
        yield name, value
    elif value is not None:
        item = value.item() if hasattr(value, "item") else value
        yield name, item if isinstance(item, (bool, str)) else float(item)


def flat_outputs(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """All leaves of a prediction's outputs by name."""
    return {name: leaf for output, value in outputs.items() for name, leaf in flatten(output, value)}


def stated_orders(entry: Entry, function: Any, point: Mapping[str, Any] | None = None) -> tuple[Order, ...]:
    """Powers of the size that the finite-size correction may have: the simulator's word, else the entry's."""
    if hasattr(function, "order"):
        stated = function.order(point or {}) if callable(function.order) else function.order
        return tuple(stated) if isinstance(stated, list) else (stated,)
    text = entry.regime.correction
    found = [0.5] if re.search(r"1/sqrt", text) else []
    if re.search(r"1/[A-Za-z]\b", text):
        found.append(1.0)
    return tuple(found) or (0.5, 1.0)
