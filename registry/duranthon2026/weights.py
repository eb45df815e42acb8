"""Means of attention weights over the tokens of both tasks: what every population risk is made of."""

from dataclasses import dataclass
from typing import Any

from sympy import Integer, Piecewise, Rational, exp, sqrt

from theorem_engine import ElementWise, GaussianMean, Hardmax, LengthMean, Normalised, Tokens, normal_cdf
from theorem_engine.errors import NotAvailable, OutOfDomain
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    L,
    N,
    Q,
    S,
    U,
    V,
    chi,
    nu,
    p,
    p_2,
    sigma,
    x,
    y,
    z,
)


def refuse_infinite_spike(task, is_argmax):
    """In the spiked task an infinite signal is no statement: the risk is zero for every L."""
    if task == "spiked" and is_argmax:
        raise OutOfDomain(
            "duranthon2026: nu=inf is outside [0, oo) for the spiked task; infinite nu is the argmax of the max task"
        )


def posterior_tokens(task, is_argmax=False):
    """Tokens that compete for the posterior probability p of being the hidden one, p = softmax(c_nu chi*)."""
    refuse_infinite_spike(task, is_argmax)
    if task == "spiked":
        return Tokens(L, (x,), {p: (sqrt(nu) * x, sqrt(nu) * x + nu)})
    return Tokens(L, (x,), {p: Hardmax(x) if is_argmax else nu * x})


def bayes_risk(task, is_argmax=False):
    """1 - E sum p^2 without cancellation: the posterior probability of tokens that are not the hidden one."""
    refuse_infinite_spike(task, is_argmax)
    if is_argmax:
        return 0
    tokens = posterior_tokens(task)
    return tokens.mean(hidden=1, each=(p,)) if task == "spiked" else tokens.mean(each=(p, p))


def hidden_score(is_argmax=False):
    """mu_L = E chi*_eps of the max task: nu times the Bayes risk (Stein), E max if nu is infinite."""
    if is_argmax:
        return posterior_tokens("max", True).mean(each=(p * x,))
    return nu * bayes_risk("max")


def hidden_density(is_argmax=False):
    """Density of the hidden score x of the max task, over the normal one: L pi_L(x)."""
    if is_argmax:
        return LengthMean(L * normal_cdf(x) ** (L - 1), L)
    tokens = Tokens(L, (y,), {p_2: (nu * y, nu * x)})
    return tokens.mean(hidden=p_2) + tokens.mean(hidden=p_2, each=(1,))


@dataclass(frozen=True)
class Shifted:
    """1 + erf(shift + chi), the shift being a letter."""

    shift: Any
    breaks = ()

    def at(self, score):
        """The weight at a score."""
        return _one_plus_erf(self.shift + score)


def smoothed(chosen, score, width):
    """E f(score + width zeta) in closed form, for erf and for affine weights; None for others."""
    if isinstance(chosen, Shifted):
        return _one_plus_erf((chosen.shift + score) / sqrt(1 + 2 * width**2))
    if isinstance(chosen, ElementWise) and chosen.function.is_polynomial(chi) and chosen.function.diff(chi, 2) == 0:
        return chosen.at(score)
    return None


@dataclass(frozen=True)
class Posterior:
    """The best element-wise weight: the probability that a token with this chi* is the hidden one, given it alone."""

    task: str
    breaks = ()

    def at(self, score):
        """E[L p | own score] / E[L]; in closed form in the spiked task."""
        if self.task == "spiked":
            return 1 / (1 + (LengthMean(L, L) - 1) * exp(nu / 2 - sqrt(nu) * score))
        tokens = Tokens(L, (y,), {p_2: (nu * y, nu * score)})
        return (tokens.mean(hidden=p_2) + tokens.mean(hidden=p_2, each=(1,))) / LengthMean(L, L)


def meaning(activation, task, is_argmax=False, shift=None):
    """The function behind an activation; erf takes its shift (0 if absent)."""
    if activation == "erf":
        return Shifted(0 if shift is None else shift)
    if activation == "element-wise-optimal" and not is_argmax:
        return Posterior(task)
    return ACTIVATIONS[activation] if isinstance(activation, str) else activation


@dataclass(frozen=True)
class Moments:
    """Definitions of S and Q (and of what the risk needs beside them), and the risk at the best value vector."""

    definitions: dict[Any, Any]
    risk: Any

    def inline(self, expression):
        """An expression in S, Q, ... with their definitions put in, for the body of a minimum."""
        for _ in range(2):
            expression = expression.xreplace(self.definitions)
        return expression


def moments(task, activation, is_argmax, m, rest=0, shift=None, miss=None):
    """S = E sigma_eps and Q = E sum sigma^2 of an activation at scores chi = m chi* + sqrt(rest) zeta.

    ``miss`` is the Gaussian lemma on the square of 1 - erf, needed for erf only.
    """
    refuse_infinite_spike(task, is_argmax)
    if activation == "centred-linear":
        return _centred(task, is_argmax, m, rest)
    chosen = meaning(activation, task, is_argmax, shift)
    if isinstance(chosen, Normalised):
        return _normalised(task, chosen, is_argmax, m, rest)
    if isinstance(chosen, Shifted):
        return _erf(task, chosen.shift, is_argmax, m, rest, miss)
    if isinstance(chosen, (ElementWise, Posterior)):
        return _element_wise(task, chosen, is_argmax, m, rest)
    raise NotAvailable(f"duranthon2026: {activation} weights are not evaluated at given overlaps for nu=inf")


def _centred(task, is_argmax, m, rest):
    """Weights 1/L + chi - mean chi: the cross terms cancel."""
    inverse, others = LengthMean(1 / L, L), LengthMean(L, L) - 1
    spread = width_of(m, rest) ** 2 * others
    if task == "spiked":
        return Moments(
            {S: inverse + m * sqrt(nu) * (1 - inverse), Q: inverse + spread + m**2 * nu * (1 - inverse)}, 1 - S**2 / Q
        )
    return Moments({S: inverse + m * hidden_score(is_argmax), Q: inverse + spread}, 1 - S**2 / Q)


def width_of(m, rest):
    """Standard deviation of the score of an ordinary token."""
    return m if rest == 0 else sqrt(m**2 + rest)


def score_tokens(task, chosen, width, centre):
    """Tokens with the predictor's weights alone; the hidden one's score has this centre in the spiked task."""
    scores = (width * x, width * x + centre) if task == "spiked" else (width * x, width * x)
    breaks = tuple((b - score.xreplace({x: 0})) / width for b in chosen.breaks for score in scores)
    return Tokens(L, (x,), {sigma: tuple(chosen.log_at(s) for s in scores)}, extra=chosen.extra, breaks=breaks)


def pair_tokens(chosen, is_argmax, m, residual):
    """Tokens of the max task with the posterior p and the predictor's weights sigma at once."""
    kernels = {p: Hardmax(x) if is_argmax else nu * x, sigma: chosen.log_at(m * x + residual * z)}
    breaks = tuple(b / (m if residual == 0 else residual) for b in chosen.breaks)
    return Tokens(L, (x,) if residual == 0 else (x, z), kernels, extra=chosen.extra, breaks=breaks)


def _normalised(task, chosen, is_argmax, m, rest):
    own = score_tokens(task, chosen, width_of(m, rest), m * sqrt(nu))
    if task == "spiked":
        others = own.mean(hidden=1, each=(sigma**2,))
        # what no token takes: the share of the constant, or all of it where every kernel vanishes
        missed = _probability_of_no_weight(chosen, width_of(m, rest), m * sqrt(nu))
        shared = own.mean(hidden=1, each=(sigma,), nobody=1)
        known = {
            S: own.mean(hidden=sigma),
            Q: own.mean(hidden=sigma**2) + others,
            U: own.mean(hidden=1, each=(sigma,)) + own.mean(hidden=1, nobody=1) + missed,
            N: 2 * others
            + own.mean(hidden=1, each=(sigma, sigma))
            + 2 * shared
            + own.mean(hidden=1, nobody=2)
            + missed,
        }
    else:
        pair = pair_tokens(chosen, is_argmax, m, sqrt(rest) if rest != 0 else 0)
        known = {
            S: pair.mean(each=(p * sigma,)),
            Q: own.mean(each=(sigma**2,)),
            U: pair.mean(each=(p, sigma)),
            N: 2 * U - own.mean(each=(sigma, sigma)),
        }
    if task == "max" and (chosen.extra != 0 or chosen.breaks):
        # the weights need not sum to one; the risk is never below that of Bayes, a constant over nu
        return Moments({S: known[S], Q: known[Q]}, 1 - S**2 / Q)
    # N - U^2 loses log10(1/Q) digits, 1 - S^2/Q loses log10(1/risk): each has its side
    return Moments(known, Piecewise(((N - U**2) / Q, Rational(1, 2) > U), (1 - S**2 / Q, True)))


def _probability_of_no_weight(chosen, width, centre):
    """Spiked task: that the kernels of all tokens vanish, with nothing else in their sum."""
    end = vanishes_below(chosen)
    if end is None or chosen.extra != 0:
        return Integer(0)
    return normal_cdf((end - centre) / width) * LengthMean(normal_cdf(end / width) ** (L - 1), L)


def vanishes_below(chosen):
    """The score below which a rising kernel is zero, one of its breaks; None for a kernel that is positive."""
    marks = sorted(chosen.breaks)
    starts = [mark - 1 for mark in marks[:1]] + [(a + b) / 2 for a, b in zip(marks[:-1], marks[1:], strict=True)]
    zeros = [mark for mark, start in zip(marks, starts, strict=True) if chosen.kernel.xreplace({chi: start}) == 0]
    return max(zeros, default=None)


def _element_wise(task, chosen, is_argmax, m, rest):
    width = width_of(m, rest)

    def mean(body, *centres):
        """Gaussian mean of a function of the scores of tokens with these centres, kinks included."""
        breaks = tuple((b - centre) / width for b in chosen.breaks for centre in centres)
        return GaussianMean(body, x, breaks=breaks)

    ordinary = chosen.at(width * x)
    if task == "max":
        inner = chosen.at(m * x)
        if rest != 0:
            marks = tuple((b - m * x) / sqrt(rest) for b in chosen.breaks)
            inner = GaussianMean(chosen.at(m * x + sqrt(rest) * z), z, breaks=marks)
        elif chosen.breaks:
            # a sum over tokens that compete does not see kinks of the factor; a mean over the hidden score does
            marked = mean(hidden_density(is_argmax) * inner, 0)
            return Moments({S: marked, Q: LengthMean(L, L) * mean(ordinary**2, 0)}, 1 - S**2 / Q)
        return _tilted(inner, mean(ordinary**2, 0), is_argmax)
    centre = m * sqrt(nu)
    hidden = chosen.at(centre + width * x)
    first = mean(hidden, centre)
    # one mean of both: where the hidden weight is saturated its variance is rounding, beside the others' noise
    return _spiked(first, mean((hidden - first) ** 2 + (LengthMean(L, L) - 1) * ordinary**2, centre, 0))


def _erf(task, shift, is_argmax, m, rest, miss):
    """(1 + erf(y))^2 = (1 - erf(-y))^2, whose Gaussian mean keeps its digits however negative the shift is."""
    width = width_of(m, rest)
    if task == "max":
        inner = _one_plus_erf((shift + m * x) / (1 if rest == 0 else sqrt(1 + 2 * rest)))
        return _tilted(inner, miss(-shift, width), is_argmax)
    here = shift + m * sqrt(nu)
    noise = (LengthMean(L, L) - 1) * miss(-shift, width)
    return _spiked(_one_plus_erf(here / sqrt(1 + 2 * width**2)), miss.variance(here, width) + noise)


def _one_plus_erf(score):
    """1 + erf without cancellation at negative scores."""
    return 2 * normal_cdf(sqrt(2) * score)


def _spiked(first, spread):
    """Only the mean length matters; Q - S^2 is the variance at the hidden token plus the others' noise."""
    return Moments({S: first, Q: first**2 + spread, V: spread}, V / Q)


def _tilted(inner, square, is_argmax):
    """Max task: only the hidden token's weight sees the tilt."""
    first = posterior_tokens("max", is_argmax).mean(each=(p * inner,))
    return Moments({S: first, Q: LengthMean(L, L) * square}, 1 - S**2 / Q)
