"""Letters that several classics share; those of one alone stand beside it.

The classics come from different papers, which give one letter different meanings: every module declares its letters
in a scope of its own, and a letter of this one means the same wherever it is used.
"""

from theorem_engine import NONNEGATIVE, POSITIVE, notation

var = notation(
    "classics",
    conventions=(
        "g = p/n is dimension over samples, alpha = n/d samples over dimension, delta = n/N equations over unknowns.",
        "phi and Phi are density and distribution function of the standard normal law.",
        "Errors of regressions are those of the function without the noise of a test label.",
    ),
)

g = var("g", "g", "dimension over samples, p/n", POSITIVE, typical=(0.1, 4))
s2 = var("s2", r"\sigma^2", "variance of the noise", NONNEGATIVE, typical=(0, 1))
