"""The ways to describe a model, brought to one: ratio, moments of the nonlinearity, products of the vectors."""

from dataclasses import dataclass
from typing import Any

from sympy import Abs, Eq, Integer, Rational, sqrt

from theorem_engine.errors import OutOfDomain
from theorem_engine.registry.liao2026.hermite import moments_of, stretched
from theorem_engine.registry.liao2026.notation import a1 as slope_letter
from theorem_engine.registry.liao2026.notation import diagonal as diagonal_letter
from theorem_engine.registry.liao2026.notation import second_moment as moment_letter
from theorem_engine.registry.liao2026.notation import snr as snr_letter

LIMIT = "n, p -> oo with p/n -> c; |mu|, |w_K|, |w_Q| of order one"
CORRECTION = (
    "the kernel's diagonal, of order 1/sqrt(p), dominates: give it as `diagonal` = E f(sqrt(p) + sqrt(2) xi)/sqrt(p), "
    "or zero it; the rest is of order 1/p while eps2, the mean square shift of the kernel's argument, is small: within "
    "3 % while it is below 0.05 for odd f (0.02 where E[f(xi) (xi^2 - 1)] is not zero)"
)
MODEL = (
    "X = mu y^T + Z with Z standard normal; W_K^T W_Q = I + w_K w_Q^T; w absorbs W_V",
    "f is bounded, or grows so slowly that f(sqrt(p))/sqrt(p) -> 0, and is centred by its mean; for linear, relu and "
    "softmax the kernel's diagonal is zeroed or masked (unmasked linear and relu are diagonal = 1)",
    "the labels are balanced, or E[f(xi) (xi^2 - 1)] = 0",
)

#: A multiple of the identity this near to one is one, and the largest (or one over the smallest) that is served.
SAME, GENTLEST = Rational(1, 10**12), 10**4

#: Values that change the equations: no linear part, no nonlinear part, no diagonal, no signal.
MOMENT_CASES = {"is_even": Eq(slope_letter, 0), "is_linear": Eq(moment_letter, slope_letter**2)}
NO_DIAGONAL = {"has_no_diagonal": Eq(diagonal_letter, 0)}
NO_SIGNAL = {"has_no_signal": Eq(snr_letter, 0)}


def is_parallel(product, norm2):
    """Whether a vector with this product with mu and this squared norm is a multiple of mu, up to rounding of both."""
    return Abs(product**2 - norm2 * snr_letter) <= Rational(1, 10**12) * norm2 * snr_letter


def columns_over_rows(c, p, n):
    """The ratio n/p of tokens to dimension."""
    return 1 / c if c is not None else n / p


@dataclass(frozen=True)
class Moments:
    """What is used of the nonlinearity: first coefficient, second moment, what the first leaves of the second."""

    a1: Any
    second_moment: Any
    rest: Any
    is_even: bool
    is_linear: bool


def read_moments(nonlinearity, level, r, a1, second_moment, is_even, is_linear):
    """Moments given as numbers, or those of a nonlinearity."""
    if nonlinearity is None:
        slope = Integer(0) if is_even else a1
        return Moments(slope, second_moment, second_moment - slope**2, is_even, is_linear)
    data = moments_of(nonlinearity, level, r)
    return Moments(data.a1, data.second_moment, data.rest, data.a1 == 0, data.rest == 0)


def behind_weights(nonlinearity, a1, weights_file):
    """The nonlinearity, or its first coefficient, as seen through a file's multiple of the identity."""
    scale = Integer(1) if weights_file is None else Rational(weights_file.scale)
    if Abs(scale - 1) <= SAME:
        return nonlinearity, a1
    if not Rational(1, GENTLEST) <= Abs(scale) <= GENTLEST:
        raise OutOfDomain(
            f"the weights are {float(scale):.3g} times the identity plus rank one; multiples from 1/{GENTLEST} to "
            f"{GENTLEST} in size are served, for beyond them f of that multiple of t is a step or a constant"
        )
    if nonlinearity is not None:
        return stretched(nonlinearity, scale), a1
    if Abs(scale + 1) <= SAME:
        return None, -a1
    raise OutOfDomain(
        f"the weights are s = {float(scale):.6g} times the identity plus rank one, and a1 and second_moment of f do "
        "not give those of f(s t); give the nonlinearity"
    )


@dataclass(frozen=True)
class Products:
    """Squared norms and inner products of w_K and w_Q, and their components along mu."""

    key_norm2: Any
    query_norm2: Any
    key_query: Any
    key_along: Any
    query_along: Any


def read_products(snr, key_norm2, query_norm2, mu_key, mu_query, key_query, weights, has_no_signal, weights_file=None):
    """Products given as numbers, or those of a shorthand, or those of a file."""
    zero, one = Integer(0), Integer(1)
    if weights_file is not None:
        strength, key_query, *along = (
            Rational(x)
            for x in (weights_file.strength, weights_file.key_query, weights_file.key_along, weights_file.query_along)
        )
        key_along, query_along = (zero, zero) if has_no_signal else along
        return Products(strength, strength, key_query, key_along, query_along)
    if weights == "none":
        return Products(zero, zero, zero, zero, zero)
    if weights == "orthogonal":
        return Products(one, one, zero, zero, zero)
    if weights == "aligned":
        length = zero if has_no_signal else sqrt(snr)
        return Products(snr, snr, snr, length, length)
    if weights == "unit-aligned":
        along = zero if has_no_signal else one
        return Products(one, one, one, along, along)
    if has_no_signal:
        return Products(key_norm2, query_norm2, key_query, zero, zero)
    return Products(key_norm2, query_norm2, key_query, mu_key / sqrt(snr), mu_query / sqrt(snr))
