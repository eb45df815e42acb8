"""Channel averages by quadrature, against plain rules written here."""

import numpy as np
import pytest
import sympy

from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import channel
from theorem_engine.base.errors import DeclarationError, NotAvailable
from theorem_engine.base.reports import listening
from theorem_engine.language.operators.channel import ChannelMean, TokenLogSum
from theorem_engine.language.operators.stochastic import TokenSum

QUICK = get_backend("float64")
g, h, e, slope = sympy.symbols("g h e slope", real=True)
#: Square of the softmax weight of the first token: a function of differences that treats the others alike.
SQUARE = sympy.exp(2 * (TokenSum(e * slope * g) - TokenLogSum(slope * g)))


def by_quadrature(body, tokens, steepness):
    made = ChannelMean.of({"one": body}, token_normals=(g,), normals=(), first=e, tokens=tokens, scale=1 / slope)
    with listening() as notes:
        value = QUICK.function([slope], [made.mean("one")])(steepness)[0]
    return value, notes[-1].error[0]


def by_trapezoids(tokens, steepness, nodes):
    """E softmax(slope x)_1^2 over an orthonormal frame of the differences, with a step far below 1/slope."""
    x = np.linspace(-9, 9, nodes)
    weight = np.exp(-(x**2) / 2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    if tokens == 2:
        return weight @ (1 / (1 + np.exp(-np.sqrt(2) * steepness * x))) ** 2
    gap_2 = np.sqrt(2) * x[:, None]
    gap_3 = np.sqrt(2) * (x[:, None] / 2 + np.sqrt(3) / 2 * x)
    others = np.exp(-steepness * gap_2) + np.exp(-steepness * gap_3)
    return weight @ (1 + others) ** -2.0 @ weight


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("steepness", [0.3, 2.0, 30.0])
def test_means_are_those_of_a_plain_rule_within_the_reported_error(tokens, steepness):
    value, error = by_quadrature(SQUARE, tokens, steepness)
    assert abs(value - by_trapezoids(tokens, steepness, 2001)) <= error
    assert error < 1e-8


@pytest.mark.parametrize("tokens", [2, 3])
def test_a_steep_weight_leaves_the_largest_token(tokens):
    value, error = by_quadrature(SQUARE, tokens, 1e6)
    assert abs(value - 1 / tokens) <= error + 2 / 1e6


def test_the_weights_of_the_nodes_sum_to_one():
    for tokens in (2, 3):
        assert by_quadrature(sympy.Integer(1), tokens, 3.0)[0] == pytest.approx(1, abs=1e-13)


def test_a_quadrature_draws_nothing_and_says_what_it_does_not_serve():
    made = ChannelMean.of({"one": SQUARE}, token_normals=(g,), normals=(), first=e, tokens=4, scale=1)
    assert not made.is_random
    with pytest.raises(NotAvailable, match="two or three are served"):
        QUICK.function([slope], [made.mean("one")])(1.0)
    with pytest.raises(DeclarationError, match="one of the two"):
        ChannelMean.of({"one": g}, token_normals=(g,), normals=(), first=e, tokens=2)
    with pytest.raises(DeclarationError, match="no other"):
        ChannelMean.of({"one": g}, token_normals=(g,), normals=(h,), first=e, tokens=2, scale=1)


@pytest.mark.parametrize("kept", [channel.KEPT, 0])
def test_samples_taken_block_by_block_have_the_same_mean(monkeypatch, kept):
    """Blocks of numbers that are kept, or drawn on the way; the points of a scramble are the same ones."""
    body = TokenSum(g**2) * sympy.cos(h)
    made = ChannelMean.of({"one": body}, token_normals=(g,), normals=(h,), first=e, tokens=3, samples=2**12)
    mean = QUICK.function([], [made.mean("one")])
    whole = mean()[0]
    monkeypatch.setattr(channel, "AT_ONCE", 2**14)
    monkeypatch.setattr(channel, "KEPT", kept)
    assert mean()[0] == pytest.approx(whole, abs=1e-13)
