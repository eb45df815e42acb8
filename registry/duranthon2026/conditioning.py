"""Means of the predictor f = sum_l sigma_l z_l by Gaussian conditioning on what its weights see.

Given the score, chi = m_kk sqrt(nu) 1_{l=eps} + s x with s^2 = q_kk and x standard normal, a token has

    z  = a 1_{l=eps} + b x + noise of variance q_vv - b^2,     a = m_vk sqrt(nu), b = q_kv/s,
    z* = b* x + noise,  b* = m_kv/s,  with the covariance m_vv - b b* of the two noises,

so that E f^2 = (q_vv - b^2) E sum sigma^2 + E (sum sigma (a 1_{l=eps} + b x))^2, and in the spiked task
E[z*_eps f] = (m_vv - b b*) E sigma_eps + b* E[x_eps sum sigma (a 1_{l=eps} + b x)].

In the max task the position hangs on chi* = x too. With chi = m_kk x + s zeta, s^2 = q_kk - m_kk^2, now z = m_vk x
+ b zeta + noise and z* = a zeta + noise with a = m_kv/s, b = (q_kv - m_kk m_vk)/s, and

    E[z*_eps f] = m_vv E sigma_eps + a m_vk E[zeta_eps sum sigma x] + a b (E[zeta_eps sum sigma zeta] - E sigma_eps).

Stein's lemma removes s: with weights of one token alone, s E zeta sigma = s^2 E sigma' and so on.
"""

from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from sympy import Add, Integer, Symbol, expand, sqrt

from theorem_engine import Blurred, LengthMean, Normalised
from theorem_engine.registry.duranthon2026.notation import (
    L,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    p,
    q_kk,
    q_kv,
    q_vv,
    rest,
    sigma,
    x,
    z,
)
from theorem_engine.registry.duranthon2026.weights import Centred, over_score, pair_tokens, score_tokens, smoothed

#: A score, for derivatives of the weights in it.
SCORE = Symbol("chi_0", real=True)


@dataclass(frozen=True)
class Independent:
    """Tokens whose weights see their own score only: means of products are products of means."""

    weights: Any
    width: Any
    centre: Any

    def mean(self, hidden=None, each=()):
        """As of tokens that compete: a factor of the hidden token, one for each further token, summed over."""
        alike = L if hidden is None else L - 1
        means = [self._single(factor, 0) for factor in each]
        if hidden is not None:
            means.append(self._single(hidden, self.centre))
        count = reduce(mul, (alike - i for i in range(len(each))), Integer(1))
        return reduce(mul, means, LengthMean(count, L) if each else Integer(1))

    def _single(self, factor, centre):
        factor = Integer(1) * factor
        if sigma not in factor.free_symbols:
            # a constant, or an odd power of a standard normal
            return factor.xreplace({x: Integer(0)})
        return over_score(
            self.weights, lambda score: factor.xreplace({sigma: self.weights.at(score)}), centre, self.width
        )


@dataclass(frozen=True)
class Tilted:
    """Tokens of the max task whose weights see their own score only, the hidden one's among them."""

    task: Any
    weights: Any
    width: Any

    def mean(self, each):
        """Of one token p f(x, zeta) sigma; a factor p zeta stands alone and vanishes, zeta having no part in p."""
        if len(each) > 1:
            return Integer(0)
        factor = (each[0] / p).xreplace({sigma: Integer(1)})
        score, width = m_kk * x, self.width
        return self.task.hidden(over_score(self.weights, lambda s: self.weights.at(s) * factor, score, width, z))


def by_powers(tokens, hidden=None, each=()):
    """A mean over tokens of polynomials in x, term by term, so that all parameters stand before the means."""
    total = [(Integer(1), ())]
    for factor in (*(() if hidden is None else (hidden,)), *each):
        terms: dict[Any, Any] = {}
        for term in Add.make_args(expand(factor)):
            parameters, own = term.as_independent(x, sigma, as_Add=False)
            terms[own] = terms.get(own, 0) + parameters
        total = [(a * b, (*done, own)) for a, done in total for own, b in terms.items()]
    if hidden is None:
        return sum(a * tokens.mean(each=parts) for a, parts in total)
    return sum(a * tokens.mean(hidden=parts[0], each=parts[1:]) for a, parts in total)


def seen_tokens(task, weights):
    """Tokens as the weights alone see them."""
    width, centre = sqrt(q_kk), m_kk * task.shift
    return (score_tokens if isinstance(weights, Normalised) else Independent)(weights, width, centre)


def mean_square(task, weights):
    """E f^2."""
    tokens = seen_tokens(task, weights)
    a, b = m_vk * task.shift, q_kv / sqrt(q_kk)
    noise, other, hidden = q_vv - b**2, sigma * b * x, sigma * (a + b * x)
    if not task.is_marked:
        return by_powers(tokens, each=(sigma**2 * noise + other**2,)) + by_powers(tokens, each=(other, other))
    return (
        by_powers(tokens, hidden=sigma**2 * noise + hidden**2)
        + by_powers(tokens, hidden=1, each=(sigma**2 * noise + other**2,))
        + 2 * by_powers(tokens, hidden=hidden, each=(other,))
        + by_powers(tokens, hidden=1, each=(other, other))
    )


def label_given_score(task, weights):
    """E[z*_eps f] of the spiked task."""
    tokens = seen_tokens(task, weights)
    a, b, b_star = m_vk * task.shift, q_kv / sqrt(q_kk), m_kv / sqrt(q_kk)
    own = by_powers(tokens, hidden=sigma * (m_vv - b * b_star + b_star * x * (a + b * x)))
    return own + by_powers(tokens, hidden=b_star * x, each=(sigma * b * x,))


def label_given_both(task, weights):
    """E[z*_eps f] of the max task where k is no multiple of k*."""
    s = sqrt(rest)
    a, b = m_kv / s, (q_kv - m_kk * m_vk) / s
    is_normalised = isinstance(weights, Normalised)
    tokens = pair_tokens(task, weights, m_kk, s) if is_normalised else Tilted(task, weights, s)
    t0 = tokens.mean(each=(p * sigma,))
    # t2 is of the order of the rest: a difference of two means would keep the rounding of both
    t1, t2 = (tokens.mean(each=(p * sigma * f,)) for f in (z * x, z**2 - 1))
    t3, t4 = (tokens.mean(each=(p * z, sigma * f)) for f in (x, z))
    return m_vv * t0 + a * (m_vk * (t1 + t3) + b * (t2 + t4))


def label_by_stein(task, weights):
    """E[z*_eps f] of the max task with smooth weights of one token alone, at any rest.

    E zeta f(y + s zeta) and E (zeta^2 - 1) f are s times and s^2 times derivatives of the smoothed weight.
    """
    smooth = smoothed(weights, SCORE, sqrt(rest))
    if smooth is None:
        level, slope, bend = (Blurred(weights.at(SCORE).diff(SCORE, k), SCORE, m_kk * x, rest) for k in range(3))
    else:
        level, slope, bend = (smooth.diff(SCORE, k).xreplace({SCORE: m_kk * x}) for k in range(3))
    across = m_kv * (q_kv - m_kk * m_vk)
    return m_vv * task.hidden(level) + m_kv * m_vk * task.hidden(x * slope) + across * task.hidden(bend)


def centred_excess(task):
    """E f^2 - 2 E[z*_eps f] of weights 1/L + chi - mean chi, closed.

    f = mean z + C with C the sum of (chi - mean chi)(z - mean z) over tokens. The means are independent of the
    deviations, and C is a sum of L - 1 products of Gaussian pairs. The spike adds c to chi and a to z at the hidden
    token, hence terms of first order in its deviations and a constant.
    """
    parts, gap = Centred.of(task), 1 - 1 / L
    on_manifold = q_vv * parts.square(m_kk, q_kk) - 2 * m_vv * parts.hidden(m_kk)
    c, a = m_kk * task.shift, m_vk * task.shift
    constant = a * (1 / L + c * gap)
    square = L * (L - 1) * q_kv**2 + constant**2 + 2 * constant * (L - 1) * q_kv
    return on_manifold + LengthMean(square + gap * (a**2 * q_kk + 2 * a * c * q_kv), L) - 2 * m_kv * m_vk * parts.lead
