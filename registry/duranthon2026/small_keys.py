"""The risk where k is a multiple of k* or zero, with its first-order terms in what vanishes there.

Near such points the general form divides by what vanishes. It is expanded instead: along k = m_kk k* + a small part
that k* does not see, the weights are smoothed by a little heat (rest/2 times second derivatives) and tilted by Stein's
lemma, E zeta g(zeta) = E g'(zeta); around k = 0 they are a Taylor polynomial of the scores.
"""

from sympy import Abs, ceiling, sqrt

from theorem_engine import LengthMean, Normalised
from theorem_engine.base.errors import NotAvailable
from theorem_engine.registry.duranthon2026.conditioning import SCORE
from theorem_engine.registry.duranthon2026.notation import (
    L,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    nu,
    p,
    q_kk,
    q_kv,
    q_vv,
    rest,
    sigma,
    x,
)
from theorem_engine.registry.duranthon2026.weights import pair_tokens


def label_aligned(task, weights, has_rest=False):
    """E[z*_eps f] of the max task with k along k*, or nearly so: the value, and what is of first order beside it.

    Where there is a rest, m_kv and q_kv - m_kk m_vk are of the order of its root, and their product counts too.
    """
    if not isinstance(weights, Normalised):
        return m_vv * task.hidden(weights.at(m_kk * x))
    pair = pair_tokens(task, weights, m_kk, 0)
    level = m_vv * pair.mean(each=(p * sigma,))
    if weights.breaks:
        return level
    rate, bend = (weights.log_at(SCORE).diff(SCORE, k).xreplace({SCORE: m_kk * x}) for k in (1, 2))
    own = sigma * (1 - sigma)
    # second derivatives of sigma_eps in its own score, and in those of the others
    twice = pair.mean(each=(p * (own * (1 - 2 * sigma) * rate**2 + own * bend),))
    heat = twice - pair.mean(each=(p * sigma, sigma * (1 - 2 * sigma) * rate**2 + sigma * bend))
    slope = pair.mean(each=(p * x * own * rate,)) - pair.mean(each=(p * sigma * rate, sigma * x))
    first_order = m_vv * rest * heat / 2 + m_kv * m_vk * slope
    if has_rest:
        mixed = twice - pair.mean(each=(p * sigma * rate, sigma * (1 - 2 * sigma) * rate))
        first_order += m_kv * (q_kv - m_kk * m_vk) * mixed
    return level + first_order


def steepness(weights):
    """The square of the slope of log h at zero, or its second derivative there, as a whole number, at least one."""
    log = weights.log_at(SCORE)
    rate, bend = (log.diff(SCORE, k).subs(SCORE, 0) for k in (1, 2))
    return max([1, *(int(ceiling(Abs(size))) for size in (rate**2, bend) if size.is_finite)])


def excess_without_key(task, weights):
    """E f^2 - 2 E[z*_eps f] at k = 0: equal weights, and the first-order terms of a small k."""
    return (_normalised if isinstance(weights, Normalised) else _element_wise)(task, weights)


def _normalised(task, weights):
    """Weights 1/L."""
    if weights.extra != 0 or weights.breaks:
        raise NotAvailable("duranthon2026.population-risk: q_kk = 0 is known for weights that sum to one only")
    rate = weights.log_at(SCORE).diff(SCORE).xreplace({SCORE: 0})
    inverse, others = LengthMean(1 / L, L), LengthMean((L - 1) / L**2, L)
    start = inverse * (q_vv - 2 * m_vv)
    aligned = m_vv * m_kk + m_vk * m_kv
    if not task.is_marked:
        # the mean of chi* over L, which depends on L twice; the linear terms need E[mu_L / L]
        return start - 2 * rate * task.lead_over_length() * aligned + rate**2 * others * q_vv * q_kk
    thirds = LengthMean((L - 1) / L**3, L)
    linear = others * (m_vk * q_kv - aligned) + thirds * nu * m_vk**2 * m_kk
    square = (others * q_vv + thirds * nu * m_vk**2) * q_kk
    return start + nu * m_vk**2 * LengthMean(1 / L**2, L) + 2 * rate * sqrt(nu) * linear + rate**2 * square


def _element_wise(task, weights):
    """Weights that are all the same number."""
    level, slope, bend = (weights.at(SCORE).diff(SCORE, k).xreplace({SCORE: 0}) for k in range(3))
    mean_length, a = LengthMean(L, L), m_vk * task.shift
    square = mean_length * q_vv + a**2
    if task.is_marked:
        label = m_kv * a + m_vv * m_kk * sqrt(nu)
        cross = a * q_kv + m_kk * sqrt(nu) * q_vv + a * (mean_length * q_kv + m_kk * sqrt(nu) * a)
    else:
        label, cross = task.lead() * (m_vv * m_kk + m_vk * m_kv), 0
    bent = (level * bend + slope**2) * square - bend * m_vv
    return level**2 * square - 2 * level * m_vv - 2 * slope * label + 2 * level * slope * cross + q_kk * bent
