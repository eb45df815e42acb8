"""The Bayes-optimal learner from N = alpha D samples: state evolution, its branches, the hard phase."""

from sympy import Eq, Integer, Piecewise, Rational, exp, log, oo, pi, sqrt

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    ChannelMean,
    Holds,
    Integers,
    Interval,
    LargestLog,
    LargestScore,
    Minimum,
    Output,
    Source,
    TokenLogSum,
    TokenSort,
    TokenSum,
    Unknown,
    limit,
    result,
)
from theorem_engine.registry.duranthon2026.finite_sample_notation import (
    FINITE_MODEL,
    IS_ARGMAX,
    UNIT,
    L,
    alpha,
    eta,
    first,
    learner_branch,
    omega,
    q_k,
    q_v,
    qh_k,
    qh_v,
    samples,
    score,
    tau,
    w,
    zeta,
    zeta_0,
)
from theorem_engine.registry.duranthon2026.notation import REAL, RISK, delta, nu, task, var
from theorem_engine.registry.duranthon2026.weights import refuse_infinite_spike

d_k = var("d_k", "1-q_k", "mean squared error of k over D", UNIT)
d_v = var("d_v", "1-q_v", "mean squared error of v over D", UNIT)
gap = var(
    "gap", r"(y-w)/\sqrt\tau", "label minus the field of a token's value, in units of its standard deviation", REAL
)
place = var("place", r"\log p^0", "log weight of each position from the scores alone, up to a constant", REAL)
weight = var("weight", r"\log p", "log weight of each position from scores and label, up to a constant", REAL)
p_0 = var("p_0", "p_1", "posterior probability of the hidden position", UNIT)

overlap = var("q_v", "q_v", "overlap of the posterior mean of v with v*",
              Interval(0, 1, left_open=True, right_open=True), typical=(0.1, 0.9))  # fmt: skip
turn = var("turn", r"q_v^\dagger", "overlap at which the uninformed branch ends", UNIT)
curve_samples = var("samples", "n", "random samples of the averages, rounded up to a power of two; 2^14 if left out, "
                    "2^12 in the max task", Integers(2**8, 2**20), default=ABSENT, typical=(2**10, 2**11))  # fmt: skip
LEARNER = (
    *FINITE_MODEL,
    "k* and v* are drawn from the Gaussian prior (or the sphere), which the learner knows",
    "state evolution; in the max task nu = oo",
)
#: Where the end of the uninformed branch is looked for.
FIRST, LAST = Rational(1, 50), Rational(49, 50)

#: Below this error the vector v counts as recovered where nothing but recovery makes the error vanish.
RECOVERED = Rational(1, 10**6)
START = Rational(1, 10**6)


def fields(task, q_v=q_v):
    """Random letters and definitions: cavity fields omega and w, and the log weight of each position."""
    values = {
        w: sqrt(q_v) * zeta,
        # the hidden token's own difference is an exact zero, so that tau may be tiny
        gap: (TokenSum(first * w) - w) / sqrt(tau) + zeta_0,
        weight: place - gap**2 / 2,
        p_0: exp(TokenSum(first * weight) - TokenLogSum(weight)),
    }
    if task == "spiked":
        scores = {omega: sqrt(q_k) * eta + sqrt(nu) * q_k * first, place: sqrt(nu) * omega}
        return (eta, zeta), {**scores, **values}
    scores = {omega: q_k * TokenSort(score) + sqrt(q_k * d_k) * eta, place: LargestLog(omega, sqrt(d_k))}
    return (score, eta, zeta), {**scores, **values}


def channel(task, L, samples, bodies, q_v=q_v):
    """Means over the fields."""
    per_token, where = fields(task, q_v)
    return ChannelMean.of(
        bodies, token_normals=per_token, normals=(zeta_0,), first=first, tokens=L, samples=samples, where=where
    )


#: Posterior probability of the hidden position for one who sees the score alone.
ALONE = exp(TokenSum(first * place) - TokenLogSum(place))


def information(task, seen):
    """The mean that gives the conjugate of q_k: Fisher information of a sample about k, over alpha."""
    return nu * seen.mean("p") if task == "spiked" else seen.mean("g g")


def bodies(task):
    """What is averaged over the fields."""
    found = {"p": p_0, "p zeta": p_0 * zeta_0**2, "alone": ALONE, "log Z": TokenLogSum(weight)}
    if task == "max":
        found["g g"] = TokenSum(LargestScore(omega, -(gap**2) / 2, sqrt(d_k)) ** 2)
    return found


def free_entropy(task, alpha, L, seen):
    """alpha E log Z plus the entropic terms."""
    normalisation = -log(2 * pi * tau) / 2 - (log(L) + nu * q_k / 2 if task == "spiked" else 0)
    entropic = (qh_k * d_k - log(1 + qh_k) + qh_v * d_v - log(1 + qh_v)) / 2
    return alpha * (seen.mean("log Z") + normalisation) + entropic


def _curve_samples(task, samples):
    return samples if samples is not None else Integer(2**14 if task == "spiked" else 2**12)


#: The channel of the max task with a finite nu is not stated here.
HARD = Holds(Eq(nu, oo), "the max task is served at nu = inf only", only=("task", "max"))


@result(
    "duranthon2026.bayes-learner",
    costly=True,
    title="Risk of the Bayes-optimal learner",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, alpha, learner_branch, samples),
    outputs={
        "risk": RISK,
        "q_k": Output("overlap of the posterior mean of k with k*", UNIT),
        "q_v": Output("overlap of the posterior mean of v with v*", UNIT),
        "free_entropy": Output("log evidence per dimension; infinite where v is recovered without noise"),
    },
    assumes=LEARNER,
    regime=limit("N, D -> oo with N = alpha D"),
    requires=(HARD,),
    cases={"is_argmax": IS_ARGMAX, "has_no_noise": Eq(delta, 0), "has_enough": alpha > 1},
    error_kind="statistical",
    checks=("duranthon2026_finite.message_passing",),
    marks="DV",
    notes=(
        "Uninformed: what state evolution reaches from no knowledge, the best that is known to be feasible. Informed: "
        "what it reaches from near the truth, the best there is if its free entropy is the larger.",
        "Without noise v is recovered (q_v = 1) on the informed branch for alpha > 1, with infinite free entropy; "
        "in the spiked task q_k = alpha nu/(1 + alpha nu) there. For alpha <= 1 both branches are the same point.",
        "Nishimori: E p_1 = E sum p^2, and approximate message passing has its overlaps equal to its norms.",
        "Damped message passing agrees with state evolution away from the transition; it does not confirm the "
        "algorithmic threshold at sizes of a thousand.",
    ),
)
def bayes_learner(task, nu, L, delta, alpha, branch, samples, *, is_argmax, has_no_noise, has_enough):
    """q_a = qh_a/(1 + qh_a) for the overlaps of k and v, from the posterior of the hidden position given the fields.

    p_1 is the posterior weight of the true position; qh_v = alpha E[p_1 zeta_0^2]/tau, tau = delta^2 + 1 - q_v,
    and qh_k = alpha nu E p_1 in the spiked task, alpha E |g|^2 with g the score of the fields in the max task.
    """
    refuse_infinite_spike(task, is_argmax)
    if samples is None:
        samples = 2**14 if task == "spiked" else 2**13
    if branch == "informed" and has_no_noise and has_enough:
        return _recovered(task, alpha, L, samples)
    known = branch == "informed" and not has_no_noise
    start = START if known else 1 - START
    seen = channel(task, L, samples, bodies(task))
    entropy = free_entropy(task, alpha, L, seen)
    return {
        q_k: 1 - d_k,
        q_v: 1 - d_v,
        tau: delta**2 + d_v,
        qh_k: alpha * information(task, seen),
        qh_v: alpha * seen.mean("p zeta") / tau,
        d_k: Unknown(1 / (1 + qh_k), start, method="iteration"),
        d_v: Unknown(tau / (tau + alpha * seen.mean("p zeta")), start, method="iteration"),
        "risk": delta**2 + 1 - q_v * seen.mean("alone"),
        "q_k": q_k,
        "q_v": q_v,
        "free_entropy": Piecewise((oo, d_v < RECOVERED), (entropy, True)) if has_no_noise else entropy,
    }


def _recovered(task, alpha, L, samples):
    """The branch with v known: the label then tells the position, and only k is left to learn."""
    if task == "spiked":
        per_token, where = (eta,), {omega: sqrt(q_k) * eta + sqrt(nu) * q_k * first, place: sqrt(nu) * omega}
        means = {"alone": ALONE}
    else:
        per_token = (score, eta)
        where = {omega: q_k * TokenSort(score) + sqrt(q_k * d_k) * eta, place: LargestLog(omega, sqrt(d_k))}
        # a weight that leaves the hidden position alone
        sure = 10**6 * (first - 1)
        means = {"alone": ALONE, "g g": TokenSum(LargestScore(omega, sure, sqrt(d_k)) ** 2)}
    seen = ChannelMean.of(
        means, token_normals=per_token, normals=(), first=first, tokens=L, samples=samples, where=where
    )
    if task == "spiked":
        learned = {d_k: 1 / (1 + alpha * nu)}
    else:
        learned = {d_k: Unknown(1 / (1 + alpha * seen.mean("g g")), Rational(1, 2), method="iteration")}
    return {
        **learned,
        q_k: 1 - d_k,
        "risk": 1 - seen.mean("alone"),
        "q_k": q_k,
        "q_v": Integer(1),
        "free_entropy": oo,
    }


@result(
    "duranthon2026.learning-curve",
    costly=True,
    title="Number of samples at which a given overlap is a fixed point of the Bayes-optimal learner",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, overlap, curve_samples),
    outputs={
        "alpha": Output("samples per dimension at which state evolution has this fixed point", NONNEGATIVE),
        "risk": RISK,
        "q_k": Output("overlap of the posterior mean of k with k*", UNIT),
    },
    assumes=LEARNER,
    regime=limit("N, D -> oo with N = alpha D"),
    requires=(HARD,),
    cases={"is_argmax": IS_ARGMAX},
    error_kind="statistical",
    checks=("duranthon2026_finite.message_passing",),
    marks="DVN",
    notes=(
        "The fixed points of the learner read the other way round: one alpha for each q_v, on stable and unstable "
        "branches alike. Where alpha falls as q_v grows the fixed point is unstable.",
    ),
)
def learning_curve(task, nu, L, delta, q_v, samples, *, is_argmax):
    """From q_v = qh_v/(1 + qh_v) and qh_v = alpha E[p_1 zeta_0^2]/tau the number of samples follows.

    q_k solves its own equation at that number.
    """
    refuse_infinite_spike(task, is_argmax)
    seen = channel(task, L, _curve_samples(task, samples), bodies(task), q_v)
    return {
        d_v: 1 - q_v,
        tau: delta**2 + d_v,
        alpha: tau * q_v / (d_v * seen.mean("p zeta")),
        q_k: 1 - d_k,
        d_k: Unknown(1 / (1 + alpha * information(task, seen)), Rational(1, 2), method="anderson"),
        "alpha": alpha,
        "risk": delta**2 + 1 - q_v * seen.mean("alone"),
        "q_k": q_k,
    }


@result(
    "duranthon2026.hard-phase",
    costly=True,
    title="Where recovery is possible but not known to be feasible",
    source=Source("2509.21936", "Appendix on the Bayes-optimal risk", guessed=True),
    given=(task, nu, L, delta, curve_samples),
    outputs={
        "alpha_it": Output("alpha from which the recovered branch has the larger free entropy", NONNEGATIVE),
        "alpha_alg": Output("alpha from which state evolution recovers v from no knowledge", NONNEGATIVE),
        "risk_before": Output("risk just below alpha_alg", NONNEGATIVE),
        "risk_after": Output("risk just above alpha_alg", NONNEGATIVE),
    },
    assumes=(*LEARNER, "no label noise"),
    regime=limit("N, D -> oo with N = alpha D"),
    needs={"curve": "duranthon2026.learning-curve", "learner": "duranthon2026.bayes-learner"},
    requires=(HARD, Holds(Eq(delta, 0), "a hard phase is known without label noise only")),
    cases={"is_argmax": IS_ARGMAX},
    error_kind="statistical",
    checks=("duranthon2026_finite.message_passing",),
    marks="DEN",
    notes=(
        "Without noise the error d of v obeys d -> d/alpha near recovery, so recovery is stable exactly for alpha > 1, "
        "where its free entropy is infinite: alpha_it = 1. Between alpha_it and alpha_alg lies the hard phase.",
        "alpha_alg is the largest alpha on the learning curve: there the uninformed branch ends.",
        "With noise 0.1 and 0.5 both starts were seen to lead to one fixed point; no hard phase is stated.",
        "The curve is flat at its top, so the risk there is known less well than alpha_alg: to about 0.01.",
        "A statement about state evolution: message passing at sizes of a thousand does not confirm the threshold.",
    ),
)
def hard_phase(task, nu, L, delta, samples, *, curve, learner, is_argmax):
    """The uninformed branch ends where the learning curve alpha(q_v) is highest.

    From there the risk jumps to that of the recovered branch.
    """
    refuse_infinite_spike(task, is_argmax)
    samples = _curve_samples(task, samples)
    here = {"task": task, "is_argmax": is_argmax}
    end = Minimum(-curve(nu, L, delta, overlap, samples, **here), over={overlap: (FIRST, LAST)}, scan=13, slopes=False)
    return {
        turn: end.at(overlap),
        alpha: -end,
        "alpha_it": Integer(1),
        "alpha_alg": alpha,
        "risk_before": curve.risk(nu, L, delta, turn, samples, **here),
        "risk_after": learner(
            nu, L, delta, alpha, samples, branch="informed", has_no_noise=True, has_enough=True, **here
        ),
    }
