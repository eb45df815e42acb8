"""Projected gradient descent and gradient flow: exact closed laws of five scalars."""

from sympy import Abs, Max, sqrt

from theorem_engine import Flow, Output, Recurrence, Source, Trajectory, definition, lemma, result
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.marion2025.notation import (
    GRAM,
    PRODUCTS,
    UNIT,
    L,
    alpha,
    d,
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
    time,
    trajectory,
)
from theorem_engine.registry.marion2025.risk import MODEL, RISK

PRODUCT_OUTPUTS = {x.name: Output(x.meaning + " at the end", UNIT) for x in PRODUCTS}
LOG = Output("the way there, as columns; only when asked for", optional=True)


def slopes(excess, lam, gamma, d, L):
    """Partial derivatives of the risk in the five products, at their own letters."""
    here = excess(*PRODUCTS, lam, gamma, d, L, 0)
    return [here.diff(x) for x in PRODUCTS]


def radial(slopes):
    """Components of the two gradients along k and along v: what the projection takes away."""
    r_kappa, r_nu, r_theta, r_eta, r_rho = slopes
    return (
        r_kappa * kappa + r_eta * eta + r_rho * rho,
        r_nu * nu + r_theta * theta + r_rho * rho,
    )


def descent_step(slopes, alpha):
    """The five products after one projected and normalised gradient step on k and on v."""
    r_kappa, r_nu, r_theta, r_eta, r_rho = slopes
    along_k, along_v = radial(slopes)
    key_square = r_kappa**2 + r_eta**2 + r_rho**2 + 2 * r_rho * (r_kappa * theta + r_eta * nu)
    value_square = r_nu**2 + r_theta**2 + r_rho**2 + 2 * r_rho * (r_nu * eta + r_theta * kappa)
    keep_k, keep_v = 1 + alpha * along_k, 1 + alpha * along_v
    norm_k = sqrt(1 + alpha**2 * (key_square - along_k**2))
    norm_v = sqrt(1 + alpha**2 * (value_square - along_v**2))
    inner = r_kappa * r_theta + r_eta * r_nu
    inner += r_rho * (r_kappa * kappa + r_eta * eta + r_nu * nu + r_theta * theta + r_rho * rho)
    return {
        kappa: (keep_k * kappa - alpha * (r_kappa + r_rho * theta)) / norm_k,
        nu: (keep_v * nu - alpha * (r_nu + r_rho * eta)) / norm_v,
        theta: (keep_v * theta - alpha * (r_theta + r_rho * kappa)) / norm_v,
        eta: (keep_k * eta - alpha * (r_eta + r_rho * nu)) / norm_k,
        rho: (
            keep_k * keep_v * rho
            - alpha * keep_k * (r_nu * eta + r_theta * kappa + r_rho)
            - alpha * keep_v * (r_kappa * theta + r_eta * nu + r_rho)
            + alpha**2 * inner
        )
        / (norm_k * norm_v),
    }


def flow_rates(slopes):
    """Velocities of the five products under the gradient flow of k and v on their spheres."""
    r_kappa, r_nu, r_theta, r_eta, r_rho = slopes
    along_k, along_v = radial(slopes)
    return {
        kappa: -(r_kappa + r_rho * theta) + along_k * kappa,
        nu: -(r_nu + r_rho * eta) + along_v * nu,
        theta: -(r_theta + r_rho * kappa) + along_v * theta,
        eta: -(r_eta + r_rho * nu) + along_k * eta,
        rho: -(r_nu * eta + r_theta * kappa + r_kappa * theta + r_eta * nu + 2 * r_rho) + (along_k + along_v) * rho,
    }


def outputs_of(m, law, excess, lam, clock):
    """Final products, the risk there, and the log if one was asked for."""
    way = law if m.trajectory is None else Trajectory(law, m.trajectory)
    end = {x.name: way.at(x) for x in PRODUCTS}
    log = {} if m.trajectory is None else {"trajectory": way.columns(clock)}
    return {**end, "risk": excess.at(m, **end, lam=lam, eps=0), **log}


@definition(
    "marion2025.pgd",
    title="Projected gradient descent on the risk",
    source=Source("2410.01537", "Definition 1"),
    given=(*PRODUCTS, lam, schedule, gamma, d, L, alpha, steps, trajectory),
    outputs={**PRODUCT_OUTPUTS, "risk": RISK, "trajectory": LOG},
    needs={"excess": "marion2025.risk"},
    symbol=r"\mathrm{PGD}",
    assumes=(*MODEL, "both vectors are updated at once, with the gradient of the risk itself"),
    requires=(GRAM,),
    checks=(
        "marion2025_descent.gradient_descent",
        Unchecked(
            "trajectory", because="the same law read off on the way; its end is the products, which are compared"
        ),
    ),
    marks="DV",
    notes=(
        "The five products obey a closed recursion, exact at any d: d enters only as a parameter.",
        "The risk is taken without label noise, at the lambda of the step that would follow.",
        "Large steps are chaotic: from lam = 1 with schedule 1e-4 and alpha = 4e-3 (d = 400, L = 10), two runs 1e-13 "
        "apart differ by 4e-3 after a thousand steps, so no arithmetic reproduces the path; attractors and "
        "one-step maps are reproducible. With alpha <= 2e-3 no chaos was seen.",
    ),
)
def pgd(m, *, excess):
    """Each step moves k and v against the risk's gradient on their spheres and normalises them."""
    now = lam / (1 + schedule * step)
    law = Recurrence.of(descent_step(slopes(excess.excess, now, gamma, d, L), alpha), None, steps, clock=step)
    return outputs_of(m, law, excess.excess, lam / (1 + schedule * steps), "step")


@result(
    "marion2025.gradient-flow",
    title="Gradient flow on the risk",
    source=Source("2410.01537", "behind Theorem 5", guessed=True),
    given=(*PRODUCTS, lam, gamma, d, L, time, trajectory),
    outputs={**PRODUCT_OUTPUTS, "risk": RISK, "trajectory": LOG},
    needs={"excess": "marion2025.risk"},
    assumes=MODEL,
    requires=(GRAM,),
    checks=(
        "marion2025_landscape.gradient_flow",
        Unchecked(
            "trajectory", because="the same law read off on the way; its end is the products, which are compared"
        ),
    ),
    marks="DVG",
    notes=("The limit of small steps of projected gradient descent; the risk never rises along it.",),
)
def gradient_flow(m, *, excess):
    """The five products under the continuous descent of the risk on the two spheres."""
    law = Flow.of(flow_rates(slopes(excess.excess, lam, gamma, d, L)), None, time)
    return outputs_of(m, law, excess.excess, lam, "time")


@lemma(
    "marion2025.manifold-invariance",
    title="Gradient descent stays on the manifold",
    source=Source("2410.01537", "Lemma 4"),
    given=(kappa, nu, lam, gamma, d, L, alpha),
    outputs={"transverse": "largest of |theta|, |eta|, |rho| after one step from the manifold"},
    needs={"pgd": "marion2025.pgd"},
    assumes=MODEL,
    checks=("marion2025_landscape.manifold_invariance",),
    marks="DV",
    notes=("The manifold is the fixed set of the reflection (v, v*) -> (-v, -v*), a symmetry of the risk.",),
)
def manifold_invariance(m, *, pgd):
    """One step from theta = eta = rho = 0 leaves all three at zero."""
    start = {"theta": 0, "eta": 0, "rho": 0, "schedule": 0, "steps": 1}
    return {"transverse": Max(*(Abs(part.at(m, **start)) for part in (pgd.theta, pgd.eta, pgd.rho)))}


__all__ = ["descent_step", "flow_rates", "gradient_flow", "manifold_invariance", "pgd", "slopes"]
