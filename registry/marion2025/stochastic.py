"""Online stochastic gradient descent, as a chain of five scalars with exactly the law of the vectors'."""

from sympy import erf, sqrt

from theorem_engine import BatchSum, Holds, Integers, RandomRecurrence, Source, TokenSum, result
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.gaussian import frame
from theorem_engine.registry.marion2025.dynamics import LOG, PRODUCT_OUTPUTS, outputs_of
from theorem_engine.registry.marion2025.notation import (
    GRAM,
    PRODUCTS,
    L,
    alpha,
    eps,
    eta,
    gamma,
    kappa,
    lam,
    nu,
    rho,
    schedule,
    step,
    steps,
    theta,
    trajectory,
    var,
)
from theorem_engine.registry.marion2025.risk import MODEL, RISK

dimension = var("d", "d", "dimension of a token; at least six, so that two free directions remain", Integers(6),
                typical=(6, 200))  # fmt: skip
batch = var("batch", "B", "sequences in a batch", Integers(1, 10_000), typical=(1, 8))
# beyond this a double does not tell two seeds apart, which would then have one path
seed = var("seed", r"\omega", "seed of the random numbers; one seed, one path", Integers(0, 2**53),
           typical=(0, 1000))  # fmt: skip

Z = frame.normals_of_a_token(var)
xi = var("xi", r"\xi", "standard normal, for the label noise")
first = var("first", r"1_{\ell = J}", "one on the informative token, zero on the others")
mixed = var("mixed", r"A_{21}", "standard normal of Bartlett's decomposition")
chi_k = var("chi_k", r"\chi_{d-4}", "chi of d - 4 degrees of freedom")
chi_v = var("chi_v", r"\chi_{d-5}", "chi of d - 5 degrees of freedom")

sigma = var("sigma", r"\sigma", "standard deviation of a token")
X, K, V, K_NEW, V_NEW = frame.step_letters(var, note=", not normalised")
along_k = var("along_k", "a", "argument of the erf at a token")
along_v = var("along_v", "b", "inner product of a token and v")
residual = var("residual", "r", "prediction minus label of a sequence")
weight_k = var("weight_k", "c_k", "coefficient of a token in the gradient of k")
weight_v = var("weight_v", "c_v", "coefficient of a token in the gradient of v")
factors = frame.factor_letters(var)
#: Most tokens in all sequences of a batch: a step holds some dozens of numbers for each.
MOST = 2**21


def chain_step(lam, gamma, d, eps, alpha, batch):
    """The five products after one step on a fresh batch, and the quantities of that batch they are made of."""
    key, value = frame.coordinates((kappa, eta), (theta, nu), (1, 1), rho)
    shift = (sqrt(d / 2) * first, 0, 0, 0)
    slope = erf(along_k).diff(along_k)
    where = {
        sigma: 1 + (gamma - 1) * first,
        **{x: sigma * z + m for x, z, m in zip(X, Z, shift, strict=True)},
        **dict(zip(K, key, strict=True)),
        **dict(zip(V, value, strict=True)),
        along_k: lam * sum(a * b for a, b in zip(X, K, strict=True)),
        along_v: sum(a * b for a, b in zip(X, V, strict=True)),
        residual: TokenSum(erf(along_k) * along_v - first * (X[1] + eps * xi)),
        weight_k: 2 / batch * residual * lam * slope * along_v,
        weight_v: 2 / batch * residual * erf(along_k),
        **frame.factor(factors, sigma**2 * weight_k**2, sigma**2 * weight_k * weight_v, sigma**2 * weight_v**2),
        **dict(zip(K_NEW, _moved(K, weight_k, alpha), strict=True)),
        **dict(zip(V_NEW, _moved(V, weight_v, alpha), strict=True)),
    }
    m_k, m_kv, m_v = frame.outside(factors, chi_k, chi_v, mixed)
    norm_k = sqrt(sum(a**2 for a in K_NEW) + alpha**2 * m_k**2)
    norm_v = sqrt(sum(a**2 for a in V_NEW) + alpha**2 * (m_kv**2 + m_v**2))
    together = sum(a * b for a, b in zip(K_NEW, V_NEW, strict=True)) + alpha**2 * m_k * m_kv
    rules = {
        kappa: K_NEW[0] / norm_k,
        nu: V_NEW[1] / norm_v,
        theta: V_NEW[0] / norm_v,
        eta: K_NEW[1] / norm_k,
        rho: together / (norm_k * norm_v),
    }
    return rules, where


def _moved(vector, weight, alpha):
    """A unit vector after a projected step, inside the frame and before it is normalised."""
    gradient = [BatchSum(weight * x) for x in X]
    radial = sum(g * v for g, v in zip(gradient, vector, strict=True))
    return [v - alpha * (g - radial * v) for g, v in zip(gradient, vector, strict=True)]


@result(
    "marion2025.stochastic-pgd",
    title="Online stochastic projected gradient descent",
    source=Source("2410.01537", "Figure 4"),
    given=(*PRODUCTS, lam, schedule, gamma, dimension, L, eps, alpha, batch, steps, seed, trajectory),
    outputs={**PRODUCT_OUTPUTS, "risk": RISK, "trajectory": LOG},
    needs={"excess": "marion2025.risk"},
    assumes=(*MODEL, "every step sees a fresh batch", "d >= 6"),
    requires=(
        GRAM,
        Holds(batch * L <= MOST, f"the memory set aside for a step is that of {MOST} tokens in a batch"),
    ),
    checks=(
        "marion2025_descent.stochastic_descent",
        Unchecked("risk", because="marion2025.risk at the final products: both are compared by themselves"),
        Unchecked(
            "trajectory", because="the same law read off on the way; its end is the products, which are compared"
        ),
    ),
    marks="DVN",
    notes=(
        "Exact in law, at a cost that does not depend on d: four normals per token, and the Gram matrix of what is "
        "orthogonal to k*, v*, k, v from Bartlett's decomposition of a Wishart matrix.",
        "The risk is the population's, without label noise, at the lambda of the step that would follow.",
        "A path is reproducible from its seed; statements are about its law.",
    ),
)
def stochastic_pgd(m, *, excess):
    """One random path of the five products when each step uses the gradient of the loss on a new small batch."""
    now = lam / (1 + schedule * step)
    rules, where = chain_step(now, gamma, dimension, eps, alpha, batch)
    law = RandomRecurrence.of(
        rules,
        steps,
        where=where,
        clock=step,
        token_normals=(*Z, xi),
        normals=(mixed,),
        chi={chi_k: dimension - 4, chi_v: dimension - 5},
        first=first,
        batch=batch,
        tokens=L,
        seed=seed,
    )
    return outputs_of(m, law, excess.excess, lam / (1 + schedule * steps), "step")
