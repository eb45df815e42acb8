"""How many samples empirical risk minimisation needs for a given risk."""

from dataclasses import replace
from types import SimpleNamespace

from sympy import Integer, Ne, oo

from theorem_engine import NONNEGATIVE, POSITIVE, Holds, Minimum, Output, Source, Start, result
from theorem_engine.registry.duranthon2026.finite_sample import (
    MEANS,
    NOT_LONG,
    REPLICA,
    channel,
    order_equations,
    starts,
)
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    PROPORTIONAL,
    L,
    activation,
    alpha,
    draws,
    m_k,
    m_v,
    q_k,
    q_v,
    r_k,
    r_v,
)
from theorem_engine.registry.duranthon2026.finite_sample_tuning import BOX, SHARE, best_k, best_v, default_draws
from theorem_engine.registry.duranthon2026.notation import delta, nu, task, var
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE

target = var("target", r"\mathcal{E}_0", "the risk that is to be reached, label noise included", POSITIVE,
             typical=(0.5, 0.7))  # fmt: skip
floor = var("floor", r"\mathcal{E}_\infty", "the risk that many samples leave", NONNEGATIVE)
#: Samples per dimension from which the search begins.
BEGIN = Integer(4)
BOUNDED = Holds(
    Ne(nu, oo),
    "the signal is finite: at nu=inf the best key of softmax weights has no finite length",
    only=("activation", "softmax"),
)
SOME = Holds(target < 1 + delta**2, "without any sample the risk is 1 + Delta^2")


def where_from(m):
    """The informed starts of erm-risk at a few samples per dimension, or the strengths that are to be tuned."""
    if isinstance(m.r_k, str) or isinstance(m.r_v, str):
        return BOX
    names = ("task", "nu", "L", "activation", "r_k", "r_v", "when")
    here = SimpleNamespace(**{name: getattr(m, name) for name in names}, alpha=BEGIN, branch="informed")
    found = {letter: replace(how, along=None) for letter, how in starts(here).items()}
    return {**found, alpha: Start(BEGIN, positive=True, method="anderson")}


@result(
    "duranthon2026.sample-complexity",
    costly=True,
    title="Samples per dimension at which empirical risk minimisation reaches a given risk",
    source=Source("2509.21936", "behind Result 5.1", guessed=True),
    given=(task, nu, L, delta, activation, r_k, r_v, target, draws),
    outputs={"alpha": Output("samples per dimension N/D", NONNEGATIVE)},
    assumes=REPLICA,
    regime=PROPORTIONAL,
    needs={
        "population": "duranthon2026.manifold-risk",
        "limit": "duranthon2026.large-sample-limit",
        "untuned": "duranthon2026.sample-complexity",
    },
    requires=(FINITE_SPIKE, NOT_LONG, BOUNDED, SOME),
    recipe=where_from,
    error_kind="statistical",
    checks=("duranthon2026_samples.samples_needed",),
    marks="DVN",
    notes=(
        "erm-risk read the other way round: at this alpha its risk is the one asked for.",
        "For risks near the limit of many samples, with softmax weights, alpha is the coefficient of "
        "learning-coefficient over the excess that is wanted, whatever the ridge strengths.",
        "A risk at or below the limit of many samples (large-sample-limit) is never reached: the equations then have "
        "no solution, and the iteration says that it did not converge.",
        "With r_k or r_v 'tuned' it is the least number of samples over these strengths, in the box of erm-tuned; the "
        "search is on a quarter of the draws (a sixteenth with linear weights).",
    ),
)
def sample_complexity(m, *, population, limit, untuned):
    """The equations of erm-risk with the number of samples as one more unknown.

    The excess over the limit of many samples falls like one over their number, so that alpha times the ratio of the
    excess to the one wanted is nearly the number sought; at the solution the ratio is one.
    """
    draws = default_draws(m)
    said = {r_k: m.r_k, r_v: m.r_v}
    wanted = {r: best for r, best in ((r_k, best_k), (r_v, best_v)) if isinstance(said[r], str)}
    if wanted:
        tried = {r.name: r if r in wanted else said[r] for r in said}
        found = Minimum(untuned.at(m, **tried, draws=draws / SHARE[m.activation]), over=tuple(wanted))
        final = {r.name: wanted.get(r, said[r]) for r in said}
        return {**{best: found.at(r) for r, best in wanted.items()}, "alpha": untuned.at(m, **final, draws=draws)}
    mean = channel(m, draws, MEANS).mean
    reached = population.at(m, m_kk=m_k, m_vv=m_v, q_kk=q_k, q_vv=q_v)
    return {
        **order_equations(SimpleNamespace(alpha=alpha, r_k=m.r_k, r_v=m.r_v), mean),
        floor: limit.at(m),
        alpha: alpha * (reached - floor) / (m.target - floor),
        "alpha": alpha,
    }
