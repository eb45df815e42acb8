"""Approximate message passing of the Bayes-optimal learner, step by step: an algorithm, and its state evolution."""

from theorem_engine import ABSENT, Choice, Integers, Interval, Output, Recurrence, Source, result
from theorem_engine.registry.duranthon2026.bayes_learner import LEARNER, channel, d_k, d_v, default_draws
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    PROPORTIONAL,
    UNIT,
    L,
    alpha,
    q_k,
    q_v,
    tau,
)
from theorem_engine.registry.duranthon2026.notation import RISK, delta, nu, var
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, SPIKED

task = var("task", r"\mathrm{task}", "how the hidden position is tied to the tokens", Choice(("spiked",)))
overlap = var("overlap", "q_0", "overlap of the first k and v with k* and v*, and their squared norm",
              Interval(0, 1, left_open=True, right_open=True), typical=(0.05, 0.5))  # fmt: skip
steps = var("steps", "n", "number of steps", Integers(0, 100), typical=(1, 5))
draws = var("draws", "n", "random draws for the averages, rounded up to a power of two; 2^14 if left out",
            Integers(2**8, 2**20), default=ABSENT, typical=(2**12, 2**13))  # fmt: skip


@result(
    "duranthon2026.message-passing",
    costly=True,
    title="Approximate message passing after some steps",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, alpha, overlap, steps, draws),
    outputs={
        "risk": RISK,
        "q_k": Output("overlap of k with k*, and its squared norm", UNIT),
        "q_v": Output("overlap of v with v*, and its squared norm", UNIT),
    },
    assumes=(*LEARNER, "the first k and v are q_0 times k* and v* plus Gaussian noise of the norm that makes up q_0"),
    regime=PROPORTIONAL,
    needs={"bayes": "duranthon2026.bayes-risk"},
    requires=(FINITE_SPIKE,),
    error_kind="statistical",
    checks=("duranthon2026_passing.passed_in_law", "duranthon2026_passing.passed_messages"),
    marks="DVN",
    notes=(
        "The algorithm: omega = X k/sqrt(D) and w = X v/sqrt(D), less what a sample itself has put into k and v in the "
        "step before; posterior weights p of the positions given these and the label; g_k = sqrt(nu) p and g_v = "
        "p (y - w)/tau; k and v from X^T g and their own last values.",
        "te.simulate runs it: on training sets with the law of whole ones or, with tokens='whole', on whole ones.",
        "State evolution is exact for any fixed number of steps as D grows. At D of a thousand an undamped run "
        "follows it for four or five steps and then leaves it; with more the two are to be compared with caution.",
        "Its fixed points are those of bayes-learner.",
    ),
)
def message_passing(m, *, bayes):
    """State evolution: q_a -> qh_a/(1 + qh_a) with qh_k = alpha nu E p_1 and qh_v = alpha E[p_1 zeta_0^2]/tau."""
    seen = channel(SPIKED, m.L, default_draws(m))
    here = {q_k: 1 - d_k, q_v: 1 - d_v, tau: m.delta**2 + d_v}
    hidden, told = (seen.mean(name).xreplace(here) for name in ("p", "p zeta"))
    rules = {
        d_k: 1 / (1 + m.alpha * m.nu * hidden),
        d_v: here[tau] / (here[tau] + m.alpha * told),
    }
    law = Recurrence.of(rules, {d_k: 1 - overlap, d_v: 1 - overlap}, m.steps)
    return {
        q_k: 1 - law.at(d_k),
        q_v: 1 - law.at(d_v),
        "risk": m.delta**2 + 1 - q_v * (1 - bayes.at(m, nu=m.nu * q_k, delta=0)),
        "q_k": q_k,
        "q_v": q_v,
    }
