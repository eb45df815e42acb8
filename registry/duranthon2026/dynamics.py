"""The closed gradient flow of the order parameters, and the minimum in which k and v have changed places."""

from dataclasses import replace

from sympy import Abs, And, Eq, Gt, Integer, Matrix, Max, Min, Piecewise, Rational, false, sqrt

from theorem_engine import (
    REAL,
    Activation,
    Descent,
    Eigenvalues,
    Flow,
    Interval,
    LengthMean,
    LocalMinimum,
    Output,
    Source,
    result,
)
from theorem_engine.base.errors import NotAvailable
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    GRAM,
    MODEL,
    ORDER,
    RISK,
    SHIFT_RULES,
    L,
    activation,
    m_kk,
    m_kv,
    m_vk,
    m_vv,
    nu,
    q_kk,
    q_kv,
    q_vv,
    shift,
    task,
    var,
)
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, task_of
from theorem_engine.registry.duranthon2026.weights import weights_of

time = var("time", "t", "time of the flow", Interval(0, 1000), typical=(0, 0.3))
#: The minimum is known for these (of linear weights, that there is none); a user's own kernel may be tried.
mismatched_activation = var(
    "activation", r"\sigma", "how scores become weights",
    Activation.of({name: ACTIVATIONS[name] for name in ("softmax", "softplus", "erf", "linear")}),
)  # fmt: skip
e_kk = var("e_kk", r"\partial_{q_{kk}}\mathcal{E}", "derivative of the risk in q_kk", REAL)
e_vv = var("e_vv", r"\partial_{q_{vv}}\mathcal{E}", "derivative of the risk in q_vv", REAL)
e_kv = var("e_kv", r"\partial_{q_{kv}}\mathcal{E}", "derivative of the risk in q_kv", REAL)
lowest = var("lowest", r"\lambda_{\min}", "smallest Hessian eigenvalue in the span of k* and v*", REAL)
FOUR = (m_kk, m_kv, m_vk, m_vv)
#: The descent is given up where the part of k along k* exceeds that along v* by more than this; at a matched minimum
#: there is none along v*.
KEPT = 2
#: Signals at which the mismatched minimum is known, and the hundredfold overlaps there, of softmax in both tasks, of
#: erf and of softplus. That of softmax is followed from a strong signal: short sequences have none at a weaker one.
KNOWN = {
    "spiked": (5, (43, 228, 43, -10)),
    "max": (5, (56, 218, 53, -4)),
    "erf": (2, (3, 95, 12, 1)),
    "softplus": (2, (30, 200, 35, 0)),
}
SEVEN = {q.name: Output(f"{q.name} ({q.meaning})", REAL) for q in ORDER}


#: Components of k and v along two directions beside k* and v*; of more the gradient makes no use.
K_BESIDE = tuple(var(f"k_{i}", f"k_{i}", f"component of k along direction {i}, beside k* and v*", REAL) for i in (3, 4))
V_BESIDE = tuple(var(f"v_{i}", f"v_{i}", f"component of v along direction {i}, beside k* and v*", REAL) for i in (3, 4))
NONE = Integer(0)
ON_MANIFOLD = Eq(m_kv**2 + m_vk**2 + q_kv**2, 0)


def vectors(m):
    """k and v by their components along k*, v* and the two directions beside; those that stay zero are left out.

    On the manifold k has no part along v* or v, and v none along k* or k.
    """
    k_3, k_4, v_3, v_4 = *K_BESIDE, *V_BESIDE
    if m.when(ON_MANIFOLD):
        return (m_kk, NONE, k_3, NONE), (NONE, m_vv, NONE, v_4)
    return (m_kk, m_kv, k_3, k_4), (m_vk, m_vv, v_3, v_4)


def order_parameters(key, value):
    """The seven order parameters of two vectors; their Gram matrix cannot cease to be one."""
    products = (sum(k**2 for k in key), sum(v**2 for v in value), sum(k * v for k, v in zip(key, value, strict=True)))
    return dict(zip(ORDER, (*key[:2], *value[:2], *products), strict=True))


def flow_rates(key, value, slope):
    """dk/dt = -D grad_k and dv/dt = -D grad_v; ``slope`` gives partial derivatives in the order parameters."""
    of_key, of_value, of_both = (slope(q) for q in (q_kk, q_vv, q_kv))
    rates = {}
    for k, v, overlaps in zip(key, value, ((m_kk, m_vk), (m_kv, m_vv), None, None), strict=True):
        own = (NONE, NONE) if overlaps is None else [slope(q) for q in overlaps]
        rates[k] = -(own[0] + 2 * k * of_key + v * of_both)
        rates[v] = -(own[1] + 2 * v * of_value + k * of_both)
    return {letter: rate for letter, rate in rates.items() if letter != NONE}


def start_beside(m):
    """Components beside k* and v* of vectors with the given overlaps: R_kk, R_kv and R_vv taken apart."""
    rest_k, rest_v = q_kk - m_kk**2 - m_kv**2, q_vv - m_vv**2 - m_vk**2
    k_3, k_4, v_3, v_4 = *K_BESIDE, *V_BESIDE
    start = dict.fromkeys((k_3, k_4, v_3, v_4), NONE)
    has_flat_key = m.when(Eq(q_kk, m_kk**2 + m_kv**2))
    if not has_flat_key:
        start[k_3] = sqrt(Max(0, rest_k))
    if not m.when(Eq(q_vv, m_vv**2 + m_vk**2)):
        if not m.when(ON_MANIFOLD) and not has_flat_key:
            start[v_3] = (q_kv - m_kk * m_vk - m_kv * m_vv) / start[k_3]
        # a part this small may be lost in rounding, and is as small in the squared norm, all that it enters
        start[v_4] = sqrt(Max(0, rest_v - start[v_3] ** 2))
    return start


def refuse_kinks(m):
    """Weights whose slope jumps: the risk has no gradient in the scale of their scores."""
    if weights_of(m, task_of(m)).breaks:
        raise NotAvailable(f"{m.owner}: weights with kinks have no gradient here")


@result(
    "duranthon2026.gradient-flow",
    costly=True,
    title="Trajectory of the seven order parameters under gradient flow",
    source=Source("2509.21936", "Figure 4"),
    given=(task, nu, L, activation, *ORDER, shift, time),
    given_rules=SHIFT_RULES,
    outputs={**SEVEN, "risk": RISK},
    assumes=(*MODEL, "gradient flow of the population risk in k and v"),
    requires=(FINITE_SPIKE, GRAM),
    needs={"population": "duranthon2026.population-risk"},
    checks=("duranthon2026_descent.vector_flow",),
    marks="DV",
    notes=(
        "Closed for every activation; the risk falls at the rate |grad_k|^2 + |grad_v|^2.",
        "The manifold m_kv = m_vk = q_kv = 0 is invariant.",
        "From small or matched starts softmax reaches m_kk = c_nu, m_vv = 1 and the Bayes risk; m_kk converges last.",
    ),
)
def gradient_flow(m, *, population):
    """The gradient in k and v is a combination of k*, v*, k and v, so the overlaps obey their own equations.

    They are followed as vectors k and v in the span of k*, v* and two further directions, where the equations are
    those of descent itself and no start is singular.
    """
    refuse_kinks(m)
    key, value = vectors(m)
    here = order_parameters(key, value)
    place = {q.name: part for q, part in here.items()}
    rates = flow_rates(key, value, lambda q: getattr(population, f"d_{q.name}").at(m, **place))
    start = start_beside(m)
    law = Flow.of(rates, {x: start[x] for x in rates if x in start}, time, readings=(population.risk.at(m, **place),))
    final = {x: law.at(x) for x in rates}
    return {**{q.name: part.xreplace(final) for q, part in here.items()}, "risk": law.reading()}


def where_it_is_known(m):
    """The four overlaps at the known place; sequences are as long there as those asked for, or the descent is short."""
    name = str(m.activation)
    signal, overlaps = KNOWN[m.task if name == "softmax" else name if name == "erf" else "softplus"]
    return {x: Descent(Rational(value, 100), known={nu: signal}) for x, value in zip(FOUR, overlaps, strict=True)}


@result(
    "duranthon2026.mismatched-minimum",
    costly=True,
    title="The local minimum in which k has turned to v* and v to k*",
    source=Source("2509.21936", "Figure 5"),
    given=(task, nu, L, mismatched_activation, shift),
    given_rules=SHIFT_RULES,
    outputs={
        "risk": RISK,
        **{name: replace(output, optional=True) for name, output in SEVEN.items()},
        "eigenvalues": Output(
            "Hessian eigenvalues in the span of k*, v* and two further directions, falling", optional=True
        ),
        "weakest": Output("the smallest of them; -1 where the descent leads back to k along k*", REAL, optional=True),
        "exists": Output("whether all of them are positive and k keeps a part along v*", existence=True),
    },
    assumes=MODEL,
    requires=(FINITE_SPIKE,),
    needs={"population": "duranthon2026.population-risk"},
    recipe=where_it_is_known,
    checks=(
        "duranthon2026_descent.stationary_point",
        "duranthon2026_descent.mismatched_basin",
        "duranthon2026_descent.mismatched_curvatures",
        "duranthon2026_slopes.mismatched_valley",
    ),
    marks="DVE",
    notes=(
        "R_kk = R_vv = R_kv = 0 there; its mirror image has the signs of m_kv, m_vk, q_kv changed.",
        "Existence is numerical evidence. Spiked softmax: nu = 1 from L = 7 on (lost in a direction transverse to k* "
        "and v*), nu = 5 from L = 3 on; max softmax: none at nu = 1, L = 10. mismatched-region has the signal at which "
        "it appears.",
        "In long sequences its k leans towards k*, with m_kk/m_kv about 0.56 at L = 140 and nu = 8; the descent is "
        "given up where m_kk exceeds 2 m_kv.",
        "For nu = 1 and 2 at L = 10 its risk exceeds that of uniform attention, 1 - 1/L.",
        "Linear weights have none: as k grows along v* and v shrinks along k*, the risk falls to E L/(E L + nu) in the "
        "spiked task and to 1 - mu^2/E L in the max task, mu the mean of chi* at the hidden position. That limit is "
        "the risk given for them, with exists = False.",
    ),
)
def mismatched_minimum(m, *, population):
    """A strict local minimum of the risk over k and v in the span of k* and v*, checked against leaving that span.

    It is followed from a signal at which it is known to the one asked for; where it does not exist, the descent is
    given up on its way to k along k*.

    Transverse to the span the Hessian is the 2 x 2 matrix of twice the derivatives in q_kk and q_vv, with the
    derivative in q_kv off the diagonal, once for each further direction.

    Linear weights of a long k along v* are its score alone, and f = b c sum_l z*_l chi*_l of v = c k*, k = b v*.
    """
    if m.activation == "linear":
        here, mean_length = task_of(m), LengthMean(L, L)
        valley = mean_length / (mean_length + nu) if here.is_marked else 1 - here.lead() ** 2 / mean_length
        return {"risk": valley, "exists": false}
    refuse_kinks(m)
    if task_of(m) is ARGMAX:
        raise NotAvailable(f"{m.owner}: the minimum is followed from a finite signal, which does not lead to nu=inf")
    norms = {q_kk: m_kk**2 + m_kv**2, q_vv: m_vk**2 + m_vv**2, q_kv: m_kk * m_vk + m_kv * m_vv}
    place = {q.name: norms.get(q, q) for q in ORDER}
    risk = population.risk.at(m, **place)
    best = LocalMinimum(risk, over=FOUR, basin=m_kv - Abs(m_kk) / KEPT)
    inner = Eigenvalues(Matrix(4, 4, lambda i, j: risk.diff(FOUR[i]).diff(FOUR[j])))
    middle, half = e_kk + e_vv, sqrt((e_kk - e_vv) ** 2 + e_kv**2)
    eigenvalues = [*(inner.real(i) for i in range(4)), middle + half, middle + half, middle - half, middle - half]
    return {
        **{q: best.at(q) for q in FOUR},
        e_kk: population.d_q_kk.at(m, **place),
        e_vv: population.d_q_vv.at(m, **place),
        e_kv: population.d_q_kv.at(m, **place),
        lowest: inner.real(3),
        "risk": best,
        **place,
        "eigenvalues": eigenvalues,
        "weakest": Piecewise((Min(lowest, middle - half), m_kv > Abs(m_kk) / KEPT), (-1, True)),
        "exists": And(Gt(m_kv, Abs(m_kk) / KEPT), Gt(lowest, 0), Gt(middle - half, 0)),
    }
