"""The closed gradient flow of the order parameters, and the minimum in which k and v have changed places."""

from sympy import Abs, And, Gt, Matrix, Rational, sqrt

from theorem_engine import (
    REAL,
    Activation,
    Eigenvalues,
    Flow,
    Interval,
    LocalMinimum,
    Output,
    Source,
    result,
)
from theorem_engine.errors import NotAvailable
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    GRAM,
    MODEL,
    ORDER,
    RISK,
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
from theorem_engine.registry.duranthon2026.weights import meaning

time = var("time", "t", "time of the flow", Interval(0, 1000), typical=(0, 0.3))
#: The minimum is known for these; a user's own normalised kernel may be tried.
mismatched_activation = var(
    "activation", r"\sigma", "how scores become weights",
    Activation.of({name: ACTIVATIONS[name] for name in ("softmax", "softplus")}),
)  # fmt: skip
e_kk = var("e_kk", r"\partial_{q_{kk}}\mathcal{E}", "derivative of the risk in q_kk", REAL)
e_vv = var("e_vv", r"\partial_{q_{vv}}\mathcal{E}", "derivative of the risk in q_vv", REAL)
e_kv = var("e_kv", r"\partial_{q_{kv}}\mathcal{E}", "derivative of the risk in q_kv", REAL)
lowest = var("lowest", r"\lambda_{\min}", "smallest Hessian eigenvalue in the span of k* and v*", REAL)
SEVEN = {q.name: Output(f"{q.name} ({q.meaning})", REAL) for q in ORDER}


def flow_rates(slope):
    """dk/dt = -D grad_k and dv/dt = -D grad_v in the seven order parameters; ``slope`` gives partial derivatives."""
    e = {q.name: slope(q) for q in ORDER}
    return {
        m_kk: -(e["m_kk"] + 2 * m_kk * e["q_kk"] + m_vk * e["q_kv"]),
        m_kv: -(e["m_kv"] + 2 * m_kv * e["q_kk"] + m_vv * e["q_kv"]),
        m_vk: -(e["m_vk"] + 2 * m_vk * e["q_vv"] + m_kk * e["q_kv"]),
        m_vv: -(e["m_vv"] + 2 * m_vv * e["q_vv"] + m_kv * e["q_kv"]),
        q_kk: -2 * (m_kk * e["m_kk"] + m_kv * e["m_kv"] + 2 * q_kk * e["q_kk"] + q_kv * e["q_kv"]),
        q_vv: -2 * (m_vv * e["m_vv"] + m_vk * e["m_vk"] + 2 * q_vv * e["q_vv"] + q_kv * e["q_kv"]),
        q_kv: -(m_vk * e["m_kk"] + m_vv * e["m_kv"] + 2 * q_kv * e["q_kk"] + q_vv * e["q_kv"])
        - (m_kk * e["m_vk"] + m_kv * e["m_vv"] + 2 * q_kv * e["q_vv"] + q_kk * e["q_kv"]),
    }


@result(
    "duranthon2026.gradient-flow",
    costly=True,
    title="Trajectory of the seven order parameters under gradient flow",
    source=Source("2509.21936", "Figure 4"),
    given=(task, nu, L, activation, *ORDER, shift, time),
    outputs={**SEVEN, "risk": RISK},
    assumes=(*MODEL, "gradient flow of the population risk in k and v"),
    requires=(GRAM,),
    needs={"population": "duranthon2026.population-risk"},
    checks=("duranthon2026_descent.vector_flow",),
    marks="DV",
    notes=(
        "Closed for every activation; the risk falls at the rate |grad_k|^2 + |grad_v|^2.",
        "The manifold m_kv = m_vk = q_kv = 0 is invariant.",
        "From small or matched starts softmax reaches m_kk = c_nu, m_vv = 1 and the Bayes risk; m_kk converges last.",
    ),
)
def gradient_flow(
    task, nu, L, activation, m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv, shift, time, *, population
):  # fmt: skip
    """The gradient in k and v is a combination of k*, v*, k and v, so the overlaps obey their own equations."""
    if getattr(meaning(activation, task, False, shift), "breaks", ()):
        raise NotAvailable("duranthon2026.gradient-flow: weights with kinks have no gradient here")
    options = {"task": task, "activation": activation, "shift": shift, "nu": nu, "L": L}

    def at(output, values):
        return getattr(population, output)(**options, **{q.name: v for q, v in zip(ORDER, values, strict=True)})

    law = Flow.of(flow_rates(lambda q: at(f"d_{q.name}", ORDER)), None, time)
    final = [law.at(q) for q in ORDER]
    ends = {q: var(f"{q.name}_end", rf"{q.latex_name}(t)", f"{q.name} at the end") for q in ORDER}
    return {
        **dict(zip(ends.values(), final, strict=True)),
        **{q.name: ends[q] for q in ORDER},
        "risk": at("risk", list(ends.values())),
    }


@result(
    "duranthon2026.mismatched-minimum",
    costly=True,
    title="The local minimum in which k has turned to v* and v to k*",
    source=Source("2509.21936", "Figure 5"),
    given=(task, nu, L, mismatched_activation),
    outputs={
        "risk": RISK,
        **SEVEN,
        "eigenvalues": Output("Hessian eigenvalues in the span of k*, v* and two further directions, falling"),
        "exists": Output("whether all of them are positive and k is mainly along v*"),
    },
    assumes=MODEL,
    needs={"population": "duranthon2026.population-risk"},
    checks=("duranthon2026_descent.stationary_point", "duranthon2026_descent.mismatched_basin"),
    marks="DVE",
    notes=(
        "R_kk = R_vv = R_kv = 0 there; its mirror image has the signs of m_kv, m_vk, q_kv changed.",
        "Existence is numerical evidence. Spiked softmax: nu = 1 from L = 7 on (lost in a direction transverse to k* "
        "and v*), nu = 5 from L = 3 on; max softmax: none at nu = 1, L = 10.",
        "For nu = 1 and 2 at L = 10 its risk exceeds that of uniform attention, 1 - 1/L.",
    ),
)
def mismatched_minimum(task, nu, L, activation, *, population):
    """A strict local minimum of the risk over k and v in the span of k* and v*, checked against leaving that span.

    It is followed from nu = 2, L = 10 to the signal and length asked for; where it does not exist, the descent is
    given up on its way to k along k*.

    Transverse to the span the Hessian is the 2 x 2 matrix of twice the derivatives in q_kk and q_vv, with the
    derivative in q_kv off the diagonal, once for each further direction.
    """
    four = (m_kk, m_kv, m_vk, m_vv)
    options = {"task": task, "activation": activation, "nu": nu, "L": L}
    norms = {q_kk: m_kk**2 + m_kv**2, q_vv: m_vk**2 + m_vv**2, q_kv: m_kk * m_vk + m_kv * m_vv}

    def reduced(output):
        return getattr(population, output)(**options, **{q.name: norms.get(q, q) for q in ORDER})

    # a minimum known at nu = 2, L = 10, from which this one is followed
    start = dict(zip(four, (Rational(3, 10), 2, Rational(7, 20), 0), strict=True))
    best = LocalMinimum(reduced("risk"), start, {nu: 2, L: 10}, basin=m_kv - 2 * Abs(m_kk))
    slopes = [reduced("risk").diff(a) for a in four]
    inner = Eigenvalues(Matrix(4, 4, lambda i, j: slopes[i].diff(four[j])))
    middle, half = e_kk + e_vv, sqrt((e_kk - e_vv) ** 2 + e_kv**2)
    eigenvalues = [*(inner.real(i) for i in range(4)), middle + half, middle + half, middle - half, middle - half]
    return {
        **{q: best.at(q) for q in four},
        e_kk: reduced("d_q_kk"),
        e_vv: reduced("d_q_vv"),
        e_kv: reduced("d_q_kv"),
        lowest: inner.real(3),
        "risk": best,
        **{q.name: norms.get(q, q) for q in ORDER},
        "eigenvalues": eigenvalues,
        "exists": And(Gt(m_kv, 2 * Abs(m_kk)), Gt(lowest, 0), Gt(middle - half, 0)),
    }
