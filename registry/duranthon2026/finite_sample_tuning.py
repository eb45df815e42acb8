"""Ridge strengths that minimise the risk of empirical risk minimisation."""

from sympy import Abs, Integer, Max, Or, Rational, exp, log

from theorem_engine import NONNEGATIVE, Minimum, Output, Search
from theorem_engine.registry.duranthon2026.finite_sample_notation import r_k, r_v
from theorem_engine.registry.duranthon2026.notation import var

#: Search box of both ridge strengths; a search over draws has no slopes.
BOX = dict.fromkeys((r_k, r_v), Search(exp(-7), exp(5), slopes=False))
#: Distance from the middle of the box, on the logarithmic scale, from which on is its boundary.
REACH = 6 - Rational(1, 20)
#: The draws over those that the search uses: 2^12 by default.
SHARE = {"softmax": 4, "linear": 16, "erf": 4, "softplus": 4}

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


def default_draws(m):
    """Enough for an error of about 0.0005 in the risk; linear weights are cheaper, and average over their tokens."""
    if m.draws is not None:
        return m.draws
    return Integer(2**14) if m.activation != "linear" else Max(2**12, Integer(2**18) / Max(4, m.L))


def tuned_equations(m, risk, names, draws):
    """Outputs of a risk at the strengths that minimise it, where none is given or the word "tuned" stands for one."""
    bests = {r_k: best_k, r_v: best_v}
    said = {letter: getattr(m, letter.name) if m.has(letter.name) else "tuned" for letter in bests}
    wanted = {letter: best for letter, best in bests.items() if isinstance(said[letter], str)}
    tried = {letter.name: letter if letter in wanted else said[letter] for letter in bests}
    found = Minimum(risk.at(m, **tried, draws=draws / SHARE[m.activation]), over=tuple(wanted))
    final = {letter.name: wanted.get(letter, said[letter]) for letter in bests}
    return {
        **{best: found.at(letter) for letter, best in wanted.items()},
        **{name: getattr(risk, name).at(m, **final, draws=draws) for name in names},
        **final,
        "on_boundary": Or(*(Abs(log(best) + 1) > REACH for best in wanted.values())),
    }
