"""How far a finite p is from the limit: the shift of the kernel's argument, and the kernel's diagonal.

The shift is kept to first order only, so the limit is good while its mean square is small. With N = s I + w_K w_Q^T
and Sigma = I + mu mu^T on the span of mu, w_K and w_Q, that is eps2 = tr(N Sigma N^T Sigma)/p.
"""

from sympy import Eq, Integer, Max, Or, Piecewise, Rational, Symbol, oo, sqrt, true

from theorem_engine import Exceeds, rows_of
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.application import EntryFunction
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import diagonal, level, p

#: Names of nonlinearities with E[f(xi) (xi^2 - 1)] not zero, and of those bounded by one.
EVEN_PART, BOUNDED = ("cos", "exp-clip", "relu", "softmax"), ("tanh", "sin", "cos", "sign")
#: Inner products that differ from those of parallel vectors by less are rounding.
TOUCH = Rational(1, 10**12)
ODD, EVEN = Rational(1, 20), Rational(1, 50)


def mean_square_shift(signal, key, query, between):
    """eps2 p by the products of mu, w_K and w_Q: squared norms, with the products with mu, and that of w_K and w_Q."""
    (key, mu_key), (query, mu_query) = key, query
    minor = signal * key - mu_key**2
    determinant = (
        minor * query - signal * between**2 - key * mu_query**2 + 2 * mu_key * mu_query * between
    )  # fmt: skip
    beside = Or(
        signal * query - mu_query**2 > TOUCH * signal * query,
        key * query - between**2 > TOUCH * key * query,
    )
    # directions of the span beside the first: the tokens' own products along them are counted in; noise has no shift
    further = Piecewise(
        (-1, Eq(signal + key * query, 0)),
        (0, Eq(key * query, 0)),
        (2, determinant > TOUCH * signal * key * query),
        (1, Or(minor > TOUCH * signal * key, beside)),
        (0, True),
    )
    both = (query + mu_query**2) * (key + mu_key**2)
    return further + (1 + signal) ** 2 + 2 * (between + (2 + signal) * mu_key * mu_query) + both


def _file(m):
    return m.weights_file if m.has("weights_file") else None


def _size(m):
    """The dimension, given or that of a file; None without one, or with weights already warned about as others."""
    file = _file(m)
    if file is not None and not file.is_near:
        return None
    return m.p if m.p is not None or file is None else Integer(file.size)


def _shift(m):
    """eps2 at a setting, or None where nothing is known of it."""
    size = _size(m)
    if size is None:
        return None
    length, scale = sqrt(m.snr), 1 if _file(m) is None else Rational(_file(m).scale)
    key, query = (m.key_norm2, length * m.key_along), (m.query_norm2, length * m.query_along)
    return scale**2 * mean_square_shift(m.snr, key, query, m.key_query) / size


def shift_level(m):
    """Smaller where the even part of f adds its own correction; moments given as numbers count as those of an odd f."""
    f = m.nonlinearity
    if f is None or isinstance(f, str):
        return EVEN if f in EVEN_PART else ODD
    try:
        return ODD if moments_of(f).a2 == 0 else EVEN
    except OutOfDomain:
        # the statement itself refuses it, and says why
        return EVEN


def _height(m):
    """How large the kernel's diagonal may be, for an f with a known bound and a diagonal that was not given."""
    f, size = m.nonlinearity, _size(m)
    if size is None or not isinstance(f, str) or (f not in BOUNDED and "clip" not in f):
        return None
    height = (Integer(1) if f in BOUNDED else level) / sqrt(size)
    return Piecewise((height, Eq(diagonal, 0)), (0, True)) if m.has("diagonal") else height


def _window(m):
    """eps2 at the worse end of a window of aligned weights; without a window nothing bounds it."""
    if m.p is None or m.weights is None:
        return None
    ends = (Symbol("snr_low"), Symbol("snr_high"))
    if m.weights == "aligned":
        return Max(*(mean_square_shift(x, (x, x), (x, x), x) / p for x in ends))
    return Max(*(mean_square_shift(x, (1, sqrt(x)), (1, sqrt(x)), 1) / p for x in ends))


def _unbounded(m):
    """At infinite alignment the shift has no bound at any p."""
    return None if m.p is None or m.weights is not None else oo


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
#: Nonlinearities whose error at finite p takes a second or two; of the others it is left to who asks for it.
QUICK, ALONG = ("tanh", "sin", "cos"), ("aligned", "unit-aligned", "none")
#: No weights by their products.
BARE = dict.fromkeys(("key_norm2", "query_norm2", "key_query", "key_along", "query_along"), 0)
#: Directions of signal and weights up to which that is so.
QUICK_SPAN = 2


def at_this_size(m):
    """Where the error at this p and n is quickly found, and that error: weights along the signal, or none."""
    if m.p is None or m.n is None or m.nonlinearity not in QUICK or _file(m) is not None:
        return None
    if not m.has("gamma") or m.gamma is None or not (m.weights is None or m.weights in ALONG):
        return None
    is_bare = m.weights is None
    error = EntryFunction("liao2026.finite-size-error").at(m, **(BARE if is_bare else {}))
    return (Eq(m.key_norm2 * m.query_norm2, 0) if is_bare else true), error


def at_this_size_of_rank(m):
    """The same for weights of any rank, where signal and weights span two directions at the most."""
    if m.p is None or m.n is None or m.nonlinearity not in QUICK or m.gamma is None:
        return None
    if m.has("weights_file") and m.weights_file is not None:
        return None
    if m.keys is not None and len(rows_of(m.keys)[0]) > QUICK_SPAN:
        return None
    # the finite-size equation knows no third moment
    return Eq(m.third, 0) if m.has("third") else true, EntryFunction("liao2026.finite-size-error").at(m, **BARE)


def _shift_of_word(m):
    """eps2 where the weights are a word of the entry: w_K = w_Q = mu, or none."""
    if m.p is None:
        return None
    norm2 = m.snr if m.weights == "aligned" else Integer(0)
    return mean_square_shift(m.snr, (norm2, norm2), (norm2, norm2), norm2) / m.p


def at_this_size_of_word(m):
    """The error at this p and n with the weights of such a word."""
    if m.p is None or m.n is None or m.nonlinearity not in QUICK:
        return None
    length, is_aligned = sqrt(m.snr), m.weights == "aligned"
    norm2, along = (m.snr, length) if is_aligned else (0, 0)
    vectors = {"key_norm2": norm2, "query_norm2": norm2, "key_query": norm2, "key_along": along, "query_along": along}
    return true, EntryFunction("liao2026.finite-size-error").at(m, **vectors)


REFINED = "; expected at this p with the diagonal zeroed: an error of {value} (liao2026.finite-size-error)"
FAR_WORD = Exceeds(
    _shift_of_word, lambda m: shift_level(m) if m.has("nonlinearity") else ODD, EPS2 + SAYS, MEANING,
    refined=lambda m: at_this_size_of_word(m) if m.has("nonlinearity") else None, says=REFINED,
)  # fmt: skip
FAR = Exceeds(
    _shift, shift_level, EPS2 + SAYS, MEANING, refined=at_this_size,
    says=REFINED,
)  # fmt: skip
#: Of the masked softmax, which is an exponential; unmasked it is ridge regression.
FAR_SOFTMAX = Exceeds(lambda m: _shift(m) if m.masked else None, lambda m: EVEN, EPS2 + SAYS, MEANING)
FAR_WINDOW = (
    Exceeds(
        _unbounded, shift_level, EPS2 + "infinite alignment is a limit after p -> oo, and no finite p follows it",
        MEANING,
    ),
    Exceeds(
        _window, shift_level, EPS2 + "at an end of the window simulations at this p lie below the limit, so that "
        "attention wins beyond it", MEANING, ("snr_low", "snr_high"),
    ),
)  # fmt: skip
DIAGONAL = "the kernel's diagonal, up to {number}, is not small (above {level}): "
STIFF, STIFF_FIXED = (
    Exceeds(
        _height,
        lambda m: Rational(1, 10),
        DIAGONAL + what,
        f"at finite p the kernel's diagonal, up to sup|f|/sqrt(p), is not small above 0.1: {what}",
    )
    for what in ("give it as `diagonal`, or zero it in the experiment", "zero it in the experiment")
)
