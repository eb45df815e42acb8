"""Where the mismatched minimum exists: the signals between which it is a strict minimum, for each length."""

from sympy import Integer, Piecewise, Rational, oo

from theorem_engine import REAL, Activation, Output, Root, Search, Source, result
from theorem_engine.registry.duranthon2026.notation import (
    ACTIVATIONS,
    MODEL,
    SHIFT_RULES,
    UP_TO_INFINITY,
    L,
    nu,
    shift,
    task,
    var,
)

#: Signals between which the border is looked for, and at how many places, in the spiked and in the max task.
SPIKED, MAX = (Rational(1, 2), Integer(8), 6), (Rational(1, 2), Integer(4), 5)
followed_activation = var(
    "activation", r"\sigma", "how scores become weights",
    Activation.of({name: ACTIVATIONS[name] for name in ("softmax", "softplus", "erf")}),
)  # fmt: skip
border = var("border", r"\nu_b", "signal at which the smallest curvature vanishes", UP_TO_INFINITY)
strong = var("strong", r"\lambda_{\min}", "smallest curvature at the strongest signal that is looked at", REAL)


def ends(m):
    """The weakest and the strongest signal that are looked at, and how many from one to the other."""
    return SPIKED if m.task == "spiked" else MAX


def where_to_look(m):
    """From strong to weak signals: where the minimum is lost descents are long."""
    low, high, count = ends(m)
    return {nu: Search(low, high, scan=count, sign_change="last")}


@result(
    "duranthon2026.mismatched-region",
    costly=True,
    title="The signal from which on there is a mismatched minimum",
    source=Source("2509.21936", "behind Figure 5", guessed=True),
    given=(task, L, followed_activation, shift),
    given_rules=SHIFT_RULES,
    outputs={
        "nu_low": Output(
            "least signal at which it exists, of those looked at; infinite if none is met", UP_TO_INFINITY
        ),
    },
    assumes=(*MODEL, "signals from 1/2 to 8 are looked at, from 1/2 to 4 in the max task"),
    needs={"minimum": "duranthon2026.mismatched-minimum"},
    recipe=where_to_look,
    checks=("duranthon2026_region.border_of_minimum",),
    marks="DVE",
    notes=(
        "Seen from strong to weak signals: the first at which the smallest Hessian eigenvalue of mismatched-minimum is "
        "not positive. That the minimum does not vanish again at stronger signals was seen, not proved.",
        "Spiked softmax: none at L = 2; at L = 3 two stationary points of the span of k* and v* meet at the border, "
        "nu = 2.2242, at L = 7 the minimum gives way sideways, to a direction beside k* and v*.",
        "Where two stationary points meet the curvature falls like a square root, and the minimum cannot be followed "
        "over the last 1e-5 or so of the signal.",
        "Long sequences do not remove it: from L = 7 on, in the spiked task, it is there from nu about one.",
        "A value of 1/2 says that it exists at the weakest signal that is looked at, and perhaps at weaker ones: erf "
        "weights with the shift -1, at L = 10 and 30.",
        "The shape of the minimum is k along v* and v along k*, with a part of k along k* that grows with the length.",
    ),
)
def mismatched_region(m, *, minimum):
    """Where the smallest eigenvalue of the Hessian at the mismatched minimum passes through zero."""
    weakest, strongest, _ = ends(m)
    found = Root(minimum.weakest.at(m, nu=nu), nu)
    return {
        border: found,
        strong: minimum.weakest.at(m, nu=strongest),
        "nu_low": Piecewise((border, border <= strongest), (weakest, strong > 0), (oo, True)),
    }
