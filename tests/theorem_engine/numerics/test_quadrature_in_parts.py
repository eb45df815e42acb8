"""Rules that have grown are summed in parts, and integrands that are no number are given up at once."""

import numpy as np
import pytest

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics import quadrature


def test_a_fine_rule_on_the_line_for_many_points_holds_few_values(monkeypatch):
    """Narrow bells: integrals are known, and no call sees more values than allowed."""
    monkeypatch.setattr(quadrature, "MOST_VALUES", 2000)
    widths = np.geomspace(1e-3, 1, 20)[:, None]
    seen = []

    def bells(x):
        seen.append(np.broadcast(x, widths).size)
        return [np.exp(-0.5 * (x / widths) ** 2) / widths]

    ((value, error),) = quadrature.trapezoid_line(bells, -10.0, 10.0)
    assert max(seen[1:]) <= 2000
    assert (np.abs(value - np.sqrt(2 * np.pi)) <= error).all()
    assert (error < 1e-12).all()


def test_a_fine_rule_on_an_interval_for_many_points_holds_few_values(monkeypatch):
    """Fast waves over [0, 1]: the integral of sin(f x) is (1 - cos f)/f."""
    monkeypatch.setattr(quadrature, "MOST_VALUES", 3000)
    frequencies = np.linspace(1, 3000, 15)
    seen = []

    def waves(x):
        seen.append(x.size)
        return [np.sin(frequencies[:, None] * x)]

    ((value, error),) = quadrature.legendre_interval(waves, np.zeros(15), np.ones(15))
    assert max(seen) <= 3000
    truth = (1 - np.cos(frequencies)) / frequencies
    # a node's own rounding moves a wave by its frequency times that
    assert (np.abs(value - truth) <= error + 2e-16 * frequencies).all()


def test_an_integrand_beyond_double_precision_is_not_halved():
    calls = []

    def grows(x):
        calls.append(x.size)
        return [np.exp(300 * np.abs(x))]

    with np.errstate(all="ignore"), pytest.raises(NotConverged, match="beyond double precision"):
        quadrature.trapezoid_line(grows, -10.0, 10.0)
    assert len(calls) == 2
