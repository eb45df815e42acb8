"""What descent reaches with softmax weights: the size of its steps, its last rate, and the floor that noise leaves.

At k = c_nu k*, v = v* the weights are the posterior p and E[y - f | X] = 0, so the Hessian of the risk is that of Gauss
and Newton, 2 E grad f grad f^T. Along a direction in which tokens have the coordinates x_l f changes with k by
sum_l s_l x_l, s = J z, and with v by sum_l p_l x_l. Averaged over z, with chi_p = sum_l p_l chi_l,

    k along k*, v along v*:  E sum p^2 (chi - chi_p)^2,  E sum p^2 (chi - chi_p),  E sum p^2,
    k along v*, v along k*:  E (tr J)^2 + 2 tr J^2,  E tr J chi_p,  E chi_p^2,
    anything beside:         E tr J^2 for k, E sum p^2 for v.
"""

from collections import Counter
from itertools import product

from sympy import Integer, Max, Min, binomial, sqrt

from theorem_engine import NONNEGATIVE, Output, Source, result
from theorem_engine.registry.duranthon2026.notation import MODEL, RISK, L, delta, nu, p, task, var, x
from theorem_engine.registry.duranthon2026.slopes import (
    FINITE,
    SQUARE,
    TRACE,
    TRACE_2,
    TRACE_3,
    key_bend,
    key_noise,
    mean_of,
    times,
    value_bend,
    value_noise,
)
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of

a_kk, a_kv = (var(n, l, "entry of the Hessian over two, k along k* and v along v*") for n, l in
              (("a_kk", "A_{kk}"), ("a_kv", "A_{kv}")))  # fmt: skip
b_kk, b_kv, b_vv = (var(n, l, "entry of the Hessian over two, k along v* and v along k*") for n, l in
                    (("b_kk", "B_{kk}"), ("b_kv", "B_{kv}"), ("b_vv", "B_{vv}")))  # fmt: skip
steepest = var("steepest", r"\lambda_{\max}", "largest eigenvalue of the Hessian", NONNEGATIVE)

#: Sums over distinct tokens of products of p^e chi^a, by their pairs (e, a); chi_l - chi_p = sum_j p_j (chi_l - chi_j).
SPREAD = Counter({
    ((2, 2), (2, 0)): 1, ((2, 1), (2, 1)): -2, ((2, 0), (2, 2)): 1,
    ((2, 2), (1, 0), (1, 0)): 1, ((2, 1), (1, 1), (1, 0)): -2, ((2, 0), (1, 1), (1, 1)): 1,
})  # fmt: skip
LEAN = Counter({((2, 1), (1, 0)): 1, ((2, 0), (1, 1)): -1})
CENTRE = Counter({((1, 1),): 1})


def times_scores(one, other):
    """The product of two such sums: a token of the second may be one of the first, no two the same one."""
    found = Counter()
    for (a, m), (b, n) in product(one.items(), other.items()):
        for places in product(range(len(a) + 1), repeat=len(b)):
            used = [i for i in places if i < len(a)]
            if len(set(used)) < len(used):
                continue
            merged = list(a)
            for i, (power, degree) in zip(places, b, strict=True):
                if i < len(a):
                    merged[i] = (merged[i][0] + power, merged[i][1] + degree)
                else:
                    merged.append((power, degree))
            found[tuple(sorted(merged, reverse=True))] += m * n
    return found


def with_scores(sums):
    """Sums of powers of p alone as such sums."""
    return Counter({tuple((e, 0) for e in exponents): count for exponents, count in sums.items()})


def mean_with_scores(here, sums):
    """Its mean over the tokens of a task; the marked token, whose chi is shifted, may be any of a product, or none."""
    tokens, total = here.posterior(), Integer(0)
    for factors, count in sums.items():
        plain = [p**e * x**a for e, a in factors]
        if not here.is_marked:
            total += count * tokens.mean(each=tuple(plain))
            continue
        total += count * tokens.mean(hidden=1, each=tuple(plain))
        for i, (e, a) in enumerate(factors):
            # term by term, so that the shift stands before the means
            for k in range(a + 1):
                share = binomial(a, k) * here.shift ** (a - k)
                total += count * share * tokens.mean(hidden=p**e * x**k, each=tuple(plain[:i] + plain[i + 1 :]))
    return total


def both_ends(a, b, c):
    """Eigenvalues of twice the symmetric matrix [[a, b], [b, c]]."""
    half = sqrt((a - c) ** 2 + 4 * b**2)
    return a + c + half, 4 * (a * c - b**2) / (a + c + half)


@result(
    "duranthon2026.descent-limits",
    title="What gradient descent reaches with softmax weights: steps, rate, and the floor of noise",
    source=Source("2509.21936", "behind Figure 4", guessed=True),
    given=(task, nu, L, delta),
    outputs={
        "step_bound": Output("step size below which gradient descent is attracted by the matched point", NONNEGATIVE),
        "rate": Output("least eigenvalue of the Hessian there, the rate of the flow in the end", NONNEGATIVE),
        "floor": Output("excess risk of stochastic descent over eta D/B, as that goes to zero", NONNEGATIVE),
        "bayes": RISK,
    },
    needs={"bayes": "duranthon2026.bayes-risk"},
    assumes=(*MODEL, "softmax weights near their population minimum, k = c_nu k* and v = v*"),
    requires=(FINITE_SPIKE, FINITE),
    checks=("duranthon2026_steps.curvatures_at_best",),
    marks="DVN",
    notes=(
        "Gradient flow, and gradient descent with steps below the bound, reach the Bayes risk from near the matched "
        "point; the excess of the flow falls like exp(-2 rate t). From elsewhere they may end in the mismatched "
        "minimum.",
        "Stochastic descent with batches of B in D dimensions ends at the Bayes risk plus floor eta D/B, to first "
        "order in that. Empirical risk minimisation on N = alpha D samples has the excess coefficient/alpha of "
        "learning-coefficient, whose parts are those of the floor over their curvatures.",
    ),
)
def descent_limits(m, *, bayes):
    """2/lambda_max and lambda_min of the Hessian at the matched point, and E[(y - f)^2 (|J z|^2 + |p|^2)].

    Beside k* and v* a component of k has the curvature 2 E tr J^2 and the gradient noise 4 E[(y - f)^2 |J z|^2] over B:
    with steps eta its variance settles at eta noise/(2 curvature), which costs eta noise/4; there are D of them.
    """
    here = task_of(m)
    whole = with_scores(TRACE)
    first, last = both_ends(a_kk, a_kv, value_bend)
    upper, lower = both_ends(b_kk, b_kv, b_vv)
    return {
        value_bend: mean_of(here, SQUARE),
        value_noise: mean_of(here, times(SQUARE, TRACE)),
        key_bend: mean_of(here, TRACE_2),
        key_noise: mean_of(here, times(TRACE, TRACE_2)) + 2 * mean_of(here, TRACE_3),
        a_kk: mean_with_scores(here, SPREAD),
        a_kv: mean_with_scores(here, LEAN),
        b_kk: mean_of(here, times(TRACE, TRACE)) + 2 * key_bend,
        b_kv: mean_with_scores(here, times_scores(whole, CENTRE)),
        b_vv: mean_with_scores(here, times_scores(CENTRE, CENTRE)),
        steepest: Max(first, upper, 2 * key_bend, 2 * value_bend),
        "step_bound": 2 / steepest,
        "rate": Min(last, lower, 2 * key_bend, 2 * value_bend),
        "floor": key_noise + value_noise + m.delta**2 * (key_bend + value_bend),
        "bayes": bayes.at(m),
    }
