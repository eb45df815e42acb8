"""Values too small for a double: zero is then not exact, and the error says so."""

import mpmath as mp
import pytest

import theorem_engine as te


def of_ties(nu):
    """Two tokens, strong signal: the risk is sqrt(pi/nu) exp(-nu/4)/2 up to a relative pi^2/(4 nu)."""
    return mp.sqrt(mp.pi / nu) * mp.exp(-mp.mpf(nu) / 4) / 2


def of_a_miss(t, g):
    """E (1 - erf(t + g G))^2 by Laplace's method around its own peak, in mpmath."""
    peak = -4 * mp.mpf(t) * g / (1 + 4 * mp.mpf(g) ** 2)

    def body(x):
        return mp.erfc(t + g * x) ** 2 * mp.exp(-(x**2) / 2) / mp.sqrt(2 * mp.pi)

    return mp.quad(body, [peak - 12, peak - 4, peak, peak + 4, peak + 12])


def of_the_rate(lam, gamma, d):
    """Curvature along k at the oracle: 2 gamma^2 c erf'(c) erfc(b c)."""
    g = mp.mpf(lam) * mp.mpf(gamma)
    c, b = lam * mp.sqrt(mp.mpf(d) / 2) / mp.sqrt(1 + 2 * g**2), 1 / mp.sqrt(1 + 4 * g**2)
    return 4 * mp.mpf(gamma) ** 2 * c * mp.exp(-(c**2)) * mp.erfc(b * c) / mp.sqrt(mp.pi)


def of_a_discriminant(g, delta2):
    """Phi(-delta2 sqrt(1 - g) / (2 sqrt(delta2 + 4 g)))."""
    g, delta2 = mp.mpf(g), mp.mpf(delta2)
    return mp.ncdf(-delta2 * mp.sqrt(1 - g) / (2 * mp.sqrt(delta2 + 4 * g)))


@pytest.mark.parametrize(
    ("entry", "letters", "output", "truth"),
    [
        ("duranthon2026.bayes-risk", {"task": "spiked", "nu": 4000, "L": 2}, "risk", lambda: of_ties(4000)),
        ("gaussian.erf-miss", {"t": 60, "g": "0.1"}, "value", lambda: of_a_miss(60, mp.mpf("0.1"))),
        ("marion2025.oracle-risk", {"lam": 3, "gamma": "0.1", "d": 2000, "L": 1}, "excess",
         lambda: of_a_miss(3 * mp.sqrt(1000), mp.mpf("0.3")) / 100),
        ("marion2025.fixed-points", {"lam": "5.34", "gamma": "0.158", "d": 428, "L": 30}, "rate_k",
         lambda: of_the_rate(mp.mpf("5.34"), mp.mpf("0.158"), 428)),
        ("classics.lda-error", {"g": "0.005424", "delta2": "5946.2"}, "error",
         lambda: of_a_discriminant("0.005424", "5946.2")),
        ("classics.lda-error", {"g": "0.005424", "delta2": "5750"}, "error",
         lambda: of_a_discriminant("0.005424", "5750")),
        ("gaussian.erf-miss", {"t": "27", "g": 0}, "value", lambda: mp.erfc(27) ** 2),
    ],
)  # fmt: skip
def test_a_number_that_underflows_is_not_called_exact(entry, letters, output, truth):
    """The true value in mpmath, whose exponents have no end."""
    found = te.predict(entry, **letters)
    true = truth()
    assert true > 0
    assert abs(mp.mpf(found.outputs[output]) - true) <= mp.mpf(found.errors[output]) < mp.mpf("1e-300")
