"""Token means with two weights, or with an argmax, in double precision."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.token_parts import (
    check_kernel,
    combine,
    lengths_of,
    over_points,
    rounding_of,
    sum_of_powers,
)
from theorem_engine.backends.sharp_places import SharpPlaces, finest
from theorem_engine.backends.token_bundle import TokenBundle
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.base.reports import is_heard
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.numerics.laplace.argmax import (
    InnerTable,
    Panels,
    ScoreTable,
    TrivialTable,
    hard_integrals,
)
from theorem_engine.numerics.laplace.double_sums import Assemble, sweep_integrals
from theorem_engine.numerics.laplace.nodes import graded_nodes, normal_weights, panel_edges, refuse_too_many
from theorem_engine.numerics.laplace.sums import REACH, ROUGH_REACH, ROUGH_STEP, STEEP, STEP
from theorem_engine.numerics.laplace.tiles import QUIET, cut_tiles, last_place, smeared_tiles, steep_tiles
from theorem_engine.numerics.panels import graded_edges, resolve
from theorem_engine.numerics.quadrature import EPS
from theorem_engine.numerics.roughly import is_rough

#: Rate of log h from which an even grid is long.
LONG = 60.0


def lower_pair(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """A double integral at each point."""
    pair = _Pair(means, parameters, backend)
    return lambda *values: over_points(pair, values)


class _Pair(TokenBundle):
    """The first weight's kernel is exp(slope x) or an argmax in x; the second, if any, is free."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        first = means[0]
        if first.has_hidden:
            raise NotAvailable(
                "token means with two weights, or with an argmax, are lowered for tokens that are all alike"
            )
        super().__init__(means, parameters, backend)
        self.x, *rest = first.normals
        self.zeta = rest[0] if rest else sympy.Dummy("zeta")
        kernel = sympy.expand(first.kernels[0][0])
        self.is_hard = isinstance(kernel, Hardmax)
        if self.is_hard:
            if kernel.args[0] != self.x:
                raise NotAvailable("an argmax is lowered for the first normal letter as the score")
        elif kernel.has(self.zeta) or not (kernel.is_polynomial(self.x) and sympy.degree(kernel, self.x) <= 1):
            raise NotAvailable("the first of two kernels must be the exponential of the first normal letter")
        else:
            self.slope = backend.function(parameters, [kernel.coeff(self.x, 1)])
        letters = [self.x, self.zeta, *parameters]
        self.second = backend.function(letters, [first.kernels[1][0]]) if len(first.kernels) == 2 else None
        self.has_zeta = bool(rest) and first.kernels[1][0].has(self.zeta)
        self.ratio: Numeric | None = None
        if self.has_zeta:
            share = share_of(first.kernels[1][0], self.x, self.zeta)
            if share is not None:
                self.ratio = backend.function(parameters, [share])
        brackets = self.layout.brackets[0]
        self.first_powers = [powers[0] for powers, _ in brackets]
        self.second_powers = [powers[1] if len(powers) == 2 else 0 for powers, _ in brackets]
        inserted = list(dict.fromkeys(f for _, f in brackets if f != 1))
        self.columns = [None if f == 1 else inserted.index(f) for _, f in brackets]
        self.inserted = backend.function(letters, inserted) if inserted else None
        seen = [*(k[0] for k in first.kernels[1:]), *inserted]
        # zeta blurs what x does at its middle
        self.sharp = SharpPlaces([f.xreplace({self.zeta: sympy.S.Zero}) for f in seen], self.x, parameters, backend)
        self.sharp_zeta = SharpPlaces(
            [f.xreplace({self.x: sympy.S.Zero}) for f in seen], self.zeta, parameters, backend
        )  # fmt: skip
        self.breaks = backend.function(parameters, list(first.breaks)) if first.breaks else None
        if self.is_hard and any(sum(self.first_powers[i] > 0 for i in item.each) != 1 for item in self.layout.products):
            raise NotAvailable("only one token can be the largest: products with several argmax weights are zero")

    def shares(self, values: tuple[Any, ...]) -> bool:
        """Each point has its own tokens."""
        return False

    def __call__(self, *values: Any) -> list[tuple[Any, Any]]:
        values = tuple(np.float64(v) if isinstance(v, (int, float, np.floating)) else v for v in values)
        extra, *coefficients = self.outer(*values)
        lengths = lengths_of(self.length(*values)[0])
        sizes = [n for n, _ in lengths]
        longest = max(sizes)
        rate, rate_zeta = self._rates(values)
        marks = [float(b) for b in self.breaks(*values)] if self.breaks is not None else []

        def assemble(log_b: Any, brackets: list[Any], w: Any) -> list[Any]:
            results = []
            with np.errstate(over="ignore", under="ignore"):
                rest = np.exp(-extra * np.exp(w)) if extra else 1.0
            counts = {len(item.each) for item in self.layout.products}
            others = {n: sum_of_powers(log_b, lengths, 0, n) * rest for n in counts}
            for item in self.layout.products:
                value = others[len(item.each)] / math.prod(math.gamma(k) for k in item.powers[int(self.is_hard) :])
                for place in item.each:
                    value = value * brackets[place]
                results.append(value)
            return results

        far = ROUGH_REACH if is_rough() else REACH
        reach = min(far + min(max(self.second_powers, default=0) * rate, math.sqrt(2 * math.log(longest))), 38.0)
        if self.is_hard:
            if marks and self.has_zeta:
                raise NotAvailable("an argmax beside a kernel of two letters with a kink is not evaluated")
            panels = Panels(self._edges(values, reach, marks))
            refuse_too_many(panels.x.size, 320_000)
            table = self._table(panels.x, values, rate_zeta, bool(marks))
            winners = [power > 0 for power in self.first_powers]
            integrals = _with_noise(
                hard_integrals(panels, table, winners, assemble, longest),
                self._rounding(np.linspace(-REACH, reach, 241), values),
            )
        else:
            slope = float(self.slope(*values)[0])
            if slope < 0:
                raise NotAvailable("the exponential kernel of two must increase")
            if self.second is None:
                raise NotAvailable("a single exponential weight is lowered without a pair")
            integrals = self._by_tiles(values, slope, (rate, rate_zeta), (far, reach), marks, assemble, sizes)
        return combine(self.layout, coefficients, integrals)

    def _by_tiles(
        self, values: tuple[Any, ...], slope: float, rates: tuple[float, float], ends: tuple[float, float],
        marks: list[float], assemble: Assemble, sizes: list[int],
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """The first weight's kernel is exp(slope x)."""

        def log_second(x: Any, zeta: Any = 0.0) -> Any:
            assert self.second is not None
            with np.errstate(divide="ignore"):
                logs = np.asarray(self.second(x, zeta, *values)[0], dtype=float)
            return np.broadcast_to(logs, np.broadcast_shapes(np.shape(x), np.shape(zeta)))

        def factors(x: Any, zeta: Any = 0.0) -> list[Any]:
            if self.inserted is None:
                return []
            shape = np.broadcast_shapes(np.shape(x), np.shape(zeta))
            return [np.broadcast_to(f, shape) for f in self.inserted(x, zeta, *values)]

        asked = [
            (a, b, 0 if c is None else c + 1)
            for a, b, c in zip(self.first_powers, self.second_powers, self.columns, strict=True)
        ]
        rate, rate_zeta = rates
        far, reach = ends
        fastest = max(slope, rate, 1e-300)
        rough = np.linspace(-REACH, reach, 241)
        heights = log_second(rough)
        noise = check_kernel(heights, bool(marks)) + EPS * rate + self._rounding(rough, values)
        # nodes that follow the second kernel pay off where an even grid would be long
        is_steep = rate > max(STEEP, (8 if fastest < LONG else 2) * slope) and not (marks or self.has_zeta)
        last = math.inf
        if not self.has_zeta:
            last = last_place(heights, normal_weights(rough, rough[1] - rough[0]), min(sizes) - 3)
        if is_steep:
            refuse_too_many(8 * rate * (far + reach), 1_600_000)
            # tokens so low are small at every w of interest, and add nothing to the others
            floor = min(-last, float(np.interp(0.0, rough, heights))) + QUIET
            edges = panel_edges(-far, reach, min(1.0, 4 / max(slope, 1.0)))
            places = [(float(p.at), float(p.scale)) for p in self.sharp(*values)]
            # factors as steep as the kernel may need more parts than there is room for; an even grid then serves
            with suppress(NotConverged):
                tiles = steep_tiles(log_second, factors, edges, floor, places)
                return _with_noise(sweep_integrals(slope, tiles, asked, assemble, sizes, last, (rough, heights)), noise)
        if marks and not self.has_zeta:
            refuse_too_many(8 * fastest * (REACH + reach), 400_000)
            x, weights = graded_nodes(-REACH, reach, marks, min(0.5, 2 / fastest))
        else:
            step = min(0.5, (ROUGH_STEP if is_rough() else STEP) / fastest)
            refuse_too_many((far + reach) / step, 400_000)
            x = np.arange(-math.ceil(far / step), math.ceil(reach / step) + 1, dtype=np.float64) * step
            weights = normal_weights(x, step)
        if self.has_zeta:
            step = min(0.5, STEP / max(rate_zeta, 1e-300))
            refuse_too_many(x.size * 2 * REACH / step, 20_000_000)
            ratio = float(self.ratio(*values)[0]) if self.ratio is not None else None
            if marks and ratio is None:
                raise NotAvailable("a kernel with a kink must depend on its two letters through one sum")
            tiles = smeared_tiles(slope, x, weights, log_second, factors, step, ratio, marks)
        else:
            logs = log_second(x)
            check_kernel(logs, bool(marks))
            tiles = cut_tiles(slope, x, weights, logs, factors(x))
        return _with_noise(sweep_integrals(slope, tiles, asked, assemble, sizes, last, (rough, heights)), noise)

    def _rounding(self, x: Any, values: tuple[Any, ...]) -> float:
        """How far log h is off by rounding in the mean, halved, since it is so independently at many nodes."""
        second = self.second
        if second is None or not is_heard():
            return 0.0
        errors = rounding_of(lambda nodes: second(nodes, 0.0, *values)[0], x)
        return float(np.sum(normal_weights(x, x[1] - x[0]) * errors)) / 2

    def _rates(self, values: tuple[Any, ...]) -> tuple[float, float]:
        """Largest rates of the second kernel's logarithm in x and in zeta."""
        if self.second is None:
            return 0.0, 0.0
        grid = np.linspace(-REACH, REACH, 191)
        rates = []
        for arguments in ((grid, np.zeros(1)), (np.zeros(1), grid)):
            with np.errstate(all="ignore"):
                logs = np.broadcast_to(self.second(*arguments, *values)[0], grid.shape)
                steps = np.abs(np.diff(logs)) / (grid[1] - grid[0])
            rates.append(float(np.max(np.where(np.isfinite(steps), steps, 0.0))))
        sharp = [self.sharp(*values), self.sharp_zeta(*values)]
        # kinks have nodes of their own, and what happens at one need not be fast beside it
        if self.breaks is None:
            rates = [max(rate, 1 / finest(places, REACH)) for rate, places in zip(rates, sharp, strict=True)]
        return rates[0], rates[1]

    def _edges(self, values: tuple[Any, ...], reach: float, marks: list[float]) -> Any:
        """Panels of the largest score that follow the second kernel and every factor."""
        known = [(float(p.at), float(p.scale)) for p in self.sharp(*values)]
        known += [(mark, 2.0**-51) for mark in marks]

        def functions(x: Any) -> list[Any]:
            logs = [] if self.second is None else [self.second(x, 0.0, *values)[0]]
            return [*logs, *(self.inserted(x, 0.0, *values) if self.inserted is not None else [])]

        edges = graded_edges(-REACH, reach, 0.5, known)
        if self.second is None and self.inserted is None:
            return edges
        with np.errstate(all="ignore"):
            return resolve(functions, edges, 320_000, rises=int(self.second is not None), span=3.0).edges

    def _table(
        self, x: Any, values: tuple[Any, ...], rate: float, may_vanish: bool
    ) -> InnerTable | ScoreTable | TrivialTable:
        zeta, weights = np.zeros(1), np.ones(1)
        if self.has_zeta:
            step = min(0.5, STEP / max(rate, 1e-300))
            ratio = float(self.ratio(*values)[0]) if self.ratio is not None else math.inf
            # the score takes more nodes than zeta alone, but they are shared by all x
            if abs(ratio) < 0.2 * x.size and not may_vanish:
                return self._score_table(x, values, ratio, step)
            refuse_too_many(x.size * 2 * REACH / step, 20_000_000)
            zeta = np.arange(-math.ceil(REACH / step), math.ceil(REACH / step) + 1, dtype=np.float64) * step
            weights = normal_weights(zeta, step)
        shape = x.size, zeta.size
        factors = self.inserted(x[:, None], zeta, *values) if self.inserted is not None else []
        listed = [None if c is None else np.broadcast_to(factors[c], shape) for c in self.columns]
        if self.second is None:
            return TrivialTable([None if f is None else f[:, 0] for f in listed], x.size)
        with np.errstate(divide="ignore"):
            logs = np.broadcast_to(np.asarray(self.second(x[:, None], zeta, *values)[0], dtype=float), shape)
        check_kernel(logs.T, may_vanish)
        return InnerTable(x, logs, weights, list(zip(self.second_powers, listed, strict=True)))

    def _score_table(self, x: Any, values: tuple[Any, ...], ratio: float, step: float) -> ScoreTable:
        """Nodes of the score t = zeta + ratio x in place of nodes of zeta at every x."""
        ends = sorted((ratio * x[0], ratio * x[-1]))
        refuse_too_many(x.size * (ends[1] - ends[0] + 2 * REACH) / step, 20_000_000)
        t = np.arange(math.floor((ends[0] - REACH) / step), math.ceil((ends[1] + REACH) / step) + 1.0) * step
        assert self.second is not None
        logs = np.multiply(self.second(0.0, t, *values)[0], np.ones(t.size))
        check_kernel(logs, False)
        zeta = t[:, None] - ratio * x
        weights = normal_weights(zeta, step)
        factors = self.inserted(x, zeta, *values) if self.inserted is not None else []
        matrices = [weights, *(weights * f for f in factors)]
        asked = [(p, 0 if c is None else c + 1) for p, c in zip(self.second_powers, self.columns, strict=True)]
        return ScoreTable(x, t, logs, matrices, asked, ratio)


def _with_noise(integrals: list[tuple[Any, Any]], noise: float) -> list[tuple[Any, Any]]:
    """log h is rounded relative to its own size, and v is off by as much."""
    return [(value, error + noise * abs(value)) for value, error in integrals]


def share_of(kernel: Any, x: Any, zeta: Any) -> Any:
    """The ratio in a kernel of one score zeta + ratio x; None if its letters enter otherwise."""
    pieces = [piece for piece, _ in kernel.args] if isinstance(kernel, sympy.Piecewise) else [kernel]
    shares = set()
    for piece in pieces:
        if piece.has(x, zeta):
            share = piece.diff(x) / piece.diff(zeta)
            shares.add(sympy.simplify(share) if share.has(x, zeta) else share)
    return shares.pop() if len(shares) == 1 and not next(iter(shares)).has(x, zeta) else None
