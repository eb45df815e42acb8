"""Evidence: what the simulators of an entry say at a point, before anything is compared with the theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import BadRequest
from theorem_engine.base.exact import as_float
from theorem_engine.language.domains import Structured
from theorem_engine.language.entry import Entry
from theorem_engine.language.regime import UNKNOWN_ORDERS, Limit, Power

if TYPE_CHECKING:
    from theorem_engine.validators.simulator import Simulator

#: Deviation, relative to the scale of an output, that a check must be able to see before it may agree.
RELEVANT = 0.01
#: Deviation that is worth seeing too, where that costs little time.
WELCOME = 0.003
#: Standard errors by which a relevant deviation must exceed the threshold to be seen 95 times in 100.
POWER = 1.645
#: An output predicted to be exactly zero is confirmed by zero up to this.
ROUNDING = 1e-9


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
    #: What the systematic error comes from, in words.
    systematic_of: str = ""
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
    #: Whether the simulator was told this output by the prediction: then it can refute it, but not measure it.
    given: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Effort:
    """How much may be spent, and from which random numbers."""

    seconds: float | None = 20.0
    samples: int | None = None
    seed: int = 0
    #: Choices of the simulators that the theorem does not assume, by name.
    variants: Mapping[str, str] = field(default_factory=dict)
    #: Two-sided threshold in standard errors that the sample size is planned for.
    threshold: float = 4.0


def read_effort(seconds: Any, samples: Any, seed: Any, variants: Mapping[str, str]) -> Effort:
    """What a user allows: so many seconds, or so many samples and then no clock."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise BadRequest(f"seconds={seconds!r} is not a positive number")
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int) or samples < 2):
        raise BadRequest(f"samples={samples!r} is not a whole number of at least 2")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadRequest(f"seed={seed!r} is not a whole number of at least 0")
    return Effort(None if samples is not None else float(seconds), samples, seed, variants)


@dataclass
class Evidence:
    """All rows, and the reasons why there are no more."""

    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plain_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point of exact values as the numbers and names that simulators read."""
    return {name: _plain(value) for name, value in point.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, Structured):
        return value.plain()
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


def stated_orders(entry: Entry, simulator: Simulator, point: Mapping[str, Any]) -> tuple[Order, ...]:
    """Powers of the size that the finite-size correction may have: the simulator's word, else the entry's."""
    stated = simulator.orders_at(point)
    if stated:
        return stated
    known = entry.regime.orders if isinstance(entry.regime, Limit) else ()
    return tuple(_as_floats(order) for order in known or UNKNOWN_ORDERS)


def _as_floats(order: Power) -> Order:
    return (float(order[0]), float(order[1])) if isinstance(order, tuple) else float(order)
