"""Brackets of a token: means of v^a exp(-v) f(x) over one Gaussian token, for many u at once.

A weight of a token is its kernel h over the sum of all kernels. With 1/Z^k written as an integral of
t^(k-1) exp(-t Z) over t = exp(u), a mean over L tokens becomes one integral over u of products of
brackets E[v^a exp(-v) f(x)], v = exp(u) h(x): the cost does not depend on L.

The integrands are analytic for |Im u| < pi/2 and the trapezoid rule of step H has a relative error of
about exp(-pi^2/H); the same holds inside for the step H over the slope of log h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from theorem_engine.numerics.laplace.nodes import Array, extent, marks_of, normal_weights, refuse_too_many
from theorem_engine.numerics.roughly import is_rough

#: Dyadic, so that nodes carry no rounding; exp(-pi^2/H) = 1e-23 leaves room for the factors of high powers.
H = 0.1875
#: Multiples of it up to this one have no rounding: three sixteenths of a whole number.
EXACT = 2**51
#: Step of log h along x where there is no lattice: exp(-pi^2/STEP) = 7e-18.
STEP = 0.25
#: Entries of a table held at once.
CHUNK = 2_000_000
#: Rate of log h from which nodes follow the kernel.
STEEP = 10.0
#: The normal density beyond this is below 1e-20.
REACH = 9.5
#: The same beyond these if six digits are enough, and steps and log v for as many.
ROUGH_REACH, ROUGH_STEP, ROUGH_LOW = 6.0, 0.375, -20.0
#: A table small enough to be filled as a whole.
SMALL = 20_000
#: Nodes of a lattice up to which sums over all of them are cheaper than picking those that count.
FEW = 512
#: Numbers that the windows of many nodes hold at once.
HELD = 4_000_000
#: Beyond this log v, exp(-v) is zero.
FAR = 6.75
#: Table of v^a exp(-v) in log v: below it exp(-v) is 1 to rounding, above it 0 to any power in use.
LOW, HIGH = -38.0, 4.875
#: Below this log v, exp(-v) is 1 - v to rounding, and below the other one if six digits are enough.
LINEAR, ROUGH_LINEAR = -19.0, -8.0
#: Neighbouring places so far apart at most share their nodes.
SHARED = 10.0
#: Changes of log h over a panel of 16 nodes: the rule sums v^a exp(-v), a up to four, to 1e-17 of its size, and to
#: 1e-9 if six digits are enough. (At twice the first it would be 1e-9 for a = 4, at a third more 1e-14.)
SPAN, ROUGH_SPAN = 1.5, 3.0


def power_times_decay(v: Any, decay: Any, power: int) -> Any:
    """v^power exp(-v), zero where v is infinite."""
    if power == 0:
        return decay
    # beyond this exp(-v) is zero, and times infinity would be no number
    bounded = np.minimum(v, 800.0)
    result = bounded * decay
    for _ in range(power - 1):
        result = result * bounded
    return result


@dataclass(frozen=True)
class Brackets:
    """At every u: the survival B = E exp(-v), its complement 1 - B, and the brackets asked for."""

    survival: Any
    complement: Any
    values: list[Any]


#: A bracket asked for: the power of v and the factor's values at the nodes (None: the constant one).
Asked = tuple[int, Any]


def prefix_sums(weights: Array, logs: Array, power: int) -> Array:
    """Sum over j < c of W_j exp(power (l_j - l_{c-1})) for c = 0..n, logs rising; in blocks that cannot overflow."""
    result = np.zeros(weights.size + 1)
    if power == 0:
        result[1:] = np.cumsum(weights)
        return result
    start = int(np.searchsorted(logs, -np.inf, side="right"))
    while start < weights.size:
        stop = int(np.searchsorted(logs, logs[start] + 500 / power, side="right"))
        growth = np.exp(power * (logs[start:stop] - logs[start]))
        carried = result[start] * np.exp(power * (logs[start - 1] - logs[start])) if start and result[start] else 0.0
        result[start + 1 : stop + 1] = (carried + np.cumsum(weights[start:stop] * growth)) / growth
        start = stop
    return result


class DenseToken:
    """Brackets by sums over nodes, for any kernel that is monotone in x."""

    def __init__(
        self, x: Array, weights: Array, logs: Array, asked: Sequence[Asked], has_complement: bool = True
    ) -> None:
        """1 - B is left out where nobody asks for it."""
        self.x, self.own_logs = x, logs
        if logs[-1] < logs[0]:
            weights, logs = weights[::-1], logs[::-1]
            asked = [(power, None if f is None else np.broadcast_to(f, logs.shape)[::-1]) for power, f in asked]
        self.has_complement = has_complement
        # a flat kernel may fall by a rounding
        self.logs = np.maximum.accumulate(logs)
        self.columns: list[Array] = [weights]
        self.asked: list[tuple[int, int]] = []
        for power, f in asked:
            self.asked.append((power, 0 if f is None else len(self.columns)))
            if f is not None:
                self.columns.append(weights * f)
        self.lowest, self.highest = extent(logs)
        self.prefixes: dict[tuple[int, int], Array] = {}
        self.tail = np.concatenate([np.cumsum(weights[::-1])[::-1], [0.0]])

    def __call__(self, u: Array) -> Brackets:
        """Sums of positive terms unless a factor changes sign, at rising u.

        For steep kernels most nodes have a negligible v or a negligible exp(-v): only the others are visited,
        for a few neighbouring u at a time.
        """
        if u.size * self.logs.size <= SMALL:
            return self._part(u, 0, self.logs.size)
        parts = []
        start = 0
        linear = ROUGH_LINEAR if is_rough() else LINEAR
        while start < u.size:
            stop = max(start + 1, int(np.searchsorted(u, u[start] + SHARED, side="right")))
            stop = min(stop, start + max(1, CHUNK // self.logs.size))
            first = int(np.searchsorted(self.logs, linear - u[stop - 1]))
            last = int(np.searchsorted(self.logs, FAR - u[start]))
            parts.append(self._part(u[start:stop], first, last))
            start = stop
        return Brackets(
            np.concatenate([p.survival for p in parts]),
            np.concatenate([p.complement for p in parts]),
            [np.concatenate([p.values[i] for p in parts]) for i in range(len(self.asked))],
        )

    def _part(self, u: Array, first: int, last: int) -> Brackets:
        """Before ``first`` exp(-v) is 1 - v, from ``last`` on it is negligible."""
        logs = u[:, None] + self.logs[first:last]
        v = np.exp(np.minimum(logs, FAR, out=logs), out=logs)
        decay = np.exp(-v)
        powers = {0: decay}
        for power in range(1, 1 + max((p for p, _ in self.asked), default=0)):
            powers[power] = powers[power - 1] * v

        def bracket(power: int, column: int) -> Array:
            inside: Array = powers[power] @ self.columns[column][first:last]
            if not first:
                return inside
            return inside + self._before(u, first, power, column) - self._before(u, first, power + 1, column)

        values = [bracket(*key) for key in self.asked]
        survival = bracket(0, 0)
        if not self.has_complement:
            return Brackets(survival, np.zeros(u.size), values)
        # exp(-v) - 1, in the place of v
        complement = -(np.expm1(np.negative(v, out=v), out=v) @ self.columns[0][first:last]) + self.tail[last]
        if first:
            complement = complement + self._before(u, first, 1, 0) - self._before(u, first, 2, 0) / 2
        return Brackets(survival, complement, values)

    def _before(self, u: Array, first: int, power: int, column: int) -> Any:
        """Sums of v^power over the nodes whose v is small."""
        key = power, column
        if key not in self.prefixes:
            self.prefixes[key] = prefix_sums(self.columns[column], self.logs, power)
        scale = 1.0 if power == 0 else np.exp(power * (u + self.logs[first - 1]))
        return self.prefixes[key][first] * scale

    def marks(self, spacing: float) -> Array:
        """Places in u where tokens this far apart have v = 1."""
        return marks_of(self.x, self.own_logs, spacing)


class PointToken:
    """A token whose kernel is known: one value of log h, and of each factor, for every point."""

    def __init__(self, logs: Any, asked: Sequence[Asked]) -> None:
        self.logs = np.asarray(logs, dtype=float)[..., None]
        self.asked = [(power, 1.0 if f is None else np.asarray(f, dtype=float)[..., None]) for power, f in asked]
        self.lowest, self.highest = float(self.logs.min()), float(self.logs.max())

    def __call__(self, u: Array) -> Brackets:
        """No mean to take."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            v = np.exp(u + self.logs)
            decay = np.exp(-v)
            values = [power_times_decay(v, decay, power) * f for power, f in self.asked]
        return Brackets(decay, -np.expm1(-v), values)


class LatticeToken:
    """Brackets for log h = centre + slope x, with log h and u on one grid.

    Then log v lies on that grid too: v^a exp(-v) is one table, and a bracket is the correlation of the Gaussian
    weights with it. Where there are many nodes, only a window of them is multiplied with the part of the table
    that is neither negligible nor a power, plus a prefix sum where v is negligible.
    """

    def __init__(
        self, slope: float, centre: float, left: float, right: float, factors: Any, asked: Sequence[tuple[int, int]]
    ) -> None:
        """``factors(x)`` lists the factors; a bracket asked for is a power and a factor, 0 being the constant one."""
        ends = centre + slope * left, centre + slope * right
        # far out the ends would be rounded together, and the places between them too
        refuse_too_many(max(map(abs, ends)) / H, EXACT)
        refuse_too_many(abs(slope) * abs(right - left) / H, 4_000_000)
        first, last = int(np.floor(min(ends) / H)), int(np.ceil(max(ends) / H))
        logs = np.arange(first, last + 1) * H
        self.first, self.count = first, logs.size
        self.lowest, self.highest = float(logs[0]), float(logs[-1])
        x = (logs - centre) / slope
        weights = normal_weights(x, H / abs(slope))
        self.columns: list[Array] = [weights, *(weights * f for f in factors(x))]
        self.asked = list(asked)
        self.prefixes: dict[tuple[int, int], Array] = {}

    @cached_property
    def tail(self) -> Array:
        """Weight of each node and all above, summed from the far end: a difference would lose a tail of 1e-30."""
        return np.concatenate([np.cumsum(self.columns[0][::-1])[::-1], [0.0]])

    def _prefix(self, column: int, power: int) -> Array:
        """Sum over j < c of W_j exp(power H (j - c)) for c = 0..n."""
        key = column, power
        if key not in self.prefixes:
            steps = np.arange(self.count, dtype=float) * H
            self.prefixes[key] = prefix_sums(self.columns[column], steps, power) * np.exp(-power * H)
        return self.prefixes[key]

    def __call__(self, u: Array) -> Brackets:
        """All u must share their position between lattice points."""
        index = np.floor(u / H + 1e-9).astype(np.int64)
        offset = float(u[0] - index[0] * H)
        stride = int(index[1] - index[0]) if index.size > 1 else 1
        if self.count <= FEW and 1 <= stride <= 4 and index[-1] - index[0] == stride * (index.size - 1):
            return self._correlated(float(u[0]), stride, u.size)
        low, high = round(LOW / H), round(HIGH / H)
        most = HELD // (high - low + 1)
        if u.size > most:
            parts = [self(u[first : first + most]) for first in range(0, u.size, most)]
            values = [np.concatenate(column) for column in zip(*(part.values for part in parts), strict=True)]
            survival, complement = ([getattr(part, name) for part in parts] for name in ("survival", "complement"))
            return Brackets(np.concatenate(survival), np.concatenate(complement), values)
        logs = np.arange(low, high + 1) * H + offset
        v = np.exp(logs)
        decay = np.exp(-v)
        # window of node j = k - i, k running over the table; nodes outside the lattice weigh nothing
        start = low - index - self.first
        width = logs.size
        inside = np.clip(start, -width, self.count)
        below = np.clip(start, 0, self.count)
        past = np.maximum(start - self.count, 0)
        windows = [
            sliding_window_view(np.concatenate([np.zeros(width), w, np.zeros(width)]), width)[inside + width]
            for w in self.columns
        ]

        def prefix(column: int, power: int) -> Array:
            table = self._prefix(column, power)[below]
            if power == 0:
                return table
            return table * np.exp(power * (low * H + offset - H * past))

        above = np.clip(start + width, 0, self.count)
        complement = windows[0] @ -np.expm1(-v) + prefix(0, 1) + self.tail[above]
        survival = windows[0] @ decay + prefix(0, 0)
        tables = {power: v**power * decay for power, _ in self.asked}
        values = [windows[column] @ tables[power] + prefix(column, power) for power, column in self.asked]
        return Brackets(survival, complement, values)

    def _correlated(self, start: float, stride: int, size: int) -> Brackets:
        """At ``size`` values of u from ``start`` on, so many lattice steps apart."""
        v = np.exp(np.arange(self.count + stride * (size - 1)) * H + (self.lowest + start))
        decay = np.exp(-v)
        tables = {power: power_times_decay(v, decay, power) for power in {0, *(power for power, _ in self.asked)}}

        def correlated(table: Array, column: int) -> Array:
            weights = self.columns[column]
            if stride == 1:
                return np.correlate(table, weights)
            # one part for each residue of the nodes
            parts = (np.correlate(table[r::stride], weights[r::stride]) for r in range(min(stride, self.count)))
            return np.asarray(sum(parts))

        values = [correlated(tables[power], column) for power, column in self.asked]
        return Brackets(correlated(tables[0], 0), correlated(-np.expm1(-v), 0), values)


Token = DenseToken | LatticeToken | PointToken


def log_survival(brackets: Brackets) -> Any:
    """log B, from whichever of B and 1 - B is accurate."""
    with np.errstate(divide="ignore"):
        return np.where(
            brackets.complement < 0.5, np.log1p(-np.minimum(brackets.complement, 0.75)), np.log(brackets.survival)
        )


def power_of_survival(log_b: Any, exponent: float) -> Any:
    """B^n with B^0 = 1 also where B is 0."""
    return np.ones_like(log_b) if exponent == 0 else np.exp(exponent * log_b)
