"""Moments of nonlinearities that nearly have a kink or a pole, against quadrature on graded pieces in NumPy."""

import numpy as np
import pytest
import sympy

import theorem_engine as te

LONG = np.longdouble
t = sympy.Symbol("t")
BASES = {
    "sqrt": (sympy.sqrt, np.sqrt),
    "inverse": (lambda b: 1 / b, lambda b: 1 / b),
    "log": (sympy.log, np.log),
}


def moments(function, middle, width):
    """Hermite data by Gauss-Legendre rules on pieces that double away from a sharp place, in extended precision."""
    doubled = [width * LONG(2) ** k for k in range(-1, 40) if width * LONG(2) ** k < 4]
    far = [LONG(k) / 2 for k in range(-26, 27)]
    edges = np.array(sorted({*far, middle, *(middle + sign * w for sign in (-1, 1) for w in doubled)}), dtype=LONG)
    nodes, weights = (part.astype(LONG) for part in np.polynomial.legendre.leggauss(24))
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + nodes)
    share = half * weights * np.exp(-(x**2) / 2) / np.sqrt(8 * np.arctan(LONG(1)))
    value = function(x)
    mean = (share * value).sum()
    return {
        "mean": mean,
        "a1": (share * x * value).sum(),
        "a2": (share * (x**2 - 1) * value).sum() / np.sqrt(LONG(2)),
        "second_moment": (share * (value - mean) ** 2).sum(),
    }


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(
    ("middle", "height"),
    [("1/3", "1/10000000000"), ("17/10", "1/10000")],
)
def test_a_base_that_nearly_vanishes_is_seen(name, middle, height):
    """sqrt, 1/ and log of (t - m)^2 + h are singular sqrt(h) beside the line: even steps seem to settle too early."""
    symbolic, numeric = BASES[name]
    m, h = (sympy.Rational(x) for x in (middle, height))
    found = te.predict("liao2026.hermite", nonlinearity=symbolic((t - m) ** 2 + h))
    place, depth = (LONG(int(x.p)) / LONG(int(x.q)) for x in (m, h))
    true = moments(lambda x: numeric((x - place) ** 2 + depth), place, np.sqrt(depth))
    # nodes and weights are doubles: the reference has their rounding
    rounding = LONG(1e-15) * max(map(abs, true.values()))
    for output, value in true.items():
        assert abs(LONG(found.outputs[output]) - value) <= LONG(found.errors[output]) + rounding, output
