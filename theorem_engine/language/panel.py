"""Panels of figures as data: arrays, words and scales, and nothing about how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Ways a line is broken, so that lines are told apart without colour too.
DASHES = ("solid", "dashed", "dotted", "dash-dot")
#: Colours of Okabe and Ito that are told apart by eyes of all kinds, without the yellow, which is pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: The tone of what no colour should stand for.
BLACK = "black"


@dataclass(frozen=True, eq=False, kw_only=True)
class Mark:
    """Something shown in a panel; marks of one tone have one colour, those with a label are in the legend."""

    tone: int | str = 0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Curve(Mark):
    """A line through points, which are marked with ``dots``."""

    x: Any
    y: Any
    dash: str = "solid"
    dots: bool = False
    width: float = 1.5


@dataclass(frozen=True, eq=False)
class Dots(Mark):
    """Points, each with a bar of half-length ``error`` if one is given, or with a pair of lengths below and above."""

    x: Any
    y: Any
    error: Any = None
    size: float = 4


@dataclass(frozen=True, eq=False)
class Band(Mark):
    """What lies between two curves."""

    x: Any
    low: Any
    high: Any


@dataclass(frozen=True, eq=False)
class Level(Mark):
    """A straight line across the panel, at a value of y or, ``upright``, of x; ``words`` stand at its end."""

    at: float
    upright: bool = False
    dash: str = "dashed"
    words: str = ""
    #: Which side of the line the words are on.
    side: str = "left"


@dataclass(frozen=True, eq=False)
class Surface(Mark):
    """Numbers over two axes, rows along y, as colours; those above and below ``middle`` have scales of their own."""

    x: Any
    y: Any
    z: Any
    words: str = ""
    middle: float = 0.0


@dataclass(frozen=True, eq=False)
class Contours(Mark):
    """Lines of equal height: at listed levels, or so many."""

    x: Any
    y: Any
    z: Any
    levels: Sequence[float] | int = 20
    dash: str = "solid"


@dataclass(frozen=True, eq=False)
class Arrows(Mark):
    """A field of directions; the colour is its magnitude, which ``words`` name."""

    x: Any
    y: Any
    u: Any
    v: Any
    words: str = ""


@dataclass(frozen=True, eq=False)
class Words(Mark):
    """A sentence in the middle of a panel that has nothing else to show."""

    text: str


@dataclass(frozen=True, eq=False)
class Axis:
    """Words beside an axis, its scale and what of it is shown.

    A "symmetric" scale is logarithmic on both sides and even within ``linear`` of zero.
    """

    words: str = ""
    scale: str = "linear"
    low: float | None = None
    high: float | None = None
    ticks: Sequence[float] | None = None
    linear: float = 1.0


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks over two axes. A legend stands in the first panel that has a label; ``legend`` is its place."""

    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    legend: str = "best"
    square: bool = False
