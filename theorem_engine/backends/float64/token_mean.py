"""Token means in double precision: one Laplace integral for a bundle, at a cost free of the length."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.token_pair import lower_pair
from theorem_engine.backends.float64.token_parts import (
    check_kernel,
    combine,
    lengths_of,
    over_points,
    rounding_of,
    sum_of_powers,
)
from theorem_engine.backends.sharp_places import Place, SharpPlaces, amplification, finest
from theorem_engine.backends.token_bundle import TokenBundle
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.base.reports import is_heard
from theorem_engine.language.operators.token_mean import Hardmax
from theorem_engine.numerics.laplace.double_sums import ROUGH
from theorem_engine.numerics.laplace.nodes import (
    edges_along,
    even_grid,
    find_window,
    normal_weights,
    refuse_too_many,
)
from theorem_engine.numerics.laplace.sums import (
    REACH,
    ROUGH_REACH,
    ROUGH_SPAN,
    ROUGH_STEP,
    SPAN,
    STEEP,
    STEP,
    Brackets,
    DenseToken,
    H,
    LatticeToken,
    PointToken,
    Token,
    log_survival,
    power_times_decay,
)
from theorem_engine.numerics.panels import graded_edges, nodes_of, resolve
from theorem_engine.numerics.quadrature import EPS, legendre_panels, trapezoid_line
from theorem_engine.numerics.roughly import is_rough

#: So many steps are summed without a search for those that count, which would cost about as much.
UNSEARCHED = 512
#: Nodes of a token at most.
MOST_NODES = 800_000
#: Sums of independent roundings stay below so many times their standard deviation, if the bound of each is one.
ROUNDINGS = 3.0
#: Nodes times places at which roundings are looked at.
ROUNDED_PLACES = 4_000_000
#: Nodes of all tokens times the stretch of u, up to which even steps in u are cheaper than panels.
MOST_ON_LINE = 60_000
#: Where the sign of a factor is looked at.
SIGNS = np.linspace(-REACH, REACH, 97)


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Choose the form by the number of weights and by whether one of them is an argmax."""
    kernels = means[0].kernels
    if len(kernels) == 2 or kernels[0].has(Hardmax):
        return lower_pair(means, parameters, backend)
    one = _Single(means, parameters, backend)
    return lambda *values: over_points(one, values)


class _Single(TokenBundle):
    """One weight: brackets of two kinds of token, one integral over u."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        super().__init__(means, parameters, backend)
        first = means[0]
        (x,) = first.normals
        kernels = first.kernels[0]
        self.sides = [_Side(x, kernels[k], self.layout.brackets[k], first.breaks[k::2], bool(k), parameters,
                            backend)
                      for k in range(1 + self.has_hidden)]  # fmt: skip
        self.powers = self.highest_power
        # many products differ in the hidden token only: the others are multiplied once
        every = [(item.each, item.powers[0], item.nobody) for item in self.layout.products]
        self.ordinary = list(dict.fromkeys(every))
        self.pairs = [(self.ordinary.index(key), item.hidden)
                      for key, item in zip(every, self.layout.products, strict=True)]  # fmt: skip
        # parameters that only a hidden token without normal letters sees may be arrays
        self.own: set[int] = set()
        if self.has_hidden and x not in kernels[1].free_symbols:
            common = {s for f in [kernels[0], first.length, *(g for _, g in self.layout.brackets[0])] for s in
                      f.free_symbols}  # fmt: skip
            self.own = {i for i, s in enumerate(parameters) if s not in common}

    def shares(self, values: tuple[Any, ...]) -> bool:
        """Whether all points have the same ordinary tokens."""
        return all(np.ndim(v) == 0 for i, v in enumerate(values) if i not in self.own)

    def __call__(self, *values: Any) -> list[tuple[Any, Any]]:
        extra, *coefficients = self.outer(*values)
        lengths = lengths_of(self.length(*values)[0])
        longest = max(n for n, _ in lengths)
        slope = max(side.slope(values) for side in self.sides)
        if not math.isfinite(slope):
            raise NotAvailable("a token mean has no finite scores here")
        gap = abs(self.sides[1].centre(values) - self.sides[0].centre(values)) if self.sides[-1].is_shifted else 0.0
        gap = gap / (2 * slope) if slope > 0 else 0.0
        # exponential tilt towards large kernels, and the rare event that makes a tiny mean
        tilt = max(gap, min(self.powers * slope, math.sqrt(2 * math.log(max(longest, 1)))))
        signed = [side.signed(values) for side in self.sides]
        far = ROUGH_REACH if is_rough() else REACH
        try:
            sides = [
                side.token(values, min(far + gap, 38.0), min(far + tilt, 38.0), own)
                for side, own in zip(self.sides, signed, strict=True)
            ]
        except NotConverged:
            raise NotConverged("token mean: the weights are too steep to be resolved") from None
        integrand, size_of = self._integrand(sides, lengths, extra, [side.sizes(own) for side, own in
                                                                     zip(self.sides, signed, strict=True)])  # fmt: skip
        low = -max(s.highest for s in sides) - (24 if is_rough() else 50) - math.log(longest)
        high = -min(s.lowest for s in sides) + 6
        try:
            # exponential kernels leave the integrand analytic in the strip the trapezoid rule needs, however flat
            is_exponential = all(side.line is not None for side in self.sides)
            dense = [s for s in sides if isinstance(s, DenseToken)]
            if not is_exponential and len(dense) == len(sides):
                nodes = float(sum(s.x.size for s in dense)) * (high - low)
                if nodes <= MOST_ON_LINE and not any(side.is_uneven for side in self.sides):
                    integrals = _on_line(integrand, low, high, size_of)
                else:
                    integrals = _on_panels(integrand, sides, low, high, size_of)
            else:
                integrals = self._on_lattice(integrand, sides, low, high, values, longest, size_of)
        except NotConverged:
            raise NotConverged("token mean: the Laplace integral does not settle") from None
        integrals = integrals[: len(self.pairs)]
        if not is_exponential:
            # log h is rounded relative to its own size, and v is off by as much
            noise = EPS * slope / 16 + max(side.noise for side in self.sides)
            noises = [noise] * len(integrals)
            if is_heard() and all(isinstance(s, DenseToken) for s in sides):
                noises = [noise + rounding for rounding in self._roundings(integrand, sides, low, high)]
            integrals = [
                (value, error + own * np.abs(value)) for (value, error), own in zip(integrals, noises, strict=True)
            ]
        return combine(self.layout, coefficients, integrals)

    def _roundings(self, integrand: Callable[[Any], Any], sides: list[Any], low: float, high: float) -> list[float]:
        """How far each integral is off, relative to its size, because log h is rounded at the nodes."""
        u = edges_along(np.unique(np.concatenate([s.marks(1 / 3) for s in sides])), low, high, 0.5)
        most = max(16, int(ROUNDED_PLACES / sum(s.x.size for s in sides)))
        u = u[:: max(1, math.ceil(u.size / most))]
        sizes = np.abs(integrand(u)[: len(self.pairs)]) * np.gradient(u)
        blurs = sum(side.blur(u) for side in self.sides)
        with np.errstate(all="ignore"):
            shares = np.where(sizes > 0, sizes * blurs, 0.0)
            return [float(r) for r in ROUNDINGS * np.sum(shares, axis=-1) / np.maximum(np.sum(sizes, axis=-1), 1e-300)]

    def _on_lattice(
        self, integrand: Callable[[Any], Any], sides: list[Token], low: float, high: float,
        values: tuple[Any, ...], longest: int, size_of: list[int],
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """The trapezoid rule; brackets are Gaussian averages, smooth on the scale of the slope.

        A factor that is steeper than that shows through. At the step H all that is left is rounding, whatever it is.
        """
        has_point = isinstance(sides[-1], PointToken)
        if isinstance(sides[-1], PointToken):
            # a token at a fixed score is not smoothed: its nodes in u are as dense as for a flat kernel
            refuse_too_many((high - low) / H * sides[-1].logs.size, 40_000_000)
        smooth = min((side.slope(values) for side in self.sides if side.has_normal), default=0.0)
        is_rough = any(not side.sharp.is_empty for side in self.sides)
        if is_rough:
            smooth *= min(1.0, min(finest(side.sharp(*values), REACH) for side in self.sides))
        # the largest of many tokens varies less than one, and so does what it takes of the weights
        narrow = 1 if longest < 50 else 2
        step = 2 * H * 2 ** max(0, int(math.log2(max(smooth / narrow, 0.5))))
        if has_point or high - low > UNSEARCHED * step:
            low, high = find_window(lambda u: list(integrand(u)), even_grid(low, high, max(1.0, smooth / 3)))
        if has_point:
            # values at many points: summed one product after the other, for no more nodes at once than need be
            return trapezoid_line(lambda u: list(integrand(u)), low, high, step, sure=H if is_rough else None)
        ((found, errors),) = trapezoid_line(
            lambda u: [integrand(u)], low, high, step, in_one_call=True, sure=H if is_rough else None, size_of=size_of
        )
        return list(zip(found, errors, strict=True))

    def _integrand(
        self, sides: list[Token], lengths: list[tuple[int, float]], extra: Any, sizes: list[list[int]]
    ) -> tuple[Callable[[Any], Any], list[int]]:
        """All products as functions of u, stacked along the first axis, and for each the row that holds its size.

        ``sizes`` are the brackets of absolute factors: a sum over tokens that cancels is rounded relative to these.
        """
        ordinary_keys, pairs = list(self.ordinary), list(self.pairs)
        size_of = []
        for place, (others, own) in enumerate(self.pairs):
            each, power, nobody = ordinary_keys[others]
            wide = tuple(sizes[0][i] for i in each), power, nobody
            held = None if own is None else sizes[1][own]
            if wide == (each, power, nobody) and held == own:
                size_of.append(place)
                continue
            if wide not in ordinary_keys:
                ordinary_keys.append(wide)
            key = ordinary_keys.index(wide), held
            if key not in pairs:
                pairs.append(key)
            size_of.append(pairs.index(key))
        size_of += range(len(self.pairs), len(pairs))

        def integrand(u: Any) -> Any:
            brackets: list[Brackets] = [side(u) for side in sides]
            log_b = log_survival(brackets[0])
            with np.errstate(over="ignore", under="ignore"):
                nobody = extra * np.exp(u)
                rest = np.exp(-nobody) if extra else 1.0
            powers: dict[int, Any] = {}
            ordinary = []
            for places, power, unclaimed in ordinary_keys:
                count = len(places)
                if count not in powers:
                    powers[count] = sum_of_powers(log_b, lengths, int(self.has_hidden), count)
                value = powers[count] * power_times_decay(nobody, rest, unclaimed) / math.gamma(power)
                for place in places:
                    value = value * brackets[0].values[place]
                ordinary.append(value)
            hidden = brackets[1].values if self.has_hidden else []
            shape = np.broadcast_shapes(u.shape, *{v.shape for v in (*ordinary, *hidden)})
            results = np.empty((len(pairs), *shape))
            for row, (others, own) in zip(results, pairs, strict=True):
                np.multiply(ordinary[others], 1.0 if own is None else hidden[own], out=row)
            return results

        return integrand, size_of


def _on_line(
    integrand: Callable[[Any], Any], low: float, high: float, size_of: list[int]
) -> list[tuple[Any, Any]]:  # fmt: skip
    """The trapezoid rule for kernels of any form: products of brackets are analytic for |Im u| < pi/2.

    The step H is all that is needed; a look at every second node tells whether what is said of it holds.
    """
    if is_rough():
        ((found, errors),) = trapezoid_line(lambda u: [integrand(u)], low, high, 2 * ROUGH_STEP, in_one_call=True)
        return list(zip(found, errors, strict=True))
    ((found, errors),) = trapezoid_line(
        lambda u: [integrand(u)], low, high, 2 * H, in_one_call=True, sure=H, size_of=size_of
    )
    return list(zip(found, errors, strict=True))


def _on_panels(
    integrand: Callable[[Any], Any], sides: list[Any], low: float, high: float, size_of: list[int]
) -> list[tuple[Any, Any]]:
    """Panels that follow the kernels: where these are flat the integrand changes within one unit of u."""
    close, apart = (np.unique(np.concatenate([s.marks(spacing) for s in sides])) for spacing in (1 / 3, 1.0))
    low, high = find_window(lambda u: [integrand(u)], edges_along(close, low, high, 0.5))
    tolerance = ROUGH if is_rough() else 4 * EPS
    return legendre_panels(integrand, edges_along(apart, low, high, 2.0), size_of, tolerance=tolerance)


class _Side:
    """One kind of token: its kernel and its brackets as functions of the parameters."""

    def __init__(
        self, x: Any, kernel: Any, brackets: list[Any], breaks: tuple[Any, ...], is_hidden: bool,
        parameters: tuple[Any, ...], backend: Backend,
    ) -> None:  # fmt: skip
        self.powers = [p for (p,), _ in brackets]
        self.has_normal = x in kernel.free_symbols
        inserted = list(dict.fromkeys(f for _, f in brackets if f != 1))
        self.columns = [None if f == 1 else inserted.index(f) for _, f in brackets]
        self.kernel = backend.function([x, *parameters], [kernel])
        self.inserted = backend.function([x, *parameters], inserted) if inserted else None
        self.breaks = backend.function(parameters, list(breaks)) if breaks else None
        #: By how much log h was off by rounding when last looked at.
        self.noise = 0.0
        #: Weights of nodes, log h there, and by how much that is off by rounding, if somebody asks for errors.
        self.rounding: tuple[Any, Any, Any] | None = None
        self.line: Numeric | None = None
        #: Whether its nodes were last on panels, for a kernel that is steep or has kinks.
        self.is_uneven = False
        expanded = sympy.expand(kernel)
        if self.has_normal and expanded.is_polynomial(x) and sympy.degree(expanded, x) == 1:
            self.line = backend.function(parameters, [expanded.coeff(x, 1), expanded.coeff(x, 0)])
        # a factor may use the normal letter of a token whose kernel does not
        self.is_hidden = is_hidden
        self.is_shifted = is_hidden and self.has_normal
        self.is_point = not self.has_normal and not any(x in f.free_symbols for f in inserted)
        self.sharp = SharpPlaces(
            inserted if self.line is not None else [kernel, *inserted], x, parameters, backend
        )  # fmt: skip

    def slope(self, values: tuple[Any, ...]) -> float:
        """Largest rate of log h."""
        if not self.has_normal:
            return 0.0
        if self.line is not None:
            return abs(float(self.line(*values)[0]))
        grid = np.linspace(-REACH, REACH, 191)
        logs = np.asarray(self.kernel(grid, *values)[0], dtype=float)
        steps = np.abs(np.diff(logs)) / (grid[1] - grid[0])
        return float(np.max(np.where(np.isfinite(steps), steps, 0.0)))

    def centre(self, values: tuple[Any, ...]) -> float:
        """log h at the middle of the token's law."""
        with np.errstate(divide="ignore"):
            value = float(np.max(self.kernel(0.0, *values)[0]))
        return value if math.isfinite(value) else 0.0

    def signed(self, values: tuple[Any, ...]) -> list[bool]:
        """Which factors change their sign, so that their brackets cancel."""
        if self.is_point or self.inserted is None:
            return [False] * (0 if self.inserted is None else len(self._factors(0.0, values)))
        return [bool(np.min(f) < 0 < np.max(f)) for f in self._factors(SIGNS, values)]

    def sizes(self, signed: list[bool]) -> list[int]:
        """For each bracket the one that holds its size: itself, or one further on with the absolute factor."""
        found, further = [], len(self.columns)
        for place, column in enumerate(self.columns):
            is_own = column is None or not (signed[column] or self._is_rough)
            found.append(place if is_own else further)
            further += not is_own
        return found + list(range(len(self.columns), further))

    @property
    def _is_rough(self) -> bool:
        """Whether factors have an error of their own, which their sizes carry."""
        return not (self.is_point or self.sharp.is_empty)

    def token(self, values: tuple[Any, ...], left: float, right: float, signed: list[bool]) -> Token:
        """The brackets at these values, as a function of u."""
        if self.is_point:
            factors = self._factors(0.0, values)
            return PointToken(self.kernel(0.0, *values)[0], self._asked(factors, factors, signed))
        slope = self.slope(values)
        is_lattice = self.line is not None and slope >= 2 * H
        step = H / slope if is_lattice else min(0.5, STEP / max(slope, 1e-300))
        places = self.sharp(*values)
        is_even = not (self.sharp.has_switches or self.breaks is not None) and (self.line is not None or slope <= STEEP)
        self.is_uneven = not is_even
        if not is_even or step > 1.01 * STEP * finest(places, max(left, right)):
            return self._on_panels(values, left, right, signed, places)
        if is_lattice and self.line is not None:
            rate, centre = (float(v) for v in self.line(*values))
            ends = (-left, right) if rate > 0 else (-right, left)
            return self._on_lattice(values, rate, centre, ends, signed)
        x = np.arange(-math.ceil(left / step), math.ceil(right / step) + 1, dtype=np.float64) * step
        factors = self._factors(x, values)
        return self._dense(values, x, normal_weights(x, step), self._asked(factors, factors, signed))

    def _on_lattice(
        self, values: tuple[Any, ...], rate: float, centre: float, ends: tuple[float, float], signed: list[bool]
    ) -> LatticeToken:
        count = len(signed)
        asked = [(p, 0 if c is None else c + 1) for p, c in zip(self.powers, self.columns, strict=True)]
        asked += [(p, 1 + count + c) for p, c in zip(self.powers, self.columns, strict=True)
                  if c is not None and (signed[c] or self._is_rough)]  # fmt: skip

        def factors(x: Any) -> list[Any]:
            found = self._factors(x, values)
            return [*found, *(np.abs(f) for f in found)] if len(asked) > len(self.columns) else found

        return LatticeToken(rate, centre, *ends, factors, asked)

    def _on_panels(
        self, values: tuple[Any, ...], left: float, right: float, signed: list[bool], places: list[Place]
    ) -> DenseToken:
        """Nodes that follow the kernel and every factor, however steep."""
        known = [(float(p.at), float(p.scale)) for p in places]
        if self.breaks is not None:
            # a kernel that vanishes at its kink needs nodes at every scale there
            known += [(float(b), 2.0**-56) for b in self.breaks(*values)]

        def functions(x: Any) -> list[Any]:
            logs = np.broadcast_to(np.asarray(self.kernel(x, *values)[0], dtype=float), x.shape)
            return [logs, *self._factors(x, values)]

        with np.errstate(all="ignore"):
            span = ROUGH_SPAN if is_rough() else SPAN
            found = resolve(functions, graded_edges(-left, right, 0.5, known), MOST_NODES, rises=1, span=span)
        x, weights = nodes_of(found.edges)
        factors = self._factors(x, values)
        noise = 1 + amplification(places, x)
        sizes = [
            np.abs(f) * noise + np.repeat(slack, 16) / (4 * EPS) for f, slack in zip(factors, found.slack, strict=True)
        ]
        return self._dense(values, x, weights * normal_weights(x, 1.0), self._asked(factors, sizes, signed))

    def _dense(self, values: tuple[Any, ...], x: Any, weights: Any, asked: list[tuple[int, Any]]) -> DenseToken:
        logs = np.broadcast_to(np.asarray(self.kernel(x, *values)[0], dtype=float), x.shape)
        self.noise = check_kernel(logs, self.breaks is not None)
        if is_heard():
            self.rounding = weights, logs, rounding_of(lambda nodes: self.kernel(nodes, *values)[0], x)
        return DenseToken(x, weights, logs, asked, not self.is_hidden)

    def blur(self, u: Any) -> Any:
        """How far brackets are off at each u, relative to their size, if log h is off independently at each node."""
        assert self.rounding is not None
        weights, logs, errors = self.rounding
        found = np.zeros(u.shape)
        for i, place in enumerate(u):
            v = np.exp(np.clip(place + logs, -700.0, 700.0))
            for power in (1, 2):
                parts = weights * v**power * np.exp(-v)
                total = float(np.sum(parts))
                if total > 0:
                    parts = np.where(parts > 0, parts * errors, 0.0)
                    found[i] = max(found[i], float(np.sqrt(np.sum(parts**2))) / total)
        return found

    def _factors(self, x: Any, values: tuple[Any, ...]) -> list[Any]:
        if self.inserted is None:
            return []
        found = self.inserted(x, *values)
        return [np.broadcast_to(f, np.shape(x)) for f in found] if np.ndim(x) else list(found)

    def _asked(self, factors: list[Any], sizes: list[Any], signed: list[bool]) -> list[tuple[int, Any]]:
        """All brackets, then those with the sizes of factors."""
        own = [(p, None if c is None else factors[c]) for p, c in zip(self.powers, self.columns, strict=True)]
        return own + [(p, np.abs(sizes[c])) for p, c in zip(self.powers, self.columns, strict=True)
                      if c is not None and (signed[c] or self._is_rough)]  # fmt: skip
