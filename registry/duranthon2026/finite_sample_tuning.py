"""Ridge strengths that minimise the risk of empirical risk minimisation."""

from sympy import Abs, Integer, Max, Or, Rational, exp, log

from theorem_engine import NONNEGATIVE, Minimum, Output
from theorem_engine.registry.duranthon2026.finite_sample_notation import r_k, r_v
from theorem_engine.registry.duranthon2026.notation import var

#: Search box of both ridge strengths.
LOW, HIGH = exp(-7), exp(5)
#: Distance from the middle of the box, on the logarithmic scale, from which on is its boundary.
REACH = 6 - Rational(1, 20)
#: The draws over those that the search uses: 2^12 by default.
SHARE = {"softmax": 4, "linear": 16}

best_k = var("best_k", r"r_k^\star", "minimising ridge strength of k", NONNEGATIVE)
best_v = var("best_v", r"r_v^\star", "minimising ridge strength of v", NONNEGATIVE)

STRENGTHS = {
    "r_k": Output("ridge strength of k", NONNEGATIVE),
    "r_v": Output("ridge strength of v", NONNEGATIVE),
    "on_boundary": Output("whether a tuned strength lies on the boundary of the search box, e^-7 to e^5"),
}
NOTE = (
    "Tuned strengths come from a search in their logarithms on a quarter of the draws (a sixteenth with linear "
    "weights), each point started from the solution at the nearest one; the values reported are computed on all, fresh "
    "ones, so that they are not biased by the search. The minimum is flat: strengths are known to about ten per cent."
)


def default_draws(activation, L):
    """Enough for an error of about 0.0005 in the risk; linear weights are cheaper, and average over their tokens."""
    return Integer(2**14) if activation == "softmax" else Max(2**12, Integer(2**18) / Max(4, L))


def tuned_equations(risk, names, strengths, before, draws, **chosen):
    """Outputs of a risk at strengths that minimise it where the word "tuned" stands for a number.

    ``before`` are the arguments of the risk ahead of the strengths, which are followed by the draws.
    """
    wanted = {letter: best for letter, best, given in zip((r_k, r_v), (best_k, best_v), strengths, strict=True)
              if isinstance(given, str)}  # fmt: skip
    here = [letter if letter in wanted else given for letter, given in zip((r_k, r_v), strengths, strict=True)]
    searched = risk(*before, *here, draws / SHARE[chosen["activation"]], **chosen)
    found = Minimum(searched, over=dict.fromkeys(wanted, (LOW, HIGH)), slopes=False)
    final = [wanted.get(letter, letter) for letter in here]
    return {
        **{best: found.at(letter) for letter, best in wanted.items()},
        **{name: getattr(risk, name)(*before, *final, draws, **chosen) for name in names},
        "r_k": final[0],
        "r_v": final[1],
        "on_boundary": Or(*(Abs(log(best) + 1) > REACH for best in wanted.values())),
    }
