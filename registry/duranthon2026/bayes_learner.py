"""The Bayes-optimal learner from N = alpha D samples: state evolution and its branches."""

import math

from sympy import Eq, Integer, Piecewise, Rational, exp, log, oo, pi, sqrt

from theorem_engine import (
    ABSENT,
    ChannelMean,
    Holds,
    Integers,
    Interval,
    Output,
    Source,
    Start,
    TokenLogSum,
    TokenSum,
    result,
)
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.duranthon2026.choice import LargestLog, LargestScore
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    FINITE_MODEL,
    PROPORTIONAL,
    UNIT,
    L,
    alpha,
    draw,
    eta,
    first,
    learner_branch,
    omega,
    q_k,
    q_v,
    qh_k,
    qh_v,
    score,
    tau,
    w,
    zeta,
    zeta_0,
)
from theorem_engine.registry.duranthon2026.notation import REAL, RISK, delta, nu, task, var
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, FINITE_SPIKE, hidden_first, task_of

d_k = var("d_k", "1-q_k", "mean squared error of k over D", UNIT)
d_v = var("d_v", "1-q_v", "mean squared error of v over D", UNIT)
gap = var(
    "gap", r"(y-w)/\sqrt\tau", "label minus the field of a token's value, in units of its standard deviation", REAL
)
place = var("place", r"\log p^0", "log weight of each position from the scores alone, up to a constant", REAL)
weight = var("weight", r"\log p", "log weight of each position from scores and label, up to a constant", REAL)
p_0 = var("p_0", "p_1", "posterior probability of the hidden position", UNIT)

learner_draws = var("draws", "n", "random draws for the averages, rounded up to a power of two; 2^14 if left out, 2^13 "
                    "in the max task", Integers(2**8, 2**20), default=ABSENT, typical=(2**12, 2**13))  # fmt: skip
LEARNER = (
    *FINITE_MODEL,
    "k* and v* are drawn from the Gaussian prior (or the sphere), which the learner knows",
    "state evolution",
)
#: Below this error the vector v counts as recovered where nothing but recovery makes the error vanish.
RECOVERED = Rational(1, 10**6)
START = Rational(1, 10**6)


def score_fields(task):
    """Fields of the scores: letters per token and per sample, and definitions of omega and of the log weights.

    In the max task the score along k* of each token is omega plus Gaussian noise of variance 1 - q_k, and the
    hidden position is drawn from softmax(nu score).
    """
    if task.is_marked:
        return (eta,), (), {omega: sqrt(q_k) * eta + sqrt(nu) * q_k * first, place: sqrt(nu) * omega}
    fields = {omega: q_k * hidden_first(task) + sqrt(q_k * d_k) * eta, place: LargestLog(omega, *noise(task))}
    return (score, eta), () if task is ARGMAX else (draw,), fields


def noise(task):
    """What is unknown of the scores along k* given omega, and the slope with which they choose the position."""
    return (sqrt(d_k),) if task is ARGMAX else (sqrt(d_k), nu)


def fields(task, q_v=q_v):
    """Random letters and definitions: cavity fields omega and w, and the log weight of each position."""
    values = {
        w: sqrt(q_v) * zeta,
        # the hidden token's own difference is an exact zero, so that tau may be tiny
        gap: (TokenSum(first * w) - w) / sqrt(tau) + zeta_0,
        weight: place - gap**2 / 2,
        p_0: exp(TokenSum(first * weight) - TokenLogSum(weight)),
    }
    per_token, per_sample, scores = score_fields(task)
    return (*per_token, zeta), (zeta_0, *per_sample), {**scores, **values}


def channel(task, L, draws, q_v=q_v, averaged=None):
    """Means over the fields, of what the learner needs or of other functions of them."""
    per_token, per_sample, where = fields(task, q_v)
    return ChannelMean.of(
        averaged or bodies(task),
        token_normals=per_token,
        normals=per_sample,
        first=first,
        tokens=L,
        samples=draws,
        where=where,
    )


#: Posterior probability of the hidden position for one who sees the score alone.
ALONE = exp(TokenSum(first * place) - TokenLogSum(place))


def information(task, seen):
    """The mean that gives the conjugate of q_k: Fisher information of a sample about k, over alpha."""
    return nu * seen.mean("p") if task.is_marked else seen.mean("g g")


def alone(m, task, seen, bayes):
    """Mean posterior probability of the hidden position for one who sees the score alone.

    In the spiked task it is that of one who knows k, with the signal nu q_k.
    """
    return 1 - bayes.at(m, nu=m.nu * q_k, delta=0) if task.is_marked else seen.mean("alone")


def bodies(task):
    """What is averaged over the fields."""
    found = {"p": p_0, "p zeta": p_0 * zeta_0**2, "log Z": TokenLogSum(weight)}
    if not task.is_marked:
        found["alone"] = ALONE
        found["g g"] = TokenSum(LargestScore(omega, -(gap**2) / 2, *noise(task)) ** 2)
    return found


def free_entropy(task, alpha, L, seen):
    """alpha E log Z plus the entropic terms."""
    normalisation = -log(2 * pi * tau) / 2 - (log(L) + nu * q_k / 2 if task.is_marked else 0)
    entropic = (qh_k * d_k - log(1 + qh_k) + qh_v * d_v - log(1 + qh_v)) / 2
    return alpha * (seen.mean("log Z") + normalisation) + entropic


#: Without a signal every position is as likely and nothing is learned of k: that is the spiked task at nu = 0.
SIGNAL = Holds(nu > 0, "the max task needs a signal; at nu = 0 it is the spiked task at nu = 0", only=("task", "max"))


#: Most tokens whose scores are averaged over by quadrature, where v is known.
SHORT = 3


def default_draws(m):
    """Those asked for; else enough for the third digit."""
    return m.draws if m.draws is not None else 2**14 if m.task == "spiked" else 2**13


def can_recover(m):
    """Whether there is a branch with v known: without noise, from one sample per dimension on."""
    return m.when(Eq(m.delta, 0)) and m.when(m.alpha > 1)


def is_recovered(m):
    """Whether that branch is asked for."""
    return m.branch == "informed" and can_recover(m)


def starts(m):
    """Errors of k and v where the iteration begins; the branch it leads to is what the statement means."""
    if is_recovered(m):
        return {d_k: Start(1 / (1 + m.alpha), positive=True, method="anderson")}
    known = m.branch == "informed" and not m.when(Eq(m.delta, 0))
    begin = Start(START if known else 1 - START, method="iteration")
    return {d_k: begin, d_v: begin}


@result(
    "duranthon2026.bayes-learner",
    costly=True,
    title="Risk of the Bayes-optimal learner",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, alpha, learner_branch, learner_draws),
    outputs={
        "risk": RISK,
        "q_k": Output("overlap of the posterior mean of k with k*", UNIT),
        "q_v": Output("overlap of the posterior mean of v with v*", UNIT),
        "free_entropy": Output(
            "log evidence per dimension; infinite where v is recovered without noise",
            Interval(-math.inf, math.inf, right_open=False),
        ),
    },
    assumes=LEARNER,
    regime=PROPORTIONAL,
    requires=(FINITE_SPIKE, SIGNAL),
    recipe=starts,
    needs={"bayes": "duranthon2026.bayes-risk", "learner": "duranthon2026.bayes-learner"},
    error_kind="statistical",
    checks=(
        "duranthon2026_cavity.two_answers",
        "duranthon2026_cavity.posterior_of_one",
        "duranthon2026_finite.noisy_message_passing",
        Unchecked(
            "free_entropy",
            because="no simulation reaches an evidence; its derivatives in q_k and q_v vanish where "
            "the identities of these hold, which are checked, its value is not",
        ),
    ),
    marks="DV",
    notes=(
        "Uninformed: what state evolution reaches from no knowledge, the best that is known to be feasible. Informed: "
        "what it reaches from near the truth, the best there is if its free entropy is the larger.",
        "Without noise v is recovered (q_v = 1) on the informed branch for alpha > 1, with infinite free entropy; "
        "in the spiked task q_k = alpha nu/(1 + alpha nu) there. For alpha <= 1 both branches are the same point.",
        "Where v is recovered nothing is drawn: in the spiked task the risk is the Bayes risk at the signal nu q_k, in "
        "the max task with two or three tokens the averages are integrals over the differences of their scores. "
        "Elsewhere averages are over random draws, and errors statistical.",
        "Nishimori: E p_1 = E sum p^2, and approximate message passing has its overlaps equal to its norms.",
        "Max task with a finite nu: a position is drawn from softmax(nu scores) by adding Gumbel noise and taking the "
        "largest, so its probability given the fields is an integral over one variable, as at nu = oo.",
        "Damped message passing agrees with state evolution away from the transition; it does not confirm the "
        "algorithmic threshold at sizes of a thousand.",
    ),
)
def bayes_learner(m, *, bayes, learner):
    """q_a = qh_a/(1 + qh_a) for the overlaps of k and v, from the posterior of the hidden position given the fields.

    p_1 is the posterior weight of the true position; qh_v = alpha E[p_1 zeta_0^2]/tau, tau = delta^2 + 1 - q_v,
    and qh_k = alpha nu E p_1 in the spiked task, alpha E |g|^2 with g the score of the fields in the max task.
    """
    task, draws = task_of(m), default_draws(m)
    if is_recovered(m):
        return _recovered(m, task, draws, bayes)
    seen = channel(task, m.L, draws)
    found = {
        "risk": m.delta**2 + 1 - q_v * alone(m, task, seen, bayes),
        "q_k": q_k,
        "q_v": q_v,
        "free_entropy": free_entropy(task, m.alpha, m.L, seen),
    }
    if can_recover(m):
        # where the iteration leads to recovery it ends in the informed branch, which is known better
        other = {name: getattr(learner, name).at(m, branch="informed", draws=draws) for name in found}
        found = {name: Piecewise((other[name], d_v < RECOVERED), (value, True)) for name, value in found.items()}
    return {
        q_k: 1 - d_k,
        q_v: 1 - d_v,
        tau: m.delta**2 + d_v,
        qh_k: m.alpha * information(task, seen),
        qh_v: m.alpha * seen.mean("p zeta") / tau,
        d_k: 1 / (1 + qh_k),
        d_v: tau / (tau + m.alpha * seen.mean("p zeta")),
        **found,
    }


def _recovered(m, task, draws, bayes):
    """The branch with v known: the label then tells the position, and only k is left to learn."""
    # a weight that leaves the hidden position alone
    sure = 10**6 * (first - 1)
    if task.is_marked:
        learned, seen = 1 / (1 + m.alpha * m.nu), None
    else:
        found = {"alone": ALONE, "g g": TokenSum(LargestScore(omega, sure, *noise(task)) ** 2)}
        seen = (_over_differences if m.when(m.L <= SHORT) else _over_draws)(found, task, m.L, draws)
        learned = 1 / (1 + m.alpha * seen.mean("g g"))
    return {
        d_k: learned,
        q_k: 1 - d_k,
        "risk": 1 - alone(m, task, seen, bayes),
        "q_k": q_k,
        "q_v": Integer(1),
        "free_entropy": oo,
    }


def _over_draws(found, task, L, draws):
    """Means over the scores, the hidden position being the first one."""
    per_token, per_sample, where = score_fields(task)
    return ChannelMean.of(
        found, token_normals=per_token, normals=per_sample, first=first, tokens=L, samples=draws, where=where
    )


def _over_differences(found, task, L, draws):
    """The same means as integrals over omega, whose tokens are independent before the hidden position is known.

    Each position is the hidden one with its probability given omega, and all are alike: L times the first one.
    """
    where = {omega: sqrt(q_k) * eta, place: LargestLog(omega, *noise(task))}
    hidden = L * exp(TokenSum(first * place))
    softening = sqrt(d_k) if task is ARGMAX else sqrt(d_k) + 1 / nu
    return ChannelMean.of(
        {name: hidden * body for name, body in found.items()}, token_normals=(eta,), normals=(), first=first,
        tokens=L, scale=softening / sqrt(q_k), where=where,
    )  # fmt: skip
