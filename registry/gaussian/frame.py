"""Two vectors among Gaussian ones: their coordinates in an orthonormal frame, and Gaussian gradients outside it.

A step of online descent sees the tokens in a frame that holds the two targets and both parameters; what the gradients
have outside of it is Gaussian given everything inside, so that only its Gram matrix matters, and that one is drawn by
Bartlett's decomposition of a Wishart matrix.
"""

from sympy import Rational, sqrt

# its operators are looked up when they are used: the lemmas of this folder are imported without them
import theorem_engine as te

#: Keeps a quotient of two zeros at zero.
TINY = Rational(1, 10**150)


def coordinates(key, value, norms, product):
    """Two vectors in an orthonormal frame with the targets as its first axes; the first lies in three of its axes.

    ``key`` and ``value`` are their coordinates along the targets, ``norms`` their squared lengths.
    """
    along_key, along_value = ((sum(a**2 for a in own)) for own in (key, value))
    free = sqrt(te.positive_part(norms[0] - along_key))
    # where the first vector has no third coordinate the numerator vanishes too, and any frame will do
    third = (product - sum(a * b for a, b in zip(key, value, strict=True))) / (free + TINY)
    fourth = sqrt(te.positive_part(norms[1] - along_value - third**2))
    return (*key, free, 0), (*value, third, fourth)


def normals_of_a_token(var):
    """Letters of what is drawn for the four coordinates of a token."""
    return tuple(var(f"Z{i}", f"Z_{i}", "standard normal coordinate of a token") for i in range(1, 5))


def step_letters(var, note=""):
    """Letters of a step: coordinates of a token, of both vectors before it and of both after it."""
    named = (
        ("X", "X", "coordinate of a token"),
        ("K", "k", "coordinate of k"),
        ("V", "v", "coordinate of v"),
        ("K_new", "k'", f"coordinate of k after the step{note}"),
        ("V_new", "v'", f"coordinate of v after the step{note}"),
    )
    return tuple(
        tuple(var(f"{name}{i}", f"{latex}_{i}", meaning) for i in range(1, 5)) for name, latex, meaning in named
    )


def factor_letters(var):
    """Letters of the Cholesky factor of the covariance that two gradients have outside the frame."""
    meaning = "entry of the Cholesky factor of the gradients' covariance outside the frame"
    return tuple(var(*names, meaning) for names in (("c_kk", "C_{11}"), ("c_kv", "C_{21}"), ("c_vv", "C_{22}")))


def factor(letters, s_kk, s_kv, s_vv):
    """Definitions of that factor, from what each token adds to the covariance."""
    c_kk, c_kv, c_vv = letters
    return {
        c_kk: sqrt(te.BatchSum(s_kk)),
        c_kv: te.BatchSum(s_kv) / (c_kk + TINY),
        c_vv: sqrt(te.positive_part(te.BatchSum(s_vv) - c_kv**2)),
    }


def outside(letters, chi_k, chi_v, mixed):
    """The two gradients outside the frame: the first along an axis of its own, the second along it and one more."""
    c_kk, c_kv, c_vv = letters
    return c_kk * chi_k, c_kv * chi_k + c_vv * mixed, c_vv * chi_v
