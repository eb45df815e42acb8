"""Gradient descent in steps, whole and on fresh samples, beside the gradient flow; and what each of them reaches."""

from sympy import Piecewise, log

from theorem_engine import (
    POSITIVE,
    REAL,
    BatchSum,
    Choice,
    Holds,
    Integers,
    Normalised,
    RandomRecurrence,
    Recurrence,
    Source,
    TokenMax,
    TokenSum,
    normal_cdf,
    result,
)
from theorem_engine.base.errors import NotAvailable
from theorem_engine.registry.duranthon2026.dynamics import (
    SEVEN,
    flow_rates,
    order_parameters,
    start_beside,
    vectors,
)
from theorem_engine.registry.duranthon2026.finite_sample_notation import L as TOKENS
from theorem_engine.registry.duranthon2026.notation import (
    GRAM,
    MODEL,
    ORDER,
    RISK,
    SHIFT_RULES,
    L,
    activation,
    delta,
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
from theorem_engine.registry.duranthon2026.notation import chi as score_letter
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, task_of
from theorem_engine.registry.duranthon2026.weights import weights_of
from theorem_engine.registry.gaussian import frame

eta = var("eta", r"\eta", "step size: k moves by -eta D grad_k, v by -eta D grad_v", POSITIVE, typical=(0.05, 0.5))
steps = var("steps", "n", "number of steps", Integers(0, 100_000), typical=(0, 6))
#: Letters of their own, so that the risk at the end knows its place.
END = {
    q.name: var(f"last_{q.name}", rf"{q.latex_name}^{{(n)}}", f"{q.meaning} after the last step", REAL) for q in ORDER
}


@result(
    "duranthon2026.gradient-descent",
    costly=True,
    title="The seven order parameters after steps of gradient descent",
    source=Source("2509.21936", "Figure 4", guessed=True),
    given=(task, nu, L, activation, *ORDER, shift, eta, steps),
    given_rules=SHIFT_RULES,
    outputs={**SEVEN, "risk": RISK},
    assumes=(*MODEL, "every step uses the gradient of the population risk, in k and v at once"),
    requires=(FINITE_SPIKE, GRAM),
    needs={"population": "duranthon2026.population-risk"},
    checks=("duranthon2026_steps.vector_descent",),
    marks="DVN",
    notes=(
        "The steps of the gradient flow made finite: after n steps of size eta the two differ by terms of order eta at "
        "the same time n eta.",
        "The manifold m_kv = m_vk = q_kv = 0 is invariant under steps of any size.",
        "With softmax weights and steps below the bound of descent-limits the matched point k = c_nu k*, v = v* "
        "attracts what starts near it, and the risk ends at that of Bayes; with larger steps it repels.",
    ),
)
def gradient_descent(m, *, population):
    """Each step adds to k and v multiples of k*, v*, k and v, so the overlaps obey a closed recursion."""
    if weights_of(m, task_of(m)).breaks:
        raise NotAvailable(f"{m.owner}: weights with kinks have no gradient here")
    key, value = vectors(m)
    here = order_parameters(key, value)
    place = {q.name: part for q, part in here.items()}
    rates = flow_rates(key, value, lambda q: getattr(population, f"d_{q.name}").at(m, **place))
    start = start_beside(m)
    law = Recurrence.of(
        {x: x + m.eta * rate for x, rate in rates.items()}, {x: start[x] for x in rates if x in start}, m.steps
    )
    final = {x: law.at(x) for x in rates}
    ends = {END[q.name]: part.xreplace(final) for q, part in here.items()}
    return {**ends, **END, "risk": population.risk.at(m, **END)}


dimension = var("D", "D", "dimension of a token; at least six, so that two free directions remain", Integers(6),
                typical=(6, 200))  # fmt: skip
batch = var("batch", "B", "sequences in a batch", Integers(1, 10_000), typical=(1, 8))
# beyond this a double does not tell two seeds apart, which would then have one path
seed = var("seed", r"\omega", "seed of the random numbers; one seed, one path", Integers(0, 2**53),
           typical=(0, 1000))  # fmt: skip
stochastic_activation = var(
    "activation", r"\sigma", "how scores become weights", Choice(("softmax", "linear", "erf", "softplus", "sigmoid"))
)
small_eta = var("eta", r"\eta", "step size: k moves by -eta D grad_k, v by -eta D grad_v", POSITIVE,
                typical=(0.001, 0.02))  # fmt: skip

Z = frame.normals_of_a_token(var)
xi = var("xi", r"\xi", "standard normal of a token, for the label noise")
luck = var("luck", r"\gamma", "standard normal of a token, for the choice of the position")
first = var("first", r"1_{\ell = 1}", "one on the first token, zero on the others")
mixed = var("mixed", r"A_{21}", "standard normal of Bartlett's decomposition")
chi_k = var("chi_k", r"\chi_{D-4}", "chi of D - 4 degrees of freedom")
chi_v = var("chi_v", r"\chi_{D-5}", "chi of D - 5 degrees of freedom")
step = var("step", "t", "number of the step, from zero")

hidden = var("hidden", r"1_{\ell = \epsilon}", "one on the hidden token, zero on the others")
X, K, V, K_NEW, V_NEW = frame.step_letters(var)
along_k = var("along_k", r"\chi", "score of a token")
along_v = var("along_v", "z", "value of a token")
kernel = var("kernel", "h", "what a token puts into the normalisation of its weight")
total = var("total", r"\sum h", "their sum")
weight = var("weight", r"\sigma_\ell", "weight of a token")
answer = var("answer", "f", "prediction for a sequence")
residual = var("residual", "r", "prediction minus label of a sequence")
of_key = var("of_key", "c_k", "coefficient of a token in the gradient of k")
of_value = var("of_value", "c_v", "coefficient of a token in the gradient of v")
factors = frame.factor_letters(var)
#: Most tokens in all sequences of a batch: a step holds some dozens of numbers for each.
MOST = 2**21


def position(here):
    """Which token is the hidden one: the first of the spiked task, the largest of noisy scores in the max task.

    With Gumbel noise the largest of nu chi* is a draw from softmax(nu chi*).
    """
    if here.is_marked:
        return first
    chosen = X[0] if here is ARGMAX else nu * X[0] - log(-log(normal_cdf(luck)))
    return Piecewise((1, chosen >= TokenMax(chosen)), (0, True))


def attention(weights):
    """Definitions of the weights of the tokens, of the answer, and the slope of the answer in the score of a token."""
    if isinstance(weights, Normalised):
        shape = weights.kernel.xreplace({score_letter: along_k})
        known = {kernel: shape, total: weights.extra + TokenSum(kernel), weight: kernel / total}
        slope = shape.diff(along_k) / total * (along_v - answer)
    else:
        known = {weight: weights.at(along_k)}
        slope = weights.at(along_k).diff(along_k) * along_v
    return {**known, answer: TokenSum(weight * along_v)}, slope


def chain_step(here, weights, eta, batch, delta):
    """The seven order parameters after one step on a fresh batch, and the quantities of that batch they are made of."""
    # both over sqrt(D)
    key, value = frame.coordinates((m_kk, m_kv), (m_vk, m_vv), (q_kk, q_vv), q_kv)
    known, slope = attention(weights)
    where = {
        X[0]: Z[0] + here.shift * first,
        **dict(zip(X[1:], Z[1:], strict=True)),
        **dict(zip(K, key, strict=True)),
        **dict(zip(V, value, strict=True)),
        hidden: position(here),
        along_k: sum(a * b for a, b in zip(X, K, strict=True)),
        along_v: sum(a * b for a, b in zip(X, V, strict=True)),
        **known,
        residual: answer - TokenSum(hidden * (X[1] + delta * xi)),
        of_key: 2 / batch * residual * slope,
        of_value: 2 / batch * residual * weight,
        **frame.factor(factors, of_key**2, of_key * of_value, of_value**2),
        **{new: old - eta * BatchSum(of_key * x) for new, old, x in zip(K_NEW, K, X, strict=True)},
        **{new: old - eta * BatchSum(of_value * x) for new, old, x in zip(V_NEW, V, X, strict=True)},
    }
    out_k, out_kv, out_v = frame.outside(factors, chi_k, chi_v, mixed)
    rules = {
        m_kk: K_NEW[0],
        m_kv: K_NEW[1],
        m_vk: V_NEW[0],
        m_vv: V_NEW[1],
        q_kk: sum(a**2 for a in K_NEW) + eta**2 * out_k**2,
        q_vv: sum(a**2 for a in V_NEW) + eta**2 * (out_kv**2 + out_v**2),
        q_kv: sum(a * b for a, b in zip(K_NEW, V_NEW, strict=True)) + eta**2 * out_k * out_kv,
    }
    return rules, where


@result(
    "duranthon2026.stochastic-descent",
    title="The seven order parameters under stochastic gradient descent on fresh samples",
    source=Source("2509.21936", "Figure 4", guessed=True),
    given=(
        task,
        nu,
        TOKENS,
        delta,
        stochastic_activation,
        *ORDER,
        shift,
        dimension,
        small_eta,
        batch,
        steps,
        seed,
    ),
    given_rules=SHIFT_RULES,
    outputs=SEVEN,
    assumes=(*MODEL, "every step sees a fresh batch", "D >= 6"),
    requires=(
        FINITE_SPIKE,
        GRAM,
        Holds(batch * TOKENS <= MOST, f"the memory set aside for a step is that of {MOST} tokens in a batch"),
    ),
    checks=("duranthon2026_steps.vector_stochastic_descent",),
    marks="DVN",
    notes=(
        "Exact in law at any D, at a cost that does not depend on it: four normals per token, and the Gram matrix of "
        "what is orthogonal to k*, v*, k and v from Bartlett's decomposition of a Wishart matrix.",
        "As eta -> 0 at fixed D the path is that of the gradient flow at the time n eta; with eta D/B fixed as D grows "
        "the noise of the gradients adds to q_kk, q_vv and q_kv, and the risk ends above that of Bayes: the floor of "
        "descent-limits, times eta D/B, while that is small.",
        "The risk at the end is population-risk at these overlaps. A path is reproducible from its seed; statements "
        "are about its law.",
    ),
)
def stochastic_descent(m):
    """One random path of the overlaps when each step uses the gradient of the squared error on a new small batch."""
    here = task_of(m)
    rules, where = chain_step(here, weights_of(m, here), m.eta, m.batch, m.delta)
    law = RandomRecurrence.of(
        rules,
        m.steps,
        where=where,
        clock=step,
        token_normals=(*Z, xi, luck),
        normals=(mixed,),
        chi={chi_k: dimension - 4, chi_v: dimension - 5},
        first=first,
        batch=m.batch,
        tokens=m.L,
        seed=seed,
    )
    return {q.name: law.at(q) for q in ORDER}
