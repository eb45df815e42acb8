"""Labels of unequal frequency, on pure noise."""

from sympy import sqrt

from theorem_engine import Holds, Interval, OneOf, Source, Total, limit, remark
from theorem_engine.registry.liao2026.finite_size import STIFF_FIXED
from theorem_engine.registry.liao2026.hermite import moments_of
from theorem_engine.registry.liao2026.notation import (
    CUBIC,
    FUNCTION_RULES,
    MOMENTS,
    RATIO,
    RATIO_RULE,
    VARIANCE,
    WORK,
    A,
    a1,
    a2,
    alpha,
    beta,
    delta,
    gamma,
    lam,
    second_moment,
    var,
)
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.setting import CORRECTION, LIMIT, MODEL, MOMENT_CASES, columns_over_rows

imbalance = var("imbalance", r"\bar m", "mean of the labels", Interval(-1, 1))
D = var("D", "D", "determinant alpha delta + beta^2")


@remark(
    "liao2026.class-imbalance",
    title="Interpolation error on noise with unbalanced labels",
    source=Source(WORK, "Remark 2", version="v2", guessed=True),
    given=(*RATIO, gamma, *MOMENTS, a2, imbalance),
    outputs={"error": ERROR},
    needs={"resolvent": "liao2026.noise-resolvent"},
    given_rules=(RATIO_RULE, OneOf((("a1", "second_moment", "a2"), ("nonlinearity",))), *FUNCTION_RULES),
    requires=(CUBIC, VARIANCE, Holds(second_moment >= a1**2 + a2**2, "the second moment is at least a1^2 + a2^2")),
    cases=MOMENT_CASES,
    assumes=(*MODEL[:2], "there is no signal"),
    regime=limit(LIMIT, CORRECTION + "; slow for min(5, e^t): 0.525 at p = 2000 against 0.508"),
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
def class_imbalance(
    c, p, n, gamma, nonlinearity, level, r, a1, second_moment, a2, imbalance, *, resolvent, is_even, is_linear
):
    """The part of the labels along the vector of ones sees the second Hermite coefficient of f."""
    curvature = a2 if nonlinearity is None else moments_of(nonlinearity, level, r).a2
    traces = {
        letter: getattr(resolvent, letter.name)(
            c=c, p=p, n=n, gamma=gamma, nonlinearity=nonlinearity, level=level, r=r, a1=a1, second_moment=second_moment,
            is_even=is_even, is_linear=is_linear, has_no_diagonal=True,
        )
        for letter in (alpha, beta, delta)
    }  # fmt: skip
    shift = curvature * sqrt(lam)
    along_ones = sum((alpha / D) / (alpha * delta / D**2 + (beta / D + sign * shift) ** 2) for sign in (1, -1)) / 2
    return {
        lam: columns_over_rows(c, p, n),
        **traces,
        D: alpha * delta + beta**2,
        A: (1 - imbalance**2) * alpha + imbalance**2 * along_ones,
        "error": -(gamma**2) * Total(A, gamma),
    }
