"""Interpolation error at a finite p: the shift of the kernel's argument kept as it is, class by class."""

from sympy import Abs, Eq, Gt, Matrix, Rational, S, eye, sqrt

from theorem_engine import (
    Alternatives,
    Choice,
    ClassResolvent,
    Coin,
    Integers,
    Limit,
    Normal,
    OneOf,
    Total,
    Variance,
    given,
    result,
)
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.registry.liao2026.bulk import G, bulk, rank_part
from theorem_engine.registry.liao2026.finite_rank import OURS, ROWS, SIGNAL
from theorem_engine.registry.liao2026.model import CUBIC, FUNCTION_RULES, MODEL, multiple
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import (
    A,
    c,
    fourth,
    gamma,
    keys,
    label_mean,
    level,
    nonlinearity,
    queries,
    r,
    scale,
    var,
    xi,
)
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.written import Written, t, written

p = var("p", "p", "dimension of a token", Integers(30), typical=(200, 800))
n = var("n", "n", "number of tokens", Integers(30), typical=(200, 800))
kept = var(
    "kernel_diagonal", r"\mathrm{diag}", "whether the kernel's diagonal is zeroed or kept as it comes",
    Choice(("zeroed", "kept")), default="zeroed",
)  # fmt: skip
f = var("nonlinearity", "f", "entry-wise nonlinearity, centred by its mean", nonlinearity.domain)
#: The ratio of the sizes, which themselves are seen too.
SIZED = MODEL.only("signal", "vectors").also(ratio=Alternatives(given(p, n, defines={c: p / n}), to=[c, p, n]))
#: Nodes for each direction, and for the tokens' lengths, by the number of directions.
NODES = {1: (16, 4), 2: (7, 3), 3: (5, 2)}


def letters_of(size, mark):
    """Letters of a token's class: its label, its noise along each direction, its length."""
    names = ("y", *(f"z{k + 1}" for k in range(size)), "h")
    meanings = ("label", *(f"noise along direction {k + 1}" for k in range(size)), "length")
    return tuple(
        var(name + mark, (name if len(name) == 1 else f"z_{name[1:]}") + mark, f"{what} of a token")
        for name, what in zip(names, meanings, strict=True)
    )


def change_of(m):
    """s I + sum k_r q_r^T on the span of mu and the weights, in as few coordinates as it has."""
    part = rank_part(m) if m.keys is not None or m.queries is not None else None
    if part is not None:
        if part.size > 3:
            raise OutOfDomain("at finite p the weights and mu may span three dimensions at the most")
        return part.scale * part.change
    s = multiple(m)
    if m.when(Eq(m.key_norm2 * m.query_norm2, 0)):
        return s * eye(1)
    tiny = Rational(1, 10**12)
    across_key, across_query = m.key_norm2 - m.key_along**2, m.query_norm2 - m.query_along**2
    if not (m.when(Abs(across_key) > tiny * m.key_norm2) or m.when(Abs(across_query) > tiny * m.query_norm2)):
        return s * eye(1) + Matrix([[m.key_along * m.query_along]])
    if not m.when(Abs(across_key) > tiny * m.key_norm2):
        key, query = [m.key_along, 0], [m.query_along, sqrt(across_query)]
        return s * eye(2) + Matrix(key) * Matrix(query).T
    side = sqrt(across_key)
    second = (m.key_query - m.key_along * m.query_along) / side
    if not m.when(Gt(across_query - second**2, tiny * m.query_norm2)):
        key, query = [m.key_along, side], [m.query_along, second]
        return s * eye(2) + Matrix(key) * Matrix(query).T
    key, query = [m.key_along, side, 0], [m.query_along, second, sqrt(across_query - second**2)]
    return s * eye(3) + Matrix(key) * Matrix(query).T


class Kernel:
    """Moments of the kernel's entry between two classes, given whom the rest of the noise is fresh."""

    def __init__(self, m, function, change, mean):
        self.m, self.f, self.change, self.mean = m, function, change, mean
        self.size = change.rows
        #: The share of the dimensions that are fresh.
        self.fresh = (m.p - self.size) / m.p

    def token(self, u):
        """A class' token in the span of mu and the weights."""
        signal = Matrix([sqrt(self.m.snr) * u[0], *[0] * (self.size - 1)])
        return signal + Matrix(u[1 : 1 + self.size])

    def length(self, u):
        """The length of the rest of a token, over sqrt(p)."""
        return sqrt(self.fresh * (1 + sqrt((self.m.fourth - 1) / self.m.p) * u[-1]))

    def shift(self, u, v):
        """What the classes add to the argument of f."""
        return (self.token(u).T * self.change * self.token(v))[0] / sqrt(self.m.p)

    def width(self, u, v):
        """The standard deviation of what is fresh in it, with the sign of s."""
        return multiple(self.m) * self.length(u) * self.length(v)

    def average(self, u, v, weight=S.One, power=1):
        """E[weight f^power] at the argument of the two classes, f centred."""
        centred = Written((self.f.body - self.mean) ** power, self.f.bends)
        return centred.mean(weight, xi, self.shift(u, v), self.width(u, v))

    def slope(self, u, v):
        """E[xi f]."""
        return self.average(u, v, xi)

    def variance(self, u, v):
        """What mean and slope leave of E f^2."""
        return self.average(u, v, power=2) - self.average(u, v) ** 2 - self.slope(u, v) ** 2

    def covariance(self, u, v):
        """The same of the entry and its mirror image, which have the same fresh part."""
        if self.change == self.change.T:
            return self.variance(u, v)
        # f at both arguments, as a function of the first
        apart = self.shift(v, u) - self.shift(u, v)
        both = (self.f.body - self.mean) * (self.f.at(t + apart) - self.mean)
        mirrored = Written(both, (*self.f.bends, *(bend - apart for bend in self.f.bends)))
        product = mirrored.mean(S.One, xi, self.shift(u, v), self.width(u, v))
        return product - self.average(u, v) * self.average(v, u) - self.slope(u, v) * self.slope(v, u)


@result(
    "liao2026.finite-size-error",
    title="Interpolation error of attention at finite p and n",
    source=OURS,
    model=SIZED,
    given=(gamma, f, level, r, label_mean, fourth, kept, scale, keys, queries),
    outputs={"error": ERROR, "A": "y^T Q y/n"},
    needs={"noise": "liao2026.noise-resolvent"},
    given_rules=(*FUNCTION_RULES, OneOf((("keys", "queries"), ("weights",)), required=False, whole=True)),
    requires=(CUBIC,),
    assumes=(SIGNAL, "f is bounded or grows linearly; the tokens' noise is symmetric with fourth moment k4"),
    regime=Limit(
        grows=("n", "p"), fixed=("p/n",), orders=(1,), words="p of some hundreds; the shift of the kernel's argument "
        "may be large", correction="within 2 % of simulations (4 % for f with kinks or exponentials) at p >= 170",
    ),
    costly=True,
    checks=("liao2026_extensions.sized_error",),
    marks="DVNE",
    notes=(
        *ROWS,
        "Every token belongs to a class: its label, its noise along mu and the weights, its length. Given the classes "
        "the rest of the noise is fresh, and the argument of f is normal with a mean (the shift) and a width of the "
        "pair. The limit keeps the shift to first order; here f is averaged at it as it is.",
        "As p grows at fixed p/n this is the limit, up to order 1/p (1/sqrt(p) where neither the labels' mean nor a1 "
        "nor a2 vanishes).",
        "Classes are nodes of Gauss and Hermite: 16 for one direction, 7 for two, 5 for three, 4 to 2 for the lengths; "
        "the error printed is what fewer nodes would change, not the distance from simulations.",
        "Not covered: row-wise softmax and e^t, heavy tails, third moments.",
    ),
)  # fmt: skip
def finite_size_error(m, *, noise):
    """The error where p is a few hundred and the kernel's argument is shifted by as much as its width.

    Each class has a 3 x 3 matrix of its own; together they solve a Dyson equation.
    """
    change = change_of(m)
    size = change.rows
    moments = moments_of(m.nonlinearity, m.level, m.r, multiple(m))
    kernel = Kernel(m, written(m.nonlinearity, m.level, m.r), change, moments.mean)
    u, v = letters_of(size, ""), letters_of(size, "'")
    tokens, lengths = NODES[size]
    laws = [Coin(m.imbalance), *[Normal(tokens)] * size, Normal(lengths)]
    root, share = sqrt(m.p / m.n), sqrt(kernel.fresh)
    own = -kernel.slope(u, u) * share - kernel.average(u, u) / sqrt(m.p)
    if m.kernel_diagonal == "kept":
        argument = multiple(m) * sqrt(m.p) * kernel.length(u) ** 2 + kernel.shift(u, u)
        own += (kernel.f.at(argument) - moments.mean) / sqrt(m.p)
    local = Matrix([[m.gamma, root * own, 0], [root * own, 0, -1], [0, -1, 0]])
    there, back = (root * share * kernel.slope(*pair) for pair in ((u, v), (v, u)))
    coupling = Matrix([[0, back, 0], [there, 0, 0], [0, 0, kernel.length(u) * kernel.length(v)]])
    up, down = (root * m.n / sqrt(m.p) * kernel.average(*pair) for pair in ((u, v), (v, u)))
    mean = Matrix([[0, down, 0], [up, 0, 0], [0, 0, m.n / m.p * kernel.token(u).dot(kernel.token(v))]])
    # the matrix is symmetric: what (1, 2) gains (2, 1) does
    mixed = kernel.covariance(u, v)
    variances = [
        Variance((0, 0), (1, 1), kernel.variance(v, u)),
        Variance((0, 1), (0, 1), mixed),
        Variance((1, 0), (0, 1), mixed),
        Variance((1, 1), (0, 0), kernel.variance(u, v)),
    ]
    form = ClassResolvent(
        dict(zip(zip(u, v, strict=True), laws, strict=True)), local, coupling, m.n / (m.p - size), variances, mean,
        Matrix([u[0], 0, 0]), G,
    )  # fmt: skip
    return {
        **bulk(_Limit(m, moments), noise),
        A: form,
        "error": -(m.gamma**2) * Total(form, m.gamma),
        "A": A,
    }


class _Limit:
    """The setting with the moments that the limit would see, from which the iteration starts."""

    def __init__(self, m, moments):
        self._m, self.a1, self.b2 = m, moments.a1, moments.rest

    def __getattr__(self, name):
        return getattr(self._m, name)

    def has(self, name):
        """Whether there is a letter of this name."""
        return name in ("a1", "b2") or self._m.has(name)
