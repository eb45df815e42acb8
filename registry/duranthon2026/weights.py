"""Means of attention weights over the tokens of both tasks: what every population risk is made of."""

from dataclasses import dataclass
from typing import Any

from sympy import Integer, Piecewise, Rational, sqrt

from theorem_engine import ElementWise, GaussianMean, LengthMean, Normalised, Tokens, normal_cdf
from theorem_engine.base.errors import NotAvailable
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    L,
    N,
    Q,
    S,
    U,
    V,
    chi,
    p,
    sigma,
    x,
    z,
)
from theorem_engine.registry.duranthon2026.tasks import ARGMAX


@dataclass(frozen=True)
class Shifted:
    """1 + erf(shift + chi), the shift being a letter."""

    shift: Any
    breaks = ()

    def at(self, score):
        """The weight at a score."""
        return _one_plus_erf(self.shift + score)


@dataclass(frozen=True)
class Posterior:
    """The best element-wise weight: the probability that a token with this chi* is the hidden one, given it alone."""

    task: Any
    breaks = ()

    def at(self, score):
        """The weight at a score."""
        return self.task.own_posterior(score)


@dataclass(frozen=True)
class CentredLinear:
    """Weights 1/L + chi - mean chi."""

    breaks = ()


def weights_of(m, task, activation=None):
    """The function behind the activation of a setting (or another one); erf takes the setting's shift, 0 if absent."""
    activation = m.activation if activation is None else activation
    if activation == "erf":
        return Shifted(Integer(0) if m.shift is None else m.shift)
    if activation == "centred-linear":
        return CentredLinear()
    if activation == "element-wise-optimal":
        if task is ARGMAX:
            raise NotAvailable(f"duranthon2026: {activation} weights are not evaluated at given overlaps for nu=inf")
        return Posterior(task)
    return ACTIVATIONS[activation] if isinstance(activation, str) else activation


def smoothed(weights, score, width):
    """E f(score + width zeta) in closed form, for erf and for affine weights; None for others."""
    if isinstance(weights, Shifted):
        return _one_plus_erf((weights.shift + score) / sqrt(1 + 2 * width**2))
    if isinstance(weights, ElementWise) and weights.function.is_polynomial(chi) and weights.function.diff(chi, 2) == 0:
        return weights.at(score)
    return None


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


def moments(task, weights, slope, rest=0, miss=None):
    """S = E sigma_eps and Q = E sum sigma^2 of weights at scores chi = slope chi* + sqrt(rest) zeta.

    ``miss`` is the Gaussian lemma on the square of 1 - erf, needed for erf only.
    """
    if isinstance(weights, CentredLinear):
        parts = Centred.of(task)
        square = slope**2 if rest == 0 else slope**2 + rest
        return Moments({S: parts.hidden(slope), Q: parts.square(slope, square)}, 1 - S**2 / Q)
    if isinstance(weights, Normalised):
        return (_normalised_marked if task.is_marked else _normalised)(task, weights, slope, rest)
    if isinstance(weights, Shifted):
        return _erf(task, weights.shift, slope, rest, miss)
    return (_element_wise_marked if task.is_marked else _element_wise)(task, weights, slope, rest)


@dataclass(frozen=True)
class Centred:
    """S = level + m lead and Q = level + q_kk others + m^2 mark of centred linear weights: the cross terms cancel."""

    level: Any
    lead: Any
    others: Any
    mark: Any

    @classmethod
    def of(cls, task):
        """The mark of the spiked task is the square of the lead at each length, averaged."""
        level = LengthMean(1 / L, L)
        return cls(level, task.lead(), LengthMean(L, L) - 1, task.shift**2 * (1 - level))

    def hidden(self, slope):
        """S at a slope of the scores."""
        return self.level + slope * self.lead

    def square(self, slope, q_kk):
        """Q at a slope and a squared norm of the key."""
        return self.level + q_kk * self.others + slope**2 * self.mark


def width_of(slope, rest):
    """Standard deviation of the score of an ordinary token."""
    return slope if rest == 0 else sqrt(slope**2 + rest)


def score_tokens(weights, width, centre):
    """Tokens with the predictor's weights alone; the hidden one's score has this centre, zero in the max task."""
    scores = (width * x, width * x + centre)
    breaks = tuple((b - score.xreplace({x: 0})) / width for b in weights.breaks for score in scores)
    return Tokens(L, (x,), {sigma: tuple(weights.log_at(s) for s in scores)}, extra=weights.extra, breaks=breaks)


def pair_tokens(task, weights, slope, residual):
    """Tokens of the max task with the posterior p and the predictor's weights sigma at once."""
    kernels = {p: task.kernel, sigma: weights.log_at(slope * x + residual * z)}
    breaks = tuple(b / (slope if residual == 0 else residual) for b in weights.breaks)
    return Tokens(L, (x,) if residual == 0 else (x, z), kernels, extra=weights.extra, breaks=breaks)


def _normalised_marked(task, weights, slope, rest):
    centre = slope * task.shift
    own = score_tokens(weights, width_of(slope, rest), centre)
    others = own.mean(hidden=1, each=(sigma**2,))
    # what no token takes: the share of the constant, or all of it where every kernel vanishes
    missed = _probability_of_no_weight(weights, width_of(slope, rest), centre)
    shared = own.mean(hidden=1, each=(sigma,), nobody=1)
    pairs = own.mean(hidden=1, each=(sigma, sigma))
    return _without_cancellation(
        {
            S: own.mean(hidden=sigma),
            Q: own.mean(hidden=sigma**2) + others,
            U: own.mean(hidden=1, each=(sigma,)) + own.mean(hidden=1, nobody=1) + missed,
            N: 2 * others + pairs + 2 * shared + own.mean(hidden=1, nobody=2) + missed,
        }
    )


def _normalised(task, weights, slope, rest):
    own = score_tokens(weights, width_of(slope, rest), 0)
    pair = pair_tokens(task, weights, slope, sqrt(rest) if rest != 0 else 0)
    known = {S: pair.mean(each=(p * sigma,)), Q: own.mean(each=(sigma**2,))}
    if weights.extra != 0 or weights.breaks:
        # the weights need not sum to one; the risk is never below that of Bayes, a constant over nu
        return Moments(known, 1 - S**2 / Q)
    wrong = pair.mean(each=(p, sigma))
    return _without_cancellation({**known, U: wrong, N: 2 * U - own.mean(each=(sigma, sigma))})


def _without_cancellation(known):
    """N - U^2 loses log10(1/Q) digits, 1 - S^2/Q loses log10(1/risk): each has its side."""
    return Moments(known, Piecewise(((N - U**2) / Q, Rational(1, 2) > U), (1 - S**2 / Q, True)))


def _probability_of_no_weight(weights, width, centre):
    """Spiked task: that the kernels of all tokens vanish, with nothing else in their sum."""
    end = vanishes_below(weights)
    if end is None or weights.extra != 0:
        return Integer(0)
    return normal_cdf((end - centre) / width) * LengthMean(normal_cdf(end / width) ** (L - 1), L)


def vanishes_below(weights):
    """The score below which a rising kernel is zero, one of its breaks; None for a kernel that is positive."""
    marks = sorted(weights.breaks)
    starts = [mark - 1 for mark in marks[:1]] + [(a + b) / 2 for a, b in zip(marks[:-1], marks[1:], strict=True)]
    zeros = [mark for mark, start in zip(marks, starts, strict=True) if weights.kernel.xreplace({chi: start}) == 0]
    return max(zeros, default=None)


def over_score(weights, function, centre, width, letter=x):
    """Gaussian mean over a letter of a function of the score centre + width letter, kinks of the weights included."""
    breaks = tuple((b - centre) / width for b in weights.breaks)
    return GaussianMean(function(centre + width * letter), letter, breaks=breaks)


def _element_wise_marked(task, weights, slope, rest):
    """Only the mean length matters; Q - S^2 is the variance at the hidden token plus the others' noise."""
    width, centre = width_of(slope, rest), slope * task.shift
    first = over_score(weights, weights.at, centre, width)
    spread = (weights.at(centre + width * x) - first) ** 2
    noise = (LengthMean(L, L) - 1) * weights.at(width * x) ** 2
    # one mean of both: where the hidden weight is saturated its variance is rounding, beside the others' noise
    breaks = tuple((b - c) / width for b in weights.breaks for c in (centre, 0))
    return _spiked(first, GaussianMean(spread + noise, x, breaks=breaks))


def _element_wise(task, weights, slope, rest):
    square = over_score(weights, lambda score: weights.at(score) ** 2, 0, width_of(slope, rest))
    if rest != 0:
        return _tilted(task.hidden(over_score(weights, weights.at, slope * x, sqrt(rest), z)), square)
    if weights.breaks:
        # a sum over tokens that compete does not see kinks of the factor; a mean over the hidden score does
        breaks = tuple(b / slope for b in weights.breaks)
        return _tilted(GaussianMean(task.density(x) * weights.at(slope * x), x, breaks=breaks), square)
    return _tilted(task.hidden(weights.at(slope * x)), square)


def _erf(task, shift, slope, rest, miss):
    """(1 + erf(y))^2 = (1 - erf(-y))^2, whose Gaussian mean keeps its digits however negative the shift is."""
    width = width_of(slope, rest)
    if not task.is_marked:
        inner = _one_plus_erf((shift + slope * x) / (1 if rest == 0 else sqrt(1 + 2 * rest)))
        return _tilted(task.hidden(inner), miss(-shift, width))
    here = shift + slope * task.shift
    noise = (LengthMean(L, L) - 1) * miss(-shift, width)
    return _spiked(_one_plus_erf(here / sqrt(1 + 2 * width**2)), miss.variance(here, width) + noise)


def _one_plus_erf(score):
    """1 + erf without cancellation at negative scores."""
    return 2 * normal_cdf(sqrt(2) * score)


def _spiked(first, spread):
    return Moments({S: first, Q: first**2 + spread, V: spread}, V / Q)


def _tilted(first, square):
    """Max task: only the hidden token's weight sees the tilt."""
    return Moments({S: first, Q: LengthMean(L, L) * square}, 1 - S**2 / Q)
