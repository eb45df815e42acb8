"""Where the proximal point with softmax weights is known to be the lowest: the bounds, and searches for a lower one."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tests.thinned import every, thinned
from theorem_engine import Proximal
from theorem_engine.backends import get_backend
from theorem_engine.registry.duranthon2026 import sample_loss
from theorem_engine.registry.duranthon2026.finite_sample_notation import V_k, V_v, chi, omega, tried, w, y, z

QUICK = get_backend("float64")
height = sympy.Symbol("height", real=True)
LENGTHS = [2, 3, 5, 10, 24, 64]


def weights_of(rng, length, count):
    """Weights of many kinds: even, led by one token, shared by a few."""
    steep = 10 ** rng.uniform(-1, 1.5, size=(count, 1))
    scores = steep * rng.normal(size=(count, length))
    share = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return share / np.sum(share, axis=1, keepdims=True)


@pytest.mark.parametrize("length", LENGTHS)
def test_no_covariance_exceeds_the_skew(length):
    """The largest over unit vectors is an eigenvalue, for any weights and any vector of zeros and ones."""
    rng = np.random.default_rng(length)
    s = weights_of(rng, length, 2000)
    u = (rng.random(s.shape) < rng.random((len(s), 1))).astype(float)
    off = s * (u - np.sum(s * u, axis=1, keepdims=True))
    # sum_l off_l (v_l - s.v)^2 as a quadratic form; off sums to zero
    form = off[:, :, None] * np.eye(length) - off[:, :, None] * s[:, None, :] - s[:, :, None] * off[:, None, :]
    largest = np.linalg.eigvalsh(form)[:, -1]
    assert np.max(largest) <= float(sample_loss.SKEW) + 1e-12
    lead = np.max(s, axis=1)
    p = np.minimum(1 - lead, 0.5)
    assert np.all(largest <= 2 * p * (1 - p) + 1e-12)


def test_two_tokens_attain_the_skew():
    lead = 0.5 + 1 / (2 * np.sqrt(3))
    s, v = np.array([lead, 1 - lead]), np.array([1, -1]) / np.sqrt(2)
    square = (v - s @ v) ** 2
    assert s[1] * (square[1] - s @ square) == pytest.approx(float(sample_loss.SKEW), abs=1e-15)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_spread_is_bounded_by_the_weight_beside_the_leading_token(length):
    """v.J v <= 2 P and |J v| <= 2 P for unit vectors."""
    s = weights_of(np.random.default_rng(1), length, 1000)
    jacobian = s[:, :, None] * np.eye(length) - s[:, :, None] * s[:, None, :]
    p = np.minimum(1 - np.max(s, axis=1), 0.5)
    assert np.all(np.linalg.eigvalsh(jacobian)[:, -1] <= 2 * p * (1 - p) + 1e-12)


def functions(length):
    """The minimum of the descent from omega, and whether its height is claimed to be the lowest."""
    alone = Proximal(sample_loss.loss("softmax"), over=(chi, z))
    given = [omega, w, y, V_k, V_v]
    claim = sample_loss.is_lowest(height, sympy.Integer(length))
    return QUICK.function(given, [alone.at(chi), alone.height]), QUICK.function([height, *given], [claim])


#: Widths of scores and values, and the size of the fields.
SETTINGS = [(0.3, 0.7, 1.0), (1.5, 0.3, 1.0), (6.0, 1.0, 0.5), (6.0, 2.0, 3.0), (0.6, 0.02, 4.0)]


@pytest.mark.parametrize(("length", "setting"), thinned(every(LENGTHS, SETTINGS), 10))
def test_where_the_lowest_is_certain_no_search_finds_a_lower_point(length, setting):
    """Searches from the uniform point, near vertices, and from far random points; claims are made often enough."""
    width_k, width_v, scale = setting
    rng = np.random.default_rng([length, 7])
    count = 400
    fields = (
        scale * rng.normal(size=(count, length)),
        0.8 * rng.normal(size=(count, length)),
        rng.normal(size=(count, 1)),
    )
    find, claim = functions(length)
    _, first = find(*fields, width_k, width_v)
    certain = claim(first, *fields, width_k, width_v)[0][:, 0]
    middle = sympy.Rational(1, length)
    places = [{chi: 0 * omega}, {chi: sample_loss.VERTEX * (tried - middle)}, {chi: 12 * (tried - middle)}]
    many = Proximal(sample_loss.loss("softmax"), over=(chi, z), starts=places[: 3 if length < 20 else 2], each=tried)
    _, lowest, jumps = QUICK.function([omega, w, y, V_k, V_v], [many.at(chi), many.height, many.jumps])(
        *(a[certain] for a in fields), width_k, width_v
    )
    assert np.all(lowest >= first[certain] - 1e-7)
    assert not jumps.any()
    if setting == (0.3, 0.7, 1.0) and length < 5:
        assert np.mean(certain) > 0.97


def test_the_claim_is_made_less_often_where_the_width_is_large():
    rng = np.random.default_rng(3)
    fields = rng.normal(size=(500, 3)), 0.8 * rng.normal(size=(500, 3)), rng.normal(size=(500, 1))
    find, claim = functions(3)
    shares = [np.mean(claim(find(*fields, v, 0.7)[1], *fields, v, 0.7)[0]) for v in (0.3, 1.0, 30.0)]
    assert shares[0] > 0.97
    assert shares[0] > shares[1] > shares[2]


@given(widths=st.tuples(st.floats(0.05, 8), st.floats(0.05, 4)), scale=st.floats(0.2, 5))
def test_a_claim_is_a_claim_about_convexity(widths, scale):
    """The second derivative of the reduced loss is positive at random points of the ball, where it is claimed to be."""
    rng = np.random.default_rng(11)
    fields = scale * rng.normal(size=(60, 3)), 0.8 * rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    find, claim = SHORT
    _, first = find(*fields, *widths)
    certain = claim(first, *fields, *widths)[0][:, 0]
    centres, values, label = (a[certain] for a in fields)
    radius = np.sqrt(2 * widths[0] * first[certain])
    along = rng.normal(size=centres.shape)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    at = centres + radius * rng.random(radius.shape) * np.roll(along, 1, axis=0)

    def level(x):
        s = np.exp(x - np.max(x, axis=1, keepdims=True))
        s /= np.sum(s, axis=1, keepdims=True)
        miss = label - np.sum(s * values, axis=1, keepdims=True)
        gap = np.sum((x - centres) ** 2, axis=1, keepdims=True) / (2 * widths[0])
        return gap + miss**2 / (2 * (1 + widths[1] * np.sum(s * s, axis=1, keepdims=True)))

    step = 1e-3
    bend = (level(at + step * along) - 2 * level(at) + level(at - step * along)) / step**2
    assert np.all(bend > -1e-5 * (1 + np.abs(level(at))))


SHORT = functions(3)
