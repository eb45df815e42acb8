"""How far a finite p is from the limit: the shift of the kernel's argument, and the kernel's diagonal.

The shift is kept to first order only, so the limit is good while its mean square is small. With N = s I + w_K w_Q^T
and Sigma = I + mu mu^T on the span of mu, w_K and w_Q, that is eps2 = tr(N Sigma N^T Sigma)/p.
"""

from functools import partial

from sympy import Eq, Integer, Max, Or, Piecewise, Rational, Symbol, oo, sqrt

from theorem_engine import ABSENT, Exceeds, Holds
from theorem_engine.errors import OutOfDomain
from theorem_engine.registry.liao2026.hermite import moments_of
from theorem_engine.registry.liao2026.notation import (
    diagonal,
    key_norm2,
    key_query,
    level,
    mu_key,
    mu_query,
    p,
    query_norm2,
    snr,
)
from theorem_engine.registry.liao2026.setting import read_products

#: Names of nonlinearities with E[f(xi) (xi^2 - 1)] not zero, and of those bounded by one.
EVEN_PART, BOUNDED = ("cos", "exp-clip", "relu", "softmax"), ("tanh", "sin", "cos", "sign")
#: Inner products that differ from those of parallel vectors by less are rounding.
TOUCH = Rational(1, 10**12)


def mean_square_shift(p, scale, snr, key_norm2, query_norm2, mu_key, mu_query, key_query):
    """eps2 by the inner products of mu, w_K and w_Q; the weights are ``scale`` (I + w_K w_Q^T)."""
    minor = snr * key_norm2 - mu_key**2
    determinant = (
        minor * query_norm2
        - snr * key_query**2
        - key_norm2 * mu_query**2
        + 2 * mu_key * mu_query * key_query
    )  # fmt: skip
    beside = Or(
        snr * query_norm2 - mu_query**2 > TOUCH * snr * query_norm2,
        key_norm2 * query_norm2 - key_query**2 > TOUCH * key_norm2 * query_norm2,
    )
    # directions of the span beside the first: the tokens' own products along them are counted in; noise has no shift
    further = Piecewise(
        (-1, Eq(snr + key_norm2 * query_norm2, 0)),
        (0, Eq(key_norm2 * query_norm2, 0)),
        (2, determinant > TOUCH * snr * key_norm2 * query_norm2),
        (1, Or(minor > TOUCH * snr * key_norm2, beside)),
        (0, True),
    )
    both = (query_norm2 + mu_query**2) * (key_norm2 + mu_key**2)
    return scale**2 / p * (further + (1 + snr) ** 2 + 2 * (key_query + (2 + snr) * mu_key * mu_query) + both)


def _size(options):
    """The dimension, given or that of a file; None without one, or with weights already warned about as others."""
    file = options.get("weights_file", ABSENT)
    if file is not ABSENT and not file.is_near:
        return None
    if options.get("p") is not ABSENT:
        return p
    return None if file is ABSENT else Integer(file.size)


def _shift(options):
    """eps2 at a choice of options, or None where nothing is known of it."""
    size, file = _size(options), options.get("weights_file", ABSENT)
    if size is None or options.get("masked") is False:
        return None
    word = options.get("weights", ABSENT)
    products = read_products(
        snr, key_norm2, query_norm2, mu_key, mu_query, key_query, None if word is ABSENT else word, False,
        None if file is ABSENT else file,
    )  # fmt: skip
    if word is ABSENT and file is ABSENT:
        # as given: their components along a mu of length zero are not formed
        along = mu_key, mu_query
    else:
        along = (sqrt(snr) * products.key_along, sqrt(snr) * products.query_along)
    scale = Integer(1) if file is ABSENT else Rational(file.scale)
    return mean_square_shift(size, scale, snr, products.key_norm2, products.query_norm2, *along, products.key_query)


def _shift_level(options):
    """Smaller where the even part of f adds its own correction; moments given as numbers count as those of an odd f."""
    f = options.get("nonlinearity", "softmax" if "masked" in options else ABSENT)
    if f is ABSENT:
        has_even_part = False
    elif isinstance(f, str):
        has_even_part = f in EVEN_PART
    else:
        try:
            has_even_part = moments_of(f).a2 != 0
        except OutOfDomain:
            # the statement itself refuses it, and says why
            has_even_part = True
    return Rational(1, 50) if has_even_part else Rational(1, 20)


def _height(options, has_letter):
    """How large the kernel's diagonal may be, for an f with a known bound and a diagonal that was not given."""
    f = options.get("nonlinearity", ABSENT)
    size = _size(options)
    if size is None or not isinstance(f, str) or (f not in BOUNDED and "clip" not in f):
        return None
    height = (Integer(1) if f in BOUNDED else level) / sqrt(size)
    return Piecewise((height, Eq(diagonal, 0)), (0, True)) if has_letter else height


def _window(options):
    """eps2 at the worse end of a window of aligned weights; without a window nothing bounds it."""
    if options.get("p") is ABSENT or options.get("weights") != "aligned":
        return None
    return Max(*(mean_square_shift(p, 1, x, x, x, x, x, x) for x in (Symbol("snr_low"), Symbol("snr_high"))))


def _unbounded(options):
    """At infinite alignment the shift has no bound at any p."""
    return None if options.get("p") is ABSENT or options.get("weights") == "aligned" else oo


EPS2 = "eps2 = {number}, the mean square shift of the kernel's argument by signal and weights, exceeds {level}: "
MEANING = (
    "at finite p the statement is off where eps2 = tr(N Sigma N^T Sigma)/p, the mean square shift of the kernel's "
    "argument (N = s I + w_K w_Q^T, Sigma = I + mu mu^T, both on the span of mu, w_K and w_Q), exceeds 0.05, or 0.02 "
    "where E[f(xi) (xi^2 - 1)] is not zero"
)
SAYS = (
    "simulations at this p leave the limit. With weights along the signal or none and odd f they lie below it, "
    "relatively by eps2/8 or more (eps2/3 is usual), else by less or more and on either side; above 0.3 the limit is "
    "not usable"
)
FAR = Exceeds(_shift, _shift_level, EPS2 + SAYS, MEANING)
FAR_WINDOW = (
    Exceeds(
        _unbounded, _shift_level, EPS2 + "infinite alignment is a limit after p -> oo, and no finite p follows it",
        MEANING,
    ),
    Exceeds(
        _window, _shift_level, EPS2 + "at an end of the window simulations at this p lie below the limit, so that "
        "attention wins beyond it", MEANING, ("snr_low", "snr_high"),
    ),
)  # fmt: skip
DIAGONAL = "the kernel's diagonal, up to {number}, is not small (above {level}): "
STIFF, STIFF_FIXED = (
    Exceeds(
        partial(_height, has_letter=has_letter),
        lambda options: Rational(1, 10),
        DIAGONAL + what,
        f"at finite p the kernel's diagonal, up to sup|f|/sqrt(p), is not small above 0.1: {what}",
    )
    for has_letter, what in (
        (True, "give it as `diagonal`, or zero it in the experiment"),
        (False, "zero it in the experiment"),
    )
)
#: The weights of a file belong to tokens of their own dimension.
FILE_SIZE = Holds(
    lambda options: Eq(p, options["weights_file"].size) if options.get("weights_file", ABSENT) is not ABSENT else None,
    "p is the dimension of the weights in the file",
)
