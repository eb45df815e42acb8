"""Double Laplace sums whose integrands have a part that no finer step settles."""

import numpy as np

from theorem_engine.numerics.laplace import double_sums
from theorem_engine.numerics.laplace.nodes import normal_weights
from theorem_engine.numerics.laplace.tiles import cut_tiles

STEP = 0.05
X = np.arange(-240, 241) * STEP


def swept(noise, monkeypatch):
    """Two integrals, the second with a factor that jumps about by this share, and the sizes of all parts."""
    sizes = []
    plain = double_sums._Sweep._part

    def part(self, lattice, u, rows):
        sizes.append((rows.stop - rows.start) * u.size * len(lattice.keys))
        return plain(self, lattice, u, rows)

    monkeypatch.setattr(double_sums._Sweep, "_part", part)
    weights = normal_weights(X, STEP)
    tiles = cut_tiles(1.5, X, weights, np.logaddexp(0.0, X), [])

    def assemble(log_b, brackets, w):
        value = np.exp(8 * log_b) * brackets[0]
        return [value, value * (1 + noise * np.sign(np.sin(1e7 * w)))]

    profile = X, np.logaddexp(0.0, X)
    return double_sums.sweep_integrals(1.5, tiles, [(1, 1, 0)], assemble, [10], np.inf, profile), sizes


def test_what_does_not_settle_is_given_with_its_gap_as_error(monkeypatch):
    """The noise is that of an integrand, its mean is known: the sum without it."""
    for noise in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        ((exact, small), (rough, large)), _ = swept(noise, monkeypatch)
        assert small < 1e-12 * exact
        assert abs(rough - exact) <= large <= 30 * noise * exact
        monkeypatch.undo()


def test_a_part_of_the_sum_holds_a_bounded_number_of_numbers(monkeypatch):
    monkeypatch.setattr(double_sums, "HELD", 20_000)
    found, sizes = swept(0.0, monkeypatch)
    monkeypatch.undo()
    assert max(sizes) <= 20_000
    plain, _ = swept(0.0, monkeypatch)
    assert abs(found[0][0] - plain[0][0]) <= plain[0][1]
