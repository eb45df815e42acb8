"""Linear discriminant analysis with as many samples as dimensions, up to a factor."""

from sympy import Rational, sqrt

from theorem_engine import POSITIVE, Interval, Limit, Output, Source, normal_cdf, notation, theorem
from theorem_engine.language.identity import Ordering, own

var = notation("classics.discriminant")
g = var("g", "g", "dimension over samples of both classes, p/n", Interval(0, 1, True, True), typical=(0.05, 0.95))
delta2 = var("delta2", r"\delta^2", "squared Mahalanobis distance of the means", POSITIVE, typical=(0.5, 9))
margin = var("margin", "a", "distance of a mean from the boundary in standard deviations of the scores", POSITIVE)


@theorem(
    "classics.lda-error",
    title="Error of linear discriminant analysis",
    source=Source("raudys2004"),
    given=(g, delta2),
    outputs={"error": Output("misclassification rate", Interval(0, Rational(1, 2)))},
    assumes=(
        "two Gaussian classes of one covariance, n/2 training samples of each, equal priors",
        "the rule uses sample means and the pooled sample covariance, its threshold lies at the midpoint",
    ),
    regime=Limit(grows=("n", "p"), fixed=("p/n",), orders=(1,)),
    checks=("classics_regressions.discriminant_error",),
    identities=lambda: (
        Ordering(
            normal_cdf(-sqrt(delta2) / 2), own("error"), points=({"g": "0.3", "delta2": 2}, {"g": "0.9", "delta2": 1})
        ),
    ),
    marks="DV",
    notes=(
        "The factor sqrt(1 - g) is the price of the sample covariance, 4 g that of the sample means. With g -> 0 the "
        "error is that of the best rule, Phi(-delta/2); with g -> 1 it is one half. The covariance does not matter.",
        "The formula is usually credited to Deev (1970) and Raudys (1972); the source named is a review.",
    ),
)
def lda_error(g, delta2):
    """What linear discriminant analysis loses when its means and its covariance come from few samples."""
    return {margin: sqrt(delta2) / 2 * sqrt((1 - g) / (1 + 4 * g / delta2)), "error": normal_cdf(-margin)}
