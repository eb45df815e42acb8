"""Labels of unequal frequency, on pure noise."""

from dataclasses import replace

from sympy import sqrt

from theorem_engine import Alternatives, Holds, Interval, Source, Total, given, remark
from theorem_engine.registry.liao2026.finite_size import STIFF_FIXED
from theorem_engine.registry.liao2026.model import (
    ASSUMED,
    CUBIC,
    FUNCTION_RULES,
    LIMIT,
    MODEL,
    VARIANCE,
    moments_given,
    moments_of_function,
)
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import (
    WORK,
    A,
    a1,
    a2,
    alpha,
    b2,
    beta,
    delta,
    gamma,
    lam,
    level,
    nonlinearity,
    r,
    second_moment,
    var,
)
from theorem_engine.registry.liao2026.resolvent import ERROR

imbalance = var("imbalance", r"\bar m", "mean of the labels", Interval(-1, 1))
D = var("D", "D", "determinant alpha delta + beta^2")
#: The model on noise, with one more moment of the nonlinearity.
CURVED = MODEL.only("ratio").also(
    moments=Alternatives(
        given(
            a1, second_moment, a2, defines=moments_given,
            requires=(VARIANCE, Holds(second_moment >= a1**2 + a2**2, "the second moment is at least a1^2 + a2^2")),
        ),
        given(
            nonlinearity, also=(level, r), rules=FUNCTION_RULES, requires=(CUBIC,),
            defines=lambda m: {**moments_of_function(m), a2: moments_of(m.nonlinearity, m.level, m.r).a2},
        ),
        to=[a1, b2, a2],
    )
)  # fmt: skip


@remark(
    "liao2026.class-imbalance",
    title="Interpolation error on noise with unbalanced labels",
    source=Source(WORK, "Remark 2", version="v2", guessed=True),
    model=CURVED,
    given=(gamma, imbalance),
    outputs={"error": ERROR},
    needs={"noise": "liao2026.noise-resolvent"},
    assumes=(*ASSUMED[:2], "there is no signal"),
    regime=replace(LIMIT, correction=LIMIT.correction + "; slow for min(5, e^t): 0.525 at p = 2000 against 0.508"),
    warns=(STIFF_FIXED,),
    checks=("liao2026.attention_error",),
    marks="DV",
    notes=(
        "If neither the mean of the labels nor a2 vanishes, K has one more part of rank two, "
        "(a2/c)(gh 1h^T + 1h gh^T) with gh the normalised |z_i|^2 - p and 1h the normalised vector of ones.",
        "Verified for cos at y = 1, c = gamma = 1: 0.625(7) at p = 400 and 0.654(7) at p = 800, "
        "against 0.637; balanced 0.779.",
    ),
)
def class_imbalance(m, *, noise):
    """The part of the labels along the vector of ones sees the second Hermite coefficient of f."""
    shift = m.a2 * sqrt(lam)
    along_ones = sum((alpha / D) / (alpha * delta / D**2 + (beta / D + sign * shift) ** 2) for sign in (1, -1)) / 2
    return {
        lam: 1 / m.c,
        **{x: getattr(noise, x.name).at(m) for x in (alpha, beta, delta)},
        D: alpha * delta + beta**2,
        A: (1 - m.imbalance**2) * alpha + m.imbalance**2 * along_ones,
        "error": -(m.gamma**2) * Total(A, m.gamma),
    }
