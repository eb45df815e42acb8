"""What attention fitted to a context says of a fresh token, and the penalty that serves it best."""

from dataclasses import replace

from sympy import Matrix, Rational, S, sqrt, zeros

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Interval,
    MarchenkoPastur,
    Minimum,
    Output,
    Search,
    SpectralMean,
    normal_cdf,
    result,
)
from theorem_engine.registry.liao2026.bulk import bulk, pairing, rank_part
from theorem_engine.registry.liao2026.finite_rank import ASSUMES, FAR_OTHER, OURS, ROWS, WEIGHT_RULES, WEIGHTS
from theorem_engine.registry.liao2026.finite_size import STIFF_FIXED
from theorem_engine.registry.liao2026.model import FILE_SIZE
from theorem_engine.registry.liao2026.notation import (
    a1,
    a2,
    b2,
    e,
    eta,
    g,
    gamma,
    kap,
    label_mean,
    lam,
    s,
    var,
)
from theorem_engine.registry.liao2026.unbalanced import CURVED, LENGTHS, SLOW, tau, with_lengths

M = var("M", "M", "mean of the prediction along its label")
M0 = var("M0", "M_0", "mean of the prediction that does not know the label")
V = var("V", "V", "variance of the prediction")
#: The upper triangle, in the order of letters.
PLACES = tuple((i, j) for i in range(3) for j in range(i, 3))


def moved(name):
    """Letters of the bulk's change under a perturbation of the linearised matrix."""
    letters = {
        (i, j): var(f"{name}{i + 1}{j + 1}", rf"\dot G^{{{name}}}_{{{i + 1}{j + 1}}}",
                    f"change of G{i + 1}{j + 1} under the perturbation {name}")
        for i, j in PLACES
    }  # fmt: skip
    return Matrix(3, 3, lambda i, j: letters[min(i, j), max(i, j)])


FLAT, TILTED = moved("H"), moved("K")


def unit(i, j):
    """The symmetric 3 x 3 matrix with one at a place."""
    found = zeros(3, 3)
    found[i, j] = found[j, i] = 1
    return found


def perturbed(m, change, weight):
    """Equations of the bulk's change where the linearised matrix gains ``weight`` (a function of s) at its place 2, 2.

    G(s) is the inverse of [[g, B, 0], [B, -e, -1], [0, -1, s]] and G its mean, so that the change is minus the mean of
    G(s) Theta G(s); Theta has the perturbation, and what g, e and eta answer: they are linear in G themselves.
    """
    rise, line = 1 + (m.b2 and e) * s, (m.a1 and kap) * s + (m.a1 and eta)
    cubic = g * rise + s * line**2
    inside = Matrix([[rise, s * line, line], [s * line, -g * s, -g], [line, -g, g * e + line**2]])

    def mean_of(theta):
        product = inside * theta * inside
        return {
            (i, j): SpectralMean(product[i, j].expand() / cubic**2, s, MarchenkoPastur(lam)) for i, j in PLACES
        }  # fmt: skip

    direct = mean_of(weight * unit(1, 1))
    # g = gamma - b^2 G22, e = b^2 G11, eta = eta0 - b^2 G12
    answers = (
        (unit(0, 0), -m.b2 * change[1, 1]),
        (unit(1, 1), -m.b2 * change[0, 0]),
        (unit(0, 1), -m.b2 * change[0, 1]),
    )
    means = [(mean_of(theta), answer) for theta, answer in answers if m.b2]
    return {
        change[place]: -direct[place] - sum((mean[place] * answer for mean, answer in means), S.Zero)
        for place in PLACES
    }  # fmt: skip


NOTES = (
    *ROWS,
    LENGTHS,
    "A fresh x' = mu y' + z' attends to the context: its features are X f(X^T W_K^T W_Q x'/sqrt(p))/sqrt(p) without a "
    "term of its own, and w is the one fitted on the context. The prediction is Gaussian in the limit, of mean "
    "M y' + M0 and variance V.",
    "error = (1 - M)^2 - 2 m (1 - M) M0 + M0^2 + V with m the mean of the labels; without signal it is 1 + V, above "
    "one: labels of noise are fitted in vain.",
    "The error on the context itself rises with gamma, so that only here a best penalty has a meaning.",
)


@result(
    "liao2026.fresh-token-error",
    title="Error and misclassification on a fresh token",
    source=OURS,
    model=CURVED,
    given=(gamma, label_mean, *WEIGHTS),
    outputs={
        "error": Output("limit of E (y' - prediction)^2", NONNEGATIVE),
        "misclassified": Output("limit of the share of fresh tokens whose sign is wrong", Interval(0, 1)),
        "M": "mean of the prediction along its label",
        "M0": "mean of the prediction that does not know the label",
        "V": Output("variance of the prediction", NONNEGATIVE),
    },
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2, a2),
    given_rules=WEIGHT_RULES,
    requires=(FILE_SIZE,),
    assumes=ASSUMES[:2],
    regime=replace(SLOW, words="n, p -> oo with p/n -> c, then fresh tokens; |mu|, s, k_r, q_r of order one"),
    warns=(FAR_OTHER, STIFF_FIXED),
    checks=("liao2026_fresh.fresh_tokens",),
    marks="DVN",
    notes=NOTES,
)
def fresh_token_error(m, *, noise):
    """What regression on attention features is worth on a token that it was not fitted to.

    Its prediction is v^T f of the logits, v a random vector: its mean comes from the parts of f that are linear in the
    tokens or know their lengths, its variance from how the bulk answers to a change of the linearised matrix.
    """
    part = rank_part(m)
    changes, all_ones = with_lengths(m, part, ("g",))
    lengths = changes.along("g")
    kernel = changes.linear(part.change) + tau * (lengths * all_ones.T + all_ones * lengths.T)
    equations, u, x = changes.solved(kernel)
    seen = changes.tokens.T * x[1]
    signal = Matrix([sqrt(m.snr), *[0] * (part.size - 1)])
    image = part.change.T * seen
    spread = pairing(-FLAT, u), pairing(-TILTED, u) + image.dot(image)
    along_ones = m.a2 * sqrt(lam) * all_ones.dot(x[1])
    width = sqrt(V)
    return {
        **bulk(m, noise),
        tau: m.a2 * lam,
        **equations,
        **perturbed(m, FLAT, S.One),
        **perturbed(m, TILTED, s),
        M: m.a1 * signal.dot(image),
        M0: m.a2 * sqrt(lam) * lengths.dot(x[1]),
        V: m.a1**2 * spread[1] + m.b2 * spread[0] + along_ones**2,
        "error": (1 - M) ** 2 - 2 * m.imbalance * (1 - M) * M0 + M0**2 + V,
        "misclassified": (1 + m.imbalance) / 2 * normal_cdf(-(M + M0) / width)
        + (1 - m.imbalance) / 2 * normal_cdf(-(M - M0) / width),
        "M": M,
        "M0": M0,
        "V": V,
    }


@result(
    "liao2026.best-penalty",
    costly=True,
    title="Penalty with the least error on fresh tokens",
    source=OURS,
    model=CURVED,
    given=(label_mean, *WEIGHTS),
    outputs={
        "gamma": Output("the best ridge penalty over n", POSITIVE),
        "error": Output("the error on a fresh token there", NONNEGATIVE),
    },
    needs={"fresh": "liao2026.fresh-token-error"},
    given_rules=WEIGHT_RULES,
    requires=(FILE_SIZE,),
    recipe={gamma: Search(Rational(1, 100), 1000, single_valley=True)},
    assumes=ASSUMES[:2],
    regime=SLOW,
    warns=(FAR_OTHER, STIFF_FIXED),
    checks=("liao2026_fresh.best_penalty",),
    marks="DVNE",
    notes=(
        *ROWS,
        "Looked for between 0.01 and 1000. That there is one valley is evidence only: 18 settings of tanh from e^-4 to "
        "e^6. Without signal the error falls all the way, and the end of the range is found.",
        "The penalty with the fewest misclassified tokens is larger.",
    ),
)
def best_penalty(m, *, fresh):
    """The penalty at which what was fitted to a context is worth most on other tokens."""
    least = Minimum(fresh.at(m, gamma=gamma), gamma)
    return {"gamma": least.at(gamma), "error": least}
