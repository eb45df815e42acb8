"""Fixed points of the Bayes-optimal learner read the other way round, and the hard phase between its branches."""

from sympy import Eq, Integer, Max, Rational

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    Holds,
    Integers,
    Interval,
    Minimum,
    Output,
    Search,
    Source,
    Start,
    result,
)
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.duranthon2026.bayes_learner import (
    LEARNER,
    SIGNAL,
    alone,
    channel,
    d_k,
    d_v,
    information,
)
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    PROPORTIONAL,
    UNIT,
    L,
    alpha,
    q_k,
    tau,
)
from theorem_engine.registry.duranthon2026.notation import RISK, delta, nu, task, var
from theorem_engine.registry.duranthon2026.tasks import FINITE_SPIKE, task_of

overlap = var("q_v", "q_v", "overlap of the posterior mean of v with v*",
              Interval(0, 1, left_open=True, right_open=True), typical=(0.1, 0.9))  # fmt: skip
turn = var("turn", r"1-q_v^\dagger", "mean squared error of v at which the uninformed branch ends", UNIT)
curve_draws = var("draws", "n", "random draws for the averages, rounded up to a power of two; 2^14 if left out, 2^12 "
                  "in the max task", Integers(2**8, 2**20), default=ABSENT, typical=(2**12, 2**13))  # fmt: skip
#: How far above alpha_alg the recovered branch is looked at: it is stable for alpha > 1, and alpha_alg may be one.
ABOVE = 1 + Rational(1, 10**12)
#: Errors of v between which the end of the uninformed branch is looked for; with a strong signal it is near recovery.
LEAST, MOST = Rational(1, 10**4), Rational(49, 50)


def _curve_draws(m):
    return m.draws if m.draws is not None else Integer(2**14 if m.task == "spiked" else 2**12)


@result(
    "duranthon2026.learning-curve",
    costly=True,
    title="Number of samples at which a given overlap is a fixed point of the Bayes-optimal learner",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, overlap, curve_draws),
    outputs={
        "alpha": Output("samples per dimension at which state evolution has this fixed point", NONNEGATIVE),
        "risk": RISK,
        "q_k": Output("overlap of the posterior mean of k with k*", UNIT),
    },
    assumes=LEARNER,
    regime=PROPORTIONAL,
    requires=(FINITE_SPIKE, SIGNAL),
    needs={"bayes": "duranthon2026.bayes-risk"},
    recipe={d_k: Start(Rational(1, 2), method="anderson", continued=(nu, delta, overlap))},
    error_kind="statistical",
    checks=("duranthon2026_cavity.two_answers", "duranthon2026_cavity.posterior_of_one"),
    marks="DVN",
    notes=(
        "The fixed points of the learner read the other way round: one alpha for each q_v, on stable and unstable "
        "branches alike. Where alpha falls as q_v grows the fixed point is unstable.",
    ),
)
def learning_curve(m, *, bayes):
    """From q_v = qh_v/(1 + qh_v) and qh_v = alpha E[p_1 zeta_0^2]/tau the number of samples follows.

    q_k solves its own equation at that number.
    """
    task = task_of(m)
    seen = channel(task, m.L, _curve_draws(m), m.q_v)
    return {
        d_v: 1 - m.q_v,
        tau: m.delta**2 + d_v,
        alpha: tau * m.q_v / (d_v * seen.mean("p zeta")),
        q_k: 1 - d_k,
        d_k: 1 / (1 + alpha * information(task, seen)),
        "alpha": alpha,
        "risk": m.delta**2 + 1 - m.q_v * alone(m, task, seen, bayes),
        "q_k": q_k,
    }


@result(
    "duranthon2026.hard-phase",
    costly=True,
    title="Where recovery is possible but not known to be feasible",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, curve_draws),
    outputs={
        "alpha_it": Output("alpha from which the recovered branch has the larger free entropy", NONNEGATIVE),
        "alpha_alg": Output("alpha from which state evolution recovers v from no knowledge", NONNEGATIVE),
        "risk_before": Output("risk just below alpha_alg", NONNEGATIVE),
        "risk_after": Output("risk just above alpha_alg", NONNEGATIVE),
    },
    assumes=(*LEARNER, "no label noise"),
    regime=PROPORTIONAL,
    needs={"curve": "duranthon2026.learning-curve", "learner": "duranthon2026.bayes-learner"},
    requires=(FINITE_SPIKE, SIGNAL, Holds(Eq(delta, 0), "a hard phase is known without label noise only")),
    recipe={d_v: Search(LEAST, MOST, scan=17, slopes=False)},
    error_kind="statistical",
    checks=(
        "duranthon2026_cavity.recovery_threshold",
        "duranthon2026_cavity.recovery_stability",
        "duranthon2026_cavity.recovered_answers",
        Unchecked(
            "risk_before",
            because="the learning curve is flat at its top, where a search by simulation finds alpha to a "
            "percent but the overlap, and with it the risk, far less well",
        ),
    ),
    marks="DEN",
    notes=(
        "Without noise the error d of v obeys d -> d/alpha near recovery, so recovery is stable exactly for alpha > 1, "
        "where its free entropy is infinite: alpha_it = 1. Between alpha_it and alpha_alg lies the hard phase.",
        "alpha_alg is the largest alpha on the learning curve, where the uninformed branch ends; the curve tends to "
        "one at recovery, so alpha_alg is never below one, and the hard phase is narrow where the signal is strong.",
        "With noise 0.1 and 0.5 both starts were seen to lead to one fixed point; no hard phase is stated.",
        "The curve is flat at its top, so the risk there is known less well than alpha_alg: to about 0.01.",
        "A statement about state evolution: message passing at sizes of a thousand does not confirm the threshold.",
    ),
)
def hard_phase(m, *, curve, learner):
    """The uninformed branch ends where the learning curve alpha(q_v) is highest.

    From there the risk jumps to that of the recovered branch.
    """
    draws = _curve_draws(m)
    end = Minimum(-curve.at(m, q_v=1 - d_v, draws=draws), over=d_v)
    return {
        turn: end.at(d_v),
        alpha: Max(1, -end),
        "alpha_it": Integer(1),
        "alpha_alg": alpha,
        "risk_before": curve.risk.at(m, q_v=1 - turn, draws=draws),
        "risk_after": learner.at(m, alpha=alpha * ABOVE, draws=draws, branch="informed"),
    }
