"""Kernel ridge regression at a finite number of samples."""

from collections import Counter
from fractions import Fraction

from sympy import And, Eq, Ge, Integer, Max, Ne, Or, Rational

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    Holds,
    Interval,
    Limit,
    Numbers,
    OneOf,
    Output,
    Root,
    Search,
    Source,
    SpectrumSum,
    notation,
    numbers_of,
    theorem,
)
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.registry.classics.notation import s2

var = notation("classics.kernel")
#: Nearer to one the sums converge too slowly for double precision.
POWER = Interval(Fraction(21, 20), 20)
eigenvalues = var("eigenvalues", r"\eta_i", "eigenvalues of the kernel", Numbers(positive=True), default=ABSENT)
coefficients = var("coefficients", "v_i", "coefficients of the target in the eigenfunctions", Numbers(), default=ABSENT)
decay = var("decay", "a", "power of the eigenvalues i^(-a)", POWER, default=ABSENT, typical=(1.3, 3))
source = var("source", "b", "power of the squared coefficients i^(-b)", POWER, default=ABSENT, typical=(1.3, 4))
n = var("n", "n", "number of samples", Interval(0, 10**9, left_open=True), typical=(5, 200))
ridge = var("ridge", r"\lambda", "ridge, added to the kernel matrix", NONNEGATIVE, typical=(0.01, 1))
i = var("i", "i", "number of a mode", Interval(1, 10**300))
kappa = var("kappa", r"\kappa", "effective ridge", NONNEGATIVE)
modes = var("modes", r"\gamma", "modes that are learned, relative to samples", NONNEGATIVE)
bias = var("bias", "B", "squared part of the target that is not learned", NONNEGATIVE)


class PowerLaw:
    """Eigenvalues i^(-a) and squared coefficients i^(-b), without end."""

    count = None

    def learned(self, kappa, power):
        """Sum of (eta/(eta + kappa))^power."""
        return SpectrumSum(1 / (1 + kappa * i**decay) ** power, over=i)

    def missed(self, kappa):
        """Sum of v^2 (kappa/(eta + kappa))^2."""
        return SpectrumSum(i ** (-source) / (1 + i ** (-decay) / kappa) ** 2, over=i)

    def search(self):
        """Terms with kappa i^a up to one count at least one half; the sum is at most that of the eigenvalues."""
        return Search(Max((2 * n + 1) ** (-decay), ridge / n) / 2, 2 * (1 + 1 / (decay - 1) + ridge) / n)


class Listed:
    """Eigenvalues and coefficients one by one; equal pairs are counted."""

    def __init__(self, eigenvalues, coefficients):
        values, weights = numbers_of(eigenvalues), [v**2 for v in numbers_of(coefficients)]
        self.count = len(values)
        if len(weights) != self.count:
            raise OutOfDomain(f"{self.count} eigenvalues and {len(weights)} coefficients were given; give as many")
        pairs = Counter(zip(values, weights, strict=True))
        self.pairs = [(Rational(e), Rational(w), Integer(k)) for (e, w), k in sorted(pairs.items())]

    def learned(self, kappa, power):
        """Sum of (eta/(eta + kappa))^power."""
        return sum(k * (e / (e + kappa)) ** power for e, _, k in self.pairs)

    def missed(self, kappa):
        """Sum of v^2 (kappa/(eta + kappa))^2."""
        return sum(k * w * (kappa / (e + kappa)) ** 2 for e, w, k in self.pairs)

    def search(self):
        """kappa is at least ridge/n, and at least what all modes would need if they were as small as the smallest."""
        smallest, total = self.pairs[0][0], sum(e * k for e, _, k in self.pairs)
        return Search(Max(ridge / n, smallest * (self.count - n) / n) / 2, 2 * (total + ridge) / n)


def spectrum_of(m):
    """The spectrum that a query describes."""
    return PowerLaw() if m.eigenvalues is None else Listed(m.eigenvalues, m.coefficients)


def as_many(view):
    """Without ridge there are not as many modes as samples; a power law has more."""
    listed = _list(view, "eigenvalues")
    return None if listed is None else Or(ridge > 0, Ne(n, len(numbers_of(listed))))


def _list(view, name):
    found = view.get(name) if hasattr(view, "get") else getattr(view, name, None)
    return found if isinstance(found, str) else None


@theorem(
    "classics.kernel-ridge",
    title="Test error of kernel ridge regression",
    source=Source("simon2023"),
    given=(eigenvalues, coefficients, decay, source, n, ridge, s2),
    given_rules=(OneOf((("decay", "source"), ("eigenvalues", "coefficients"))),),
    outputs={
        "kappa": Output("effective ridge", NONNEGATIVE),
        "test_error": Output("mean squared error of the function, without label noise", NONNEGATIVE),
    },
    requires=(
        Holds(as_many, "without ridge there are not as many eigenvalues as samples n"),
    ),
    recipe=lambda m: {kappa: spectrum_of(m).search()},
    assumes=(
        "the kernel is sum_i eta_i phi_i(x) phi_i(x') with orthonormal phi_i that behave as Gaussian variables",
        "the target is sum_i v_i phi_i, labels have noise of variance s2; ridge is added to the kernel matrix",
    ),
    regime=Limit(
        grows=("effective dimension",), words="a deterministic equivalent: exact as the number of learned modes grows",
        correction="relative, of order 1/n",
    ),
    checks=("classics_regressions.kernel_ridge",),
    marks="DV",
    notes=(
        "n = sum_i eta_i/(eta_i + kappa) + ridge/kappa has exactly one root kappa > 0, except without ridge and with "
        "fewer modes than samples, where kappa = 0 and the error is s2 P/(n - P).",
        "With p equal eigenvalues one and ridge = n lam this is ridge regression, classics.ridge-risk at g = p/n.",
        "Power law, ridge = 0, n -> oo: noise is amplified by a - 1, and the bias falls like n^(-min(b - 1, 2 a)).",
    ),
)  # fmt: skip
def kernel_ridge(m):
    """Every mode is learned as if alone, with a ridge kappa that all modes make together."""
    spectrum = spectrum_of(m)
    if spectrum.count is not None and m.when(And(Eq(ridge, 0), Ge(n, spectrum.count))):
        return {"kappa": 0, "test_error": s2 * spectrum.count / (n - spectrum.count)}
    return {
        kappa: Root((spectrum.learned(kappa, 1) + ridge / kappa) / n - 1, kappa),
        modes: spectrum.learned(kappa, 2) / n,
        bias: spectrum.missed(kappa),
        "kappa": kappa,
        # (bias + s2)/(1 - modes) - s2
        "test_error": (bias + s2 * modes) / (1 - modes),
    }
