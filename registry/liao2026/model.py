"""The model of the paper: the ways to describe it, and the letters that every way comes to.

These are the ratio c; a1 and b2 of the nonlinearity; the signal's size snr; and of the weights their squared norms,
their product, and their components along the signal.
"""

from sympy import Abs, And, Eq, Gt, Integer, Matrix, Rational, sqrt

from theorem_engine import Alternatives, Holds, Limit, Model, OnlyWith, PositiveSemidefinite, given, shorthand
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import (
    a1,
    b2,
    c,
    key_along,
    key_norm2,
    key_query,
    level,
    mu_key,
    mu_query,
    n,
    nonlinearity,
    p,
    query_along,
    query_norm2,
    r,
    second_moment,
    snr,
    weights,
    weights_file,
)

LIMIT = Limit(
    grows=(n, p),
    fixed=(p / n,),
    orders=(Rational(1, 2), 1),
    words="n, p -> oo with p/n -> c; |mu|, |w_K|, |w_Q| of order one",
    correction="the kernel's diagonal, of order 1/sqrt(p), dominates: give it as `diagonal` = "
    "E f(sqrt(p) + sqrt(2) xi)/sqrt(p), or zero it; the rest is of order 1/p while eps2, the mean square shift of the "
    "kernel's argument, is small: within 3 % while it is below 0.05 for odd f (0.02 where E[f(xi) (xi^2 - 1)] is "
    "not zero)",
)
ASSUMED = (
    "X = mu y^T + Z with Z standard normal; W_K^T W_Q = I + w_K w_Q^T; w absorbs W_V",
    "f is bounded, or grows so slowly that f(sqrt(p))/sqrt(p) -> 0, and is centred by its mean; for linear, relu and "
    "softmax the kernel's diagonal is zeroed or masked (unmasked linear and relu are diagonal = 1)",
    "the labels are balanced, or E[f(xi) (xi^2 - 1)] = 0",
)

FUNCTION_RULES = (
    OnlyWith("level", "nonlinearity", ("clip", "exp-clip", "cubic-clip")),
    OnlyWith("r", "nonlinearity", ("cubic-clip",)),
)
# below this level the clipped cubic meets its level three times
CUBIC = Holds(
    And(Gt(3 * level**2, 2, evaluate=False), r <= 1), "the clipped cubic has one edge on each side: level > sqrt(2/3)"
)
VARIANCE = Holds(second_moment >= a1**2, "the second moment is at least the square of a1")
GRAM = PositiveSemidefinite(
    Matrix([[snr, mu_key, mu_query], [mu_key, key_norm2, key_query], [mu_query, key_query, query_norm2]]),
    "the Gram matrix of (mu, w_K, w_Q)",
)
FILE_SIZE = Holds(
    lambda m: None if m.p is None or m.weights_file is None else Eq(m.p, m.weights_file.size),
    "p is the dimension of the weights in the file",
)

#: A multiple of the identity this near to one is one, and the largest (or one over the smallest) that is served.
SAME, GENTLEST = Rational(1, 10**12), 10**4


def multiple(m):
    """The multiple of the identity, given or that of a file of weights, which makes f(t) into f(s t); else one."""
    scale = Rational(m.weights_file.scale) if m.has("weights_file") and m.weights_file is not None else Integer(1)
    if m.has("scale") and m.scale is not None:
        scale = Rational(m.scale)
    if Abs(scale - 1) <= SAME:
        return Integer(1)
    if not Rational(1, GENTLEST) <= Abs(scale) <= GENTLEST:
        raise OutOfDomain(
            f"the weights are {float(scale):.3g} times the identity plus rank one; multiples from 1/{GENTLEST} to "
            f"{GENTLEST} in size are served, for beyond them f of that multiple of t is a step or a constant"
        )
    return scale


def moments_given(m):
    """What the first coefficient leaves of the second moment; f(-t) has the opposite first coefficient."""
    scale, rest = multiple(m), second_moment - a1**2
    if scale != 1 and Abs(scale + 1) > SAME:
        raise OutOfDomain(
            f"the weights are s = {float(scale):.6g} times the identity plus rank one, and a1 and second_moment of f "
            "do not give those of f(s t); give the nonlinearity"
        )
    # rounding may push the variance of a nearly linear f below zero
    return {b2: (rest + Abs(rest)) / 2, **({} if scale == 1 else {a1: -a1})}


def moments_of_function(m):
    """Moments of a nonlinearity, as the tokens meet it."""
    found = moments_of(m.nonlinearity, m.level, m.r, multiple(m))
    return {a1: found.a1, b2: found.rest}


def is_noise(m):
    """Whether there is no signal that vectors could have components along."""
    return m.when(Eq(snr, 0))


def both(norm2, along):
    """Weights w_K = w_Q."""
    return {key_norm2: norm2, query_norm2: norm2, key_query: norm2, key_along: along, query_along: along}


def components(m):
    """Components along the signal from products with it."""
    return {x: 0 if is_noise(m) else y / sqrt(snr) for x, y in ((key_along, mu_key), (query_along, mu_query))}


def of_file(m):
    """Products of the rank-one part of a file's weights, whose vectors have one length."""
    file = m.weights_file
    key, query = (0, 0) if is_noise(m) else (Rational(file.key_along), Rational(file.query_along))
    same = both(Rational(file.strength), key)
    return {**same, key_query: Rational(file.key_query), query_along: query}


#: w_K = w_Q = mu.
ALIGNED = both(snr, sqrt(snr))
#: w_K = w_Q = mu/|mu|.
UNIT_ALIGNED = both(1, 1)
WORDS = {
    "aligned": lambda m: both(snr, 0) if is_noise(m) else ALIGNED,
    "unit-aligned": lambda m: both(1, 0 if is_noise(m) else 1),
    "orthogonal": {**both(1, 0), key_query: 0},
    "none": both(0, 0),
}
FUNCTION = given(
    nonlinearity, also=(level, r), defines=moments_of_function, rules=FUNCTION_RULES, requires=(CUBIC,)
)  # fmt: skip
VECTORS = (
    given(key_norm2, query_norm2, mu_key, mu_query, key_query, defines=components, requires=(GRAM,)),
    shorthand(weights, WORDS),
)
PRODUCTS = (key_norm2, query_norm2, key_query, key_along, query_along)

MODEL = Model(
    ratio=Alternatives(given(c), given(p, n, defines={c: p / n}), to=[c]),
    moments=Alternatives(
        given(a1, second_moment, defines=moments_given, requires=(VARIANCE,)), FUNCTION, to=[a1, b2]
    ),
    signal=Alternatives(given(snr), to=[snr]),
    vectors=Alternatives(*VECTORS, to=PRODUCTS),
)  # fmt: skip
#: The same with weights that may come from a file.
TRAINED = MODEL.only("ratio", "moments", "signal").also(
    vectors=Alternatives(*VECTORS, given(weights_file, defines=of_file, requires=(FILE_SIZE,)), to=PRODUCTS)
)


def softmax_moments(m):
    """Moments of what the masked row-wise softmax acts as."""
    found = moments_of("softmax")
    return {a1: found.a1, b2: found.rest}


#: The same with the nonlinearity of the row-wise softmax.
SOFTMAX = MODEL.only("ratio", "signal", "vectors").also(
    moments=Alternatives(given(defines=softmax_moments), to=[a1, b2])
)
