"""One kind of token at mpmath's precision: nodes of its score, and the brackets they give.

Where log h is a line in the score, even nodes are a lattice of log h. Where it is a rising curve from minus to plus
infinity, log h itself is the variable, t = log h(x) with the weight phi(x) dx/dt. Kernels that saturate have even
nodes in x. At a kink the line is cut: a kernel that vanishes there has all scales of the distance from it, again
through t; others have Gauss-Legendre panels on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import sympy
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64 import BACKEND as FLOAT64
from theorem_engine.backends.multiprecision.gaussian_mean import in_doubles
from theorem_engine.backends.multiprecision.integral import integrate
from theorem_engine.backends.multiprecision.legendre import legendre_nodes
from theorem_engine.backends.sharp_places import SharpPlaces, finest
from theorem_engine.base.errors import NotAvailable, NotConverged, OutOfDomain
from theorem_engine.numerics.laplace.balls import (
    BallBrackets,
    Grid,
    dense_brackets,
    lattice_brackets,
    point_brackets,
    spacing,
)

#: Rate of log h from which the lattice of a curve is shorter than a table over scores.
STEEP = 1.5
#: How log h must grow with the distance, as a power of it, to be a variable of its own.
GROWS = 0.3
#: Scales, relative to the distance of nodes, of which two runs at different precision may both see nothing.
UNSEEN = 1 / 8
#: Newton's steps towards a node of the lattice.
STEPS = 60


class Side:
    """An ordinary token, or the hidden one."""

    def __init__(
        self, x: Any, kernel: Any, brackets: list[Any], breaks: tuple[Any, ...], parameters: tuple[Any, ...],
        backend: Backend,
    ) -> None:  # fmt: skip
        self.has_normal = x in kernel.free_symbols
        inserted = list(dict.fromkeys(f for _, f in brackets if f != 1))
        self.asked = [(p, 0 if f == 1 else inserted.index(f) + 1) for (p,), f in brackets]
        self.kernel = backend.function([x, *parameters], [kernel])
        self.rate_of = backend.function([x, *parameters], [kernel.diff(x)])
        self.inserted = backend.function([x, *parameters], inserted) if inserted else None
        self.breaks = backend.function(parameters, list(breaks)) if breaks else None
        #: Where factors and kernel are sharp, which need not be known to many digits.
        self.sharp = [SharpPlaces([f], x, parameters, FLOAT64) for f in (*inserted, kernel)]
        self.line: Numeric | None = None
        expanded = sympy.expand(kernel)
        if self.has_normal and not breaks and expanded.is_polynomial(x) and sympy.degree(expanded, x) == 1:
            self.line = backend.function(parameters, [expanded.coeff(x, 1), expanded.coeff(x, 0)])
        self.rate = mp.zero
        self.used = [i for i, s in enumerate(parameters) if any(s in f.free_symbols for f in (kernel, *inserted))]
        self.kept: dict[Any, BallBrackets] = {}

    def manner(self, values: tuple[Any, ...], ends: tuple[Any, Any]) -> str:
        """How nodes are laid: on a "line", along a "curve" of log h, or "dense" where log h need not be a lattice."""
        if not self.has_normal:
            return "dense"
        if self.line is not None:
            return "line" if self.slope(values) >= 2 * spacing() else "dense"
        if self.breaks is not None:
            return "dense" if self._is_positive(values, self._marks(values, ends)) else "curve"
        is_steep = self.slope(values) > STEEP and all(self._grows(end, None, values) for end in ends)
        return "curve" if is_steep else "dense"

    def _marks(self, values: tuple[Any, ...], ends: tuple[Any, Any]) -> list[Any]:
        """Kinks in reach, from left to right."""
        assert self.breaks is not None
        return sorted(mp.mpf(b) for b in self.breaks(*values) if ends[0] < b < ends[1])

    def _is_positive(self, values: tuple[Any, ...], marks: list[Any]) -> bool:
        """Whether the kernel is positive at all kinks."""
        return all(mp.isfinite(h) and h > -mp.dps for h in self._beside(values, marks))

    def _beside(self, values: tuple[Any, ...], marks: list[Any]) -> list[Any]:
        """log h next to kinks, on both sides."""
        assert self.breaks is not None
        beside = _tiny()
        with mp.workdps(2 * mp.dps + 20):
            exact = [mp.mpf(b) for b in self.breaks(*values)]
            near = [exact[min(range(len(exact)), key=partial(_gap, exact, m))] for m in marks]
            return [self.log_kernel(m + s, values) for m in near for s in (-beside, beside)]

    def slope(self, values: tuple[Any, ...]) -> Any:
        """Largest rate of log h."""
        if not self.has_normal:
            return mp.zero
        if self.line is not None:
            return abs(self.line(*values)[0])
        nodes = [mp.mpf(k) / 4 for k in range(-48, 49)]
        logs = [h for h in (self.log_kernel(t, values) for t in nodes) if mp.isfinite(h)]
        return max((abs(b - a) * 4 for a, b in zip(logs[:-1], logs[1:], strict=True)), default=mp.zero)

    def log_kernel(self, x: Any, values: tuple[Any, ...]) -> Any:
        """log h at a score."""
        found = self.kernel(x, *values)[0]
        if isinstance(found, mp.mpc):
            raise OutOfDomain(f"a token mean: the kernel is not positive at the score {mp.nstr(x, 5)}")
        return mp.mpf(found)

    def span(self, values: tuple[Any, ...], ends: tuple[Any, Any]) -> tuple[Any, Any]:
        """Smallest and largest log h in reach."""
        if not self.has_normal:
            here = self.log_kernel(mp.zero, values)
            return here, here
        found = [self.log_kernel(end, values) for end in ends]
        if self.breaks is not None:
            found += self._beside(values, self._marks(values, ends))
        finite = [h for h in found if mp.isfinite(h)]
        if not finite:
            raise NotAvailable("a token mean whose kernel vanishes everywhere has no value")
        return min(finite), max(finite)

    def brackets(self, values: tuple[Any, ...], ends: tuple[Any, Any], grid: Grid) -> BallBrackets:
        """All brackets at all nodes; kept, since a mean over the hidden token's score repeats the others'."""
        key = (mp.prec, tuple(values[i] for i in self.used), ends, grid)
        if key not in self.kept:
            if len(self.kept) >= 8:
                self.kept.clear()
            self.kept[key] = self._brackets(values, ends, grid)
        return self.kept[key]

    def _brackets(self, values: tuple[Any, ...], ends: tuple[Any, Any], grid: Grid) -> BallBrackets:
        if not self.has_normal:
            return point_brackets(
                grid, mp.exp(self.log_kernel(mp.zero, values)), self._factors(mp.zero, values), self.asked
            )
        manner = self.manner(values, ends)
        if self.breaks is not None:
            return self._cut(values, ends, grid, self._marks(values, ends), manner)
        if self.line is not None and manner == "line":
            slope, centre = self.line(*values)
            low, high = ends if slope > 0 else (-ends[1], -ends[0])
            bounds = sorted(centre + slope * end for end in (low, high))
            first, last = int(mp.floor(bounds[0] / grid.step)), int(mp.ceil(bounds[1] / grid.step))
            scale = grid.step / abs(slope)
            self._refuse_unseen(values, ends, scale, with_kernel=False)
            places = (((j * grid.step - centre) / slope, scale) for j in range(first, last + 1))
            return lattice_brackets(grid, first, self._rows(places, values), self.asked)
        if manner == "curve":
            self._refuse_unseen(values, ends, mp.mpf(1) / 4, with_kernel=False)
            return self._along_log(grid, values, ends, None, None)
        slope = max(self.slope(values), mp.mpf("1e-6"))
        # the Gaussian itself needs exp(-2 pi^2/step^2) below the precision
        step = min(mp.sqrt(2 * mp.pi**2 / (mp.ln(10) * (mp.dps + 4))), spacing() / slope)
        self._refuse_unseen(values, ends, step, with_kernel=True)
        nodes = [k * step for k in range(int(mp.floor(ends[0] / step)), int(mp.ceil(ends[1] / step)) + 1)]
        return self._dense(grid, values, [(x, step) for x in nodes])

    def _refuse_unseen(
        self, values: tuple[Any, ...], ends: tuple[Any, Any], distance: Any, *, with_kernel: bool
    ) -> None:
        """A peak far narrower than the distance of nodes may lie between them at every precision that is tried."""
        listed = self.sharp if with_kernel else self.sharp[:-1]
        within = float(max(map(abs, ends)))
        given = in_doubles(values)
        scale = min((finest(sharp(*given), within) for sharp in listed), default=float("inf"))
        if scale < UNSEEN * float(distance):
            raise NotAvailable(
                f"a token mean with a change over {scale:.1e} has no more digits than double precision: its nodes are "
                f"{float(distance):.1e} apart at {mp.dps} digits"
            )

    def _cut(
        self, values: tuple[Any, ...], ends: tuple[Any, Any], grid: Grid, marks: list[Any], manner: str
    ) -> BallBrackets:
        """The line between kinks."""
        edges = [ends[0], *marks, ends[1]]
        pieces = list(zip(edges[:-1], edges[1:], strict=True))
        if manner == "dense":
            width = 2 / max(self.slope(values), mp.one)
            self._refuse_unseen(values, ends, width / mp.dps, with_kernel=True)
            return self._dense(grid, values, [node for a, b in pieces for node in gauss_panels(a, b, width)])
        alive = [mp.isfinite(self.log_kernel((a + b) / 2, values)) for a, b in pieces]
        if alive != [False] * (len(pieces) - 1) + [True]:
            raise NotAvailable("a kernel that vanishes at a kink and has others beside it has no more digits")
        start = edges[-2]
        if not self._grows(ends[1], start, values):
            raise NotAvailable("a kernel that vanishes at a kink and then saturates has no more digits")
        idle = [self._mass(a, b, values) for a, b in pieces[:-1]]
        row = [sum(column, mp.zero) for column in zip(*idle, strict=True)]
        beside = _tiny()
        # twice the digits: scores beside the kink differ from it in their last ones
        with mp.workdps(2 * mp.dps + 20):
            start = self._marks(values, ends)[-1]
            return self._along_log(grid, values, (start + beside, ends[1]), start, row)

    def _mass(self, low: Any, high: Any, values: tuple[Any, ...]) -> list[Any]:
        """Normal mass of a piece, and that times each factor."""
        count = 1 + len(self._factors((low + high) / 2, values))

        def part(place: int, x: Any) -> Any:
            return mp.npdf(x) * [mp.one, *self._factors(x, values)][place]

        return [integrate(partial(part, i), low, high) for i in range(count)]

    def _grows(self, end: Any, start: Any | None, values: tuple[Any, ...]) -> bool:
        """Whether h is like a power of the distance, or faster, at an end."""
        rate = self.rate_of(end, *values)[0]
        return bool(mp.isfinite(rate) and rate * abs(end - (start or 0)) > GROWS)

    def _along_log(
        self, grid: Grid, values: tuple[Any, ...], ends: tuple[Any, Any], start: Any | None, idle: list[Any] | None
    ) -> BallBrackets:
        """The lattice of t = log h, followed from its upper end down."""
        low, high = (self.log_kernel(end, values) for end in ends)
        first, last = int(mp.floor(low / grid.step)), int(mp.ceil(high / grid.step))
        places = list(self._followed(grid.step, first, last, ends[1], start, values))
        return lattice_brackets(grid, first, self._rows(iter(reversed(places)), values), self.asked, idle)

    def _followed(
        self, step: Any, first: int, last: int, x: Any, start: Any | None, values: tuple[Any, ...]
    ) -> Iterator[tuple[Any, Any]]:
        """Scores with log h on the lattice, falling, each with its dx; above the kink they start from, if any."""
        floor = -mp.inf if start is None else start
        enough = mp.mpf(10) ** (-mp.dps // 2 - 3)
        for j in range(last, first - 1, -1):
            t = j * step
            for _ in range(STEPS):
                rate = self.rate_of(x, *values)[0]
                move = (self.log_kernel(x, values) - t) / rate
                x = x - move if x - move > floor else (x + floor) / 2
                if abs(move) <= enough * (max(abs(x), 1) if start is None else x - start):
                    break
            else:
                raise NotConverged("token mean: the kernel could not be inverted")
            yield x, step / self.rate_of(x, *values)[0]

    def _rows(self, places: Iterator[tuple[Any, Any]], values: tuple[Any, ...]) -> Iterator[list[Any]]:
        root = 1 / mp.sqrt(2 * mp.pi)
        for x, width in places:
            weight = width * root * mp.exp(-x * x / 2)
            yield [weight, *(weight * f for f in self._factors(x, values))]

    def _dense(self, grid: Grid, values: tuple[Any, ...], nodes: list[tuple[Any, Any]]) -> BallBrackets:
        rows = [self._factors(x, values) for x, _ in nodes]
        kernel = [mp.exp(self.log_kernel(x, values)) for x, _ in nodes]
        columns = [list(c) for c in zip(*rows, strict=True)]
        return dense_brackets(grid, [w * mp.npdf(x) for x, w in nodes], kernel, columns, self.asked)

    def _factors(self, t: Any, values: tuple[Any, ...]) -> list[Any]:
        return list(self.inserted(t, *values)) if self.inserted is not None else []


def _gap(places: list[Any], mark: Any, i: int) -> Any:
    """How far one of the places is from a mark."""
    return abs(places[i] - mark)


def _tiny() -> Any:
    """A distance from a kink that leaves nothing out."""
    return mp.mpf(10) ** (-mp.dps - 4)


def gauss_panels(low: Any, high: Any, width: Any) -> list[tuple[Any, Any]]:
    """Gauss-Legendre nodes and weights on panels of about this width."""
    count = max(1, int(mp.ceil((high - low) / width)))
    size = (high - low) / count
    unit = legendre_nodes(mp.dps * 3 // 2 + 4)
    return [(low + (k + x) * size, w * size) for k in range(count) for x, w in unit]
