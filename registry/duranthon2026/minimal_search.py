"""Where the minimal risk is looked for: slopes of the scores, the shift of erf, and at how many places."""

from sympy import Abs, Integer, Piecewise, Rational, log, oo, pi, sqrt

from theorem_engine import ElementWise, GaussianMean, LengthMean, Normalised, Search, normal_cdf
from theorem_engine.registry.duranthon2026.notation import L, drop, nu, slope, x
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, seen_task_of
from theorem_engine.registry.duranthon2026.weights import Shifted, weights_of

#: Signals below this one leave nothing but rounding to the double integrals of the max task.
FAINTEST = Rational(1, 10**6)
#: Activations whose minimum has no closed form, by name; a user's own is searched for too.
SEARCHED = ("erf", "softplus", "sigmoid", "tanh", "softmax-plus-one")


def where_to_look(m):
    """The recipe of minimal-risk: for the slope alone, or for slope and shift of erf together."""
    if isinstance(m.activation, str) and m.activation not in SEARCHED:
        return {}
    seen = seen_task_of(m)
    weights = weights_of(m, seen)
    if isinstance(weights, Shifted) and m.shift is None:
        return _slope_and_shift(seen)
    dear = is_dear(m)
    return {
        slope: Search(
            0 if _prefers_positive(m) else -oo,
            _farthest(m) if dear else oo,
            scan=2 if dear else _places(m, seen),
            # two weights at once are dear: these two are known to have a risk that falls and then rises
            single_valley=dear and m.activation in ("softplus", "tanh"),
            slopes=not weights.breaks,
            unit=natural_slope(m),
        )
    }


def _places(m, task):
    """Places to the decade: a written weight may peak at a score that a strong signal meets at one slope only."""
    if not task.is_marked or not isinstance(m.activation, ElementWise):
        return 4
    return 16 if m.when(nu > 100) else 8


def natural_slope(m):
    """The size of slopes around which all scales are looked at.

    Softplus of the max task is best at slopes like the signal's, other weights at ten at most.
    """
    scale = seen_task_of(m).scale
    return scale if is_dear(m) and m.activation == "softplus" else scale / (1 + scale)


def is_dear(m):
    """Whether the posterior and the weights compete at once, a double integral."""
    seen = seen_task_of(m)
    return not seen.is_marked and isinstance(weights_of(m, seen), Normalised)


def _slope_and_shift(task):
    """erf: slopes of the order of the signal, drops below the largest shift of use of the order of sqrt(L)."""
    root = sqrt(LengthMean(L, L))
    low = task.scale / (1 + task.scale) / (10 + 20 * root)
    high, count = (3 + 3 * task.scale, 25) if task.is_marked else (15, 15)
    return {
        slope: Search(low, high, scan=count),
        drop: Search(Rational(1, 10), 100 + 3 * root),
    }


def _farthest(m):
    """The steepest scores that are looked at where evaluations are dear: all that count."""
    task = seen_task_of(m)
    if task is ARGMAX and m.activation in ("softmax-plus-one", "tanh"):
        return Integer(81) if m.activation == "tanh" else _farthest_with_constant()
    # the softmax with a constant is best near that without one, at the signal's own slope
    known = {"softplus": 3000 + 2 * task.scale, "tanh": 3000 + 2 * task.scale, "softmax-plus-one": 10 + 3 * task.scale}
    return known.get(m.activation if isinstance(m.activation, str) else "", 3000 + 10 * task.scale)


def _farthest_with_constant():
    """nu = oo, softmax with a constant: near if the risk falls towards its limit as the slope grows, else far.

    To first order in 1/m the constant costs log(4) - 1 times the density of a tie among positive scores, and gains
    the density of a largest score of zero: where the cost is larger the risk falls.
    """
    others = LengthMean(L * (L - 1) * normal_cdf(Abs(x) / sqrt(2)) ** (L - 2), L)
    tie = GaussianMean(others, x, breaks=(0,)) / (4 * sqrt(pi))
    zero = LengthMean(2 * L * 2 ** (-L), L) / sqrt(2 * pi)
    return Piecewise((30, (log(4) - 1) * tie > zero), (3000, True))


def _prefers_positive(m):
    """Whether scores that fall along k* are known to be no better than those that rise.

    Weights h/sum h of a rising kernel: with falling scores the hidden token's share is 1/L at most, so S^2/Q is at
    most its value 1/L at zero scores. In the max task Q does not see the sign, and S grows with the alignment. Rising
    weights whose logarithm is concave, of each score alone: S^2/Q grows with the shift of the hidden score.
    """
    seen = seen_task_of(m)
    weights = weights_of(m, seen)
    if isinstance(weights, Normalised):
        return not seen.is_marked or weights.extra == 0
    return isinstance(m.activation, str)
