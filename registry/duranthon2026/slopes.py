"""How the Bayes risk falls with the signal, and what finite samples cost where it is attained.

All of it are means of powers of the posterior p. With J = diag p - p p^T, the covariance of the hidden position given
the tokens, the traces below are sums over distinct tokens, in which nothing cancels where p is nearly sure of one:

    tr J = sum p p',   tr J^2 = sum 2 p^2 p'^2 + p^2 p' p'',   tr J^3 = sum 4 p^3 p'^3 + 6 p^3 p'^2 p'' + ...
"""

import math
from collections import Counter
from itertools import combinations, permutations

from sympy import Eq, Integer, Ne, oo

from theorem_engine import NONNEGATIVE, Holds, Interval, Output, Source, remark, result
from theorem_engine.language.identity import Equation, Ordering, own
from theorem_engine.registry.duranthon2026.notation import MODEL, RISK, L, delta, nu, p, task, var
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of

NONPOSITIVE = Interval(-math.inf, 0)
key_noise = var("key_noise", r"\Sigma_k", "mean of (y - f)^2 |J z|^2, the noise of a gradient in k", NONNEGATIVE)
key_bend = var("key_bend", "H_k", "mean of |J z|^2, the curvature of the risk in k", NONNEGATIVE)
value_noise = var("value_noise", r"\Sigma_v", "mean of (y - f)^2 |p|^2, the noise of a gradient in v", NONNEGATIVE)
value_bend = var("value_bend", "H_v", "mean of |p|^2, the curvature of the risk in v", NONNEGATIVE)
FINITE = Holds(Ne(nu, oo), "the signal is finite: at nu=inf the best key has no finite length")

#: Sums over distinct tokens of products of powers of p, by their exponents: tr J, tr J^2, tr J^3 and |p|^2.
TRACE = Counter({(1, 1): 1})
TRACE_2 = Counter({(2, 2): 2, (2, 1, 1): 1})
TRACE_3 = Counter({(3, 3): 4, (3, 2, 1): 6, (3, 1, 1, 1): 1, (2, 2, 2): -1})
SQUARE = Counter({(2,): 1})


def times(one, other):
    """The product of two such sums: a token of the second may be one of the first, no two the same one."""
    found = Counter()
    for (a, m), (b, n) in ((x, y) for x in one.items() for y in other.items()):
        for k in range(min(len(a), len(b)) + 1):
            for chosen in combinations(range(len(b)), k):
                for places in permutations(range(len(a)), k):
                    exponents = list(a)
                    for i, j in zip(places, chosen, strict=True):
                        exponents[i] += b[j]
                    exponents += [b[j] for j in range(len(b)) if j not in chosen]
                    found[tuple(sorted(exponents, reverse=True))] += m * n
    return found


def mean_of(here, sums):
    """Its mean over the tokens of a task; a marked token may be any of those in a product, or none."""
    tokens, total = here.posterior(), Integer(0)
    for exponents, count in sums.items():
        factors = [p**e for e in exponents]
        if not here.is_marked:
            total += count * tokens.mean(each=tuple(factors))
            continue
        total += count * tokens.mean(hidden=1, each=tuple(factors))
        for i, factor in enumerate(factors):
            total += count * tokens.mean(hidden=factor, each=tuple(factors[:i] + factors[i + 1 :]))
    return total


@remark(
    "duranthon2026.bayes-slope",
    title="How fast the Bayes risk falls as the signal grows",
    source=Source("2509.21936", "behind Proposition 4.1", guessed=True),
    given=(task, nu, L),
    outputs={"slope": Output("derivative of the Bayes risk in nu", NONPOSITIVE)},
    assumes=MODEL,
    requires=(FINITE_SPIKE,),
    checks=("duranthon2026_slopes.bayes_slope",),
    marks="DVN",
    notes=(
        "Spiked: minus the mean squared norm of the posterior covariance of the position, the second derivative of "
        "the mutual information. Max: nu times a mean under standard normal tokens, by the heat equation.",
    ),
)
def bayes_slope(m):
    """dE/dnu = -E tr J^2 (spiked) and -nu E[2 |p|^2 - 8 sum p^3 + 6 |p|^4] (max), J = diag p - p p^T."""
    here = task_of(m)
    if here.is_marked:
        return {"slope": -mean_of(here, TRACE_2)}
    if m.when(Eq(m.nu, oo)) or m.when(Eq(m.nu, 0)):
        return {"slope": 0}
    return {"slope": -m.nu * mean_of(here, Counter({(2, 2): 8, (2, 1, 1): 2, (3, 1): -4}))}


@remark(
    "duranthon2026.doubling",
    title="For two tokens, weights that are not normalised need twice the signal",
    source=Source("2509.21936", "Section 4", guessed=True),
    given=(nu,),
    outputs={
        "bayes": Output("Bayes risk of two tokens of the spiked task at nu, that of softmax", NONNEGATIVE),
        "element_wise": Output("least risk of element-wise weights at 2 nu", NONNEGATIVE),
    },
    needs={"bayes": "duranthon2026.bayes-risk", "bound": "duranthon2026.element-wise-bound"},
    assumes=MODEL,
    requires=(Holds(Ne(nu, oo), "the signal is finite"),),
    checks=("duranthon2026_slopes.doubled",),
    identities=lambda: (
        Equation(own("bayes"), own("element_wise"), points=({"nu": 1}, {"nu": 5})),
        Ordering(own("bayes", nu=2 * nu), own("element_wise"), points=({"nu": 1}, {"nu": 5})),
    ),
    marks="DVN",
    notes=(
        "The posterior of two tokens is a sigmoid of the difference of their scores, whose variance is twice that of "
        "one; so both risks are the same mean over one Gaussian.",
        "Beyond two tokens the exponents keep that ratio: exp(-nu/4) for softmax, exp(-nu/8) for the best "
        "element-wise weights.",
    ),
)
def doubling(m, *, bayes, bound):
    """E_Bayes(nu) = E_ew(2 nu) at L = 2."""
    return {
        "bayes": bayes.at(m, task="spiked", L=2, delta=0),
        "element_wise": bound.at(m, task="spiked", nu=2 * nu, L=2, delta=0),
    }


@result(
    "duranthon2026.learning-coefficient",
    title="What finite samples cost softmax attention: alpha times its excess risk",
    source=Source("2509.21936", "behind Result 5.1", guessed=True),
    given=(task, nu, L, delta),
    outputs={
        "coefficient": Output("limit of alpha times the risk above that of Bayes", NONNEGATIVE),
        "key": Output("the part of it that k costs", NONNEGATIVE),
        "value": Output("the part of it that v costs", NONNEGATIVE),
        "bayes": RISK,
    },
    needs={"bayes": "duranthon2026.bayes-risk"},
    assumes=(*MODEL, "empirical risk minimisation with softmax weights near its population minimum"),
    requires=(FINITE,),
    checks=("duranthon2026_slopes.gradient_noise",),
    marks="DVN",
    notes=(
        "Independent of the ridge strengths, which enter at order 1/alpha^2.",
        "At the population minimum E[y - f | X] = 0, so its curvature is that of Gauss and Newton, and each of the D "
        "components of k and v costs noise over curvature, over N.",
        "At L = 3 and no label noise: 1.698(2) at nu = 1, 1.512(2) at nu = 2 in the spiked task, by sampling.",
    ),
)
def learning_coefficient(m, *, bayes):
    """E[(y - f)^2 |J z|^2]/E |J z|^2 + E[(y - f)^2 |p|^2]/E |p|^2 at k = c_nu k*, v = v*.

    Given the tokens, y - f has the variance z^T J z + Delta^2, and z is standard normal beside the scores:
    E (z^T J z)(z^T J^2 z) = tr J tr J^2 + 2 tr J^3.
    """
    here = task_of(m)
    found = {
        value_bend: mean_of(here, SQUARE),
        value_noise: mean_of(here, times(SQUARE, TRACE)),
        "value": delta**2 + value_noise / value_bend,
        "bayes": bayes.at(m),
    }
    if m.when(Eq(m.L, 1)):
        return {"coefficient": delta**2 + value_noise / value_bend, "key": 0, **found}
    return {
        "coefficient": 2 * delta**2 + key_noise / key_bend + value_noise / value_bend,
        "key": delta**2 + key_noise / key_bend,
        key_bend: mean_of(here, TRACE_2),
        key_noise: mean_of(here, times(TRACE, TRACE_2)) + 2 * mean_of(here, TRACE_3),
        **found,
    }
