"""What a simulator says about itself: frozen facts beside the function that draws, for whoever compares.

A plain function states no facts: it draws samples whose means are the outputs at exactly the point it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: A power of the size, or the powers of two terms of which the second is not small.
Order = float | tuple[float, float]
Orders = tuple[Order, ...]


@dataclass(frozen=True, eq=False)
class Simulator:
    """A function ``(point, rng, count) -> {output: samples}`` and the facts about it; called like the function.

    >>> def heads(point, rng, count):
    ...     return {"share": rng.random(count) < point["p"]}
    >>> Simulator(heads, scale=1.0).scale
    1.0
    """

    function: Callable[..., Mapping[str, Any]] = field(repr=False)
    #: It simulates a limit itself, and has no size to grow.
    exact: bool = False
    #: Sizes around which a limit is simulated, as a geometric mean; zero if it has none of its own.
    size: int = 0
    #: The smallest size at which its correction is what ``orders`` say; zero where that is not known.
    smallest: int = 0
    #: Its size is the ``size`` of a point, whatever whole-number letters the entry has.
    own_size: bool = False
    #: Powers of one over the size that the finite-size correction may have, or a pair for one of two terms; or a
    #: function of the point where they depend on that. None of them: the entry says it.
    orders: Orders | Callable[[Mapping[str, Any]], Orders] = ()
    #: Power of the size that the time of one sample grows with; zero where there is no size.
    cost: float = 0.0
    #: Size from which on the correction is a series in powers of its one order, or a function of the point for that;
    #: zero where it is not known. Small sizes are cheap, and such a series can be told from them.
    series_from: int | Callable[[Mapping[str, Any]], int] = 0
    #: Other letters of a point that is drawn at another size than it was asked for, as a function of both: those that
    #: keep the limit the same.
    kept: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]] | None = None
    #: It returns runs of one computation, not samples. What two runs differ by shows how far rounding or step sizes
    #: were magnified; an output named ``accuracy`` bounds the absolute error of all others.
    deterministic: bool = False
    #: Relative accuracy of a computation.
    tolerance: float = 1e-6
    #: Natural size of its outputs, one for products of unit vectors; a percent of it is a relevant deviation. By output
    #: where some have one and others, which it does not name, have none.
    scale: float | Mapping[str, float] = 0.0
    #: Relative bound on what its samples are off by in the mean, or a function of the point for that.
    systematic: float | Callable[[Mapping[str, Any]], float] = 0.0
    #: It draws all there is, which takes long: where others of an entry measure the same it is left to its variants.
    whole: bool = False
    #: Outputs that it returns, at some points at least.
    covers: tuple[str, ...] = ()
    #: Outputs of the prediction that it is told, as values of the point; what it returns must be equal to others, or
    #: to the same ones by an identity.
    takes: tuple[str, ...] = ()
    #: The prediction is a random path itself, drawn by this letter; the two laws are compared.
    random_letter: str = ""
    #: Names of choices that are the simulator's own, each with its values; the theorem assumes the first.
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the function's name and text, so that it is found, shown and fingerprinted as before."""
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.function, name, ""))
        object.__setattr__(self, "__wrapped__", self.function)

    def __call__(self, point: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Samples, as the function gives them."""
        return self.function(point, *args, **kwargs)

    def __reduce__(self) -> str:
        """Travel by name, as functions do: another process imports it."""
        return str(self.__qualname__)

    def orders_at(self, point: Mapping[str, Any]) -> Orders:
        """The orders it states at a point."""
        return self.orders(point) if callable(self.orders) else self.orders

    def scale_of(self, output: str) -> float:
        """The natural size of an output; zero if it says nothing."""
        return self.scale.get(output, 0.0) if isinstance(self.scale, Mapping) else self.scale

    def systematic_at(self, point: Mapping[str, Any]) -> float:
        """The relative bound on what its samples are off by at a point."""
        return self.systematic(point) if callable(self.systematic) else self.systematic

    def at_sizes(self, point: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
        """A point drawn at other sizes."""
        drawn = {**point, **sizes}
        return {**drawn, **(self.kept(point, drawn) if self.kept else {})}

    def series_from_at(self, point: Mapping[str, Any]) -> int:
        """The size from which on its correction is a series, at a point; zero if it does not say or has two orders."""
        if len(self.orders_at(point)) != 1 or isinstance(self.orders_at(point)[0], tuple):
            return 0
        return self.series_from(point) if callable(self.series_from) else self.series_from


def simulator(**facts: Any) -> Callable[[Callable[..., Any]], Simulator]:
    """Declare facts about a simulator, above its definition.

    >>> @simulator(deterministic=True, tolerance=1e-9)
    ... def half(point, rng, count):
    ...     return {"value": [point["x"] / 2] * count}
    >>> half({"x": 3}, None, 2), half.tolerance, half.exact
    ({'value': [1.5, 1.5]}, 1e-09, False)
    """

    def declare(function: Callable[..., Any]) -> Simulator:
        return Simulator(function, **facts)

    return declare


def as_simulator(function: Callable[..., Any]) -> Simulator:
    """A simulator as it is, or a plain function as one that states nothing about itself."""
    return function if isinstance(function, Simulator) else Simulator(function)
