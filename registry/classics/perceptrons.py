"""Perceptrons: what is learned from a teacher, and how many random patterns can be stored."""

from sympy import Piecewise, Rational, asin, atan, cosh, exp, log, pi, sqrt, tanh

from theorem_engine import (
    NONNEGATIVE,
    POSITIVE,
    Choice,
    GaussianMean,
    Interval,
    Limit,
    Output,
    Root,
    Search,
    Source,
    Start,
    homotopy,
    mills,
    normal_cdf,
    normal_pdf,
    notation,
    result,
    theorem,
)
from theorem_engine.language.identity import SpecialValue
from theorem_engine.language.unchecked import Unchecked

var = notation("classics.perceptrons")
HALF = Interval(0, Rational(1, 2))
alpha = var("alpha", r"\alpha", "samples over dimension, n/d", POSITIVE, typical=(0.2, 8))
Z = var("Z", "Z", "a standard normal variable")
r = var("r", "r", "sine of the angle between posterior mean and teacher, sqrt(1 - q)", Interval(0, 1))

lam = var("lam", r"\lambda", "ridge penalty", POSITIVE, typical=(0.05, 2))
loss = var("loss", r"\ell", "loss of a sample: logistic, or half the squared distance of score and label",
           Choice(("logistic", "square")), default="logistic")  # fmt: skip
m = var("m", "m", "overlap w.w*/d", POSITIVE)
q = var("q", "q", "squared norm |w|^2/d", POSITIVE)
V = var("V", "V", "response tr(Hessian^-1)/d", POSITIVE)
rest = var("rest", "p", "squared norm of w off the teacher, q - m^2", POSITIVE)
m_hat = var("m_hat", r"\hat m", "pull of the samples along the teacher")
q_hat = var("q_hat", r"\hat q", "spread of the pull of the samples")
V_hat = var("V_hat", r"\hat V", "curvature that the samples add")
x = var("x", "x", "score of a training sample after training, times its label")
f = var("f", "f", "slope of the loss there, 1/(1 + e^x)")
omega = var("omega", r"\omega", "score before the sample is added")

kappa = var("kappa", r"\kappa", "margin; for a negative one the formula is a bound only", NONNEGATIVE, typical=(0, 3))
capacity = var("alpha", r"\alpha", "patterns over dimension at which solutions end", POSITIVE)
OF_DIMENSION = Limit(grows=("d", "n"), fixed=("n/d",), orders=(1,))


@theorem(
    "classics.sign-perceptron-bayes",
    title="Bayes-optimal learning of a perceptron",
    source=Source("barbier2019"),
    given=(alpha,),
    outputs={
        "q": Output("overlap of a posterior sample with the teacher", Interval(0, 1)),
        "test_error": Output("error of the Bayes classifier on a fresh sample", HALF),
    },
    recipe={r: Search(1 / (20 * (1 + alpha)), 1)},
    assumes=("the teacher w* and the samples x are standard normal, labels are sign(x.w*)",),
    regime=OF_DIMENSION,
    checks=("classics_perceptrons.posterior_overlap",),
    marks="DV",
    notes=(
        "Usually written q = h/(1 + h), h = 2 alpha/(1 - q) E phi(u)^2/Phi(u), u = Z sqrt(q/(1 - q)); completing the "
        "square leaves the mean used here, whose body is smooth at every q.",
        "alpha -> 0: q ~ 2 alpha/pi; alpha -> oo: alpha test_error -> 0.44170. A single posterior sample errs with "
        "arccos(q)/pi.",
    ),
)
def sign_perceptron_bayes(alpha):
    """The overlap of the posterior with its teacher solves one equation; nothing learns faster."""
    seen = alpha / pi * r / sqrt(2 - r**2) * GaussianMean(1 / normal_cdf(Z * sqrt((1 - r**2) / (2 - r**2))), Z)
    return {r: Root(seen - (1 - r) * (1 + r), r), "q": seen, "test_error": asin(r) / pi}


def averaged(body):
    """Mean over the score before training, written in the score x after it, of which x - V f(x) is a function.

    x is V/2 plus sqrt(q) Z; the exponential is the ratio of the two densities.
    """
    after = V / 2 + sqrt(q) * Z
    slope = 1 / (1 + exp(after))
    shift = V * (Rational(1, 2) - slope)
    ratio = exp(-Z * shift / sqrt(q) - shift**2 / (2 * q))
    here = body.xreplace({x: after, f: slope, omega: sqrt(q) * Z + shift})
    return GaussianMean(here * ratio, Z)


def logistic_pull(alpha):
    """The three hatted letters of the logistic loss."""
    u = m / sqrt(rest * q) * omega
    curvature = f * (1 - f)
    widened = 1 + V * curvature
    return {
        m_hat: 2 * alpha * sqrt(q / rest) * averaged(normal_pdf(u) * f * widened),
        q_hat: 2 * alpha * averaged(normal_cdf(u) * f**2 * widened),
        V_hat: 2 * alpha * averaged(normal_cdf(u) * curvature),
    }


def square_pull(alpha):
    """The three hatted letters of the square loss, whose means are known."""
    return {
        m_hat: alpha * sqrt(2 / pi) / (1 + V),
        q_hat: alpha * (1 + q - 2 * m * sqrt(2 / pi)) / (1 + V) ** 2,
        V_hat: alpha / (1 + V),
    }


STIFFNESS = lam + alpha / 4


@theorem(
    "classics.logistic-ridge",
    costly=True,
    title="Logistic regression with a ridge penalty on labels of a perceptron",
    source=Source("aubin2020"),
    given=(alpha, lam, loss),
    outputs={
        "m": Output("overlap w.w*/d with the teacher", POSITIVE),
        "q": Output("squared norm |w|^2/d", POSITIVE),
        "V": Output("response tr(Hessian^-1)/d", POSITIVE),
        "test_error": Output("error on a fresh sample", HALF),
    },
    recipe={
        m: Start(alpha / (sqrt(2 * pi) * STIFFNESS), positive=True, along=lam),
        rest: Start(alpha / (4 * STIFFNESS**2), positive=True),
        V: Start(1 / STIFFNESS, positive=True),
    },
    assumes=(
        "x is standard normal, labels are sign(x.w*), |w*|^2 = d",
        "w minimises the sum of log(1 + exp(-y x.w/sqrt(d))) (or of the square loss) plus lam |w|^2/2",
    ),
    regime=OF_DIMENSION,
    checks=("classics_perceptrons.penalised_fit",),
    marks="DV",
    notes=(
        "Usually written with the proximal point x = omega + V/(1 + e^x) of the loss at a Gaussian omega; here means "
        "are taken over x itself, of which omega is an elementary function, so that no equation is solved inside.",
        "lam -> oo: Hebb's rule, m/sqrt(q) -> sqrt(2 alpha/(pi + 2 alpha)). lam -> 0: the direction of the largest "
        "margin, reached logarithmically slowly; the error is not monotone in lam.",
        "With the square loss q - 2 m sqrt(2/pi) + 2/pi is the risk of ridge regression at g = 1/alpha, penalty "
        "lam/alpha, r2 = 2/pi, s2 = 1 - 2/pi.",
    ),
)
def logistic_ridge(alpha, lam, loss):
    """Overlap, norm and response of the minimiser solve three equations, one of which each convex loss has."""
    pulled = square_pull(alpha) if loss == "square" else logistic_pull(alpha)
    return {
        q: m**2 + rest,
        **pulled,
        m: m_hat * V,
        rest: q_hat * V**2,
        V: 1 / (lam + V_hat),
        "m": m,
        "q": q,
        "V": V,
        "test_error": atan(sqrt(rest) / m) / pi,
    }


@theorem(
    "classics.perceptron-capacity",
    title="Capacity of a perceptron with a margin",
    source=Source("gardner1988"),
    given=(kappa,),
    outputs={"alpha": Output("patterns over dimension up to which all can be stored", Interval(0, 2))},
    assumes=("patterns are Gaussian, labels random; weights have norm sqrt(N); stability y xi.w/sqrt(N) >= kappa",),
    regime=Limit(grows=("N", "P"), fixed=("P/N",), orders=(1,)),
    checks=("classics_patterns.largest_load",),
    identities=lambda: (SpecialValue({kappa: 0}, "alpha", 2, points=({},)),),
    marks="DV",
    notes=(
        "1/alpha = E (Z + kappa)_+^2. At kappa = 0 exact in the sense that 2 N patterns are separable with probability "
        "one half (Cover 1965). kappa -> oo: alpha -> 1/(1 + kappa^2).",
        "For kappa >= 0 the space of solutions is convex and the formula proved (Shcherbina, Tirozzi 2003); for "
        "kappa < 0 replica symmetry is broken.",
    ),
)
def perceptron_capacity(kappa):
    """How many random patterns a perceptron can store with a margin."""
    return {"alpha": 1 / ((1 + kappa**2) * normal_cdf(kappa) + kappa * normal_pdf(kappa))}


def binary_equations(load):
    """Overlap and its conjugate for binary weights at a load, and the two means of the entropy.

    q = 1 with an infinite conjugate is a solution too. What is meant is connected with no overlap of the patterns' own,
    where the conjugate is 2 load/pi.
    """
    u = Z * sqrt(q / (1 - q))
    # far to the left the distribution function itself underflows
    log_cdf = Piecewise((log(mills(-u)) - u**2 / 2 - log(2 * pi) / 2, u < 0), (log(normal_cdf(u)), True))
    return {
        q: GaussianMean(tanh(Z * sqrt(q_hat)) ** 2, Z),
        # the mean of (phi(u)/Phi(u))^2 with its square completed, as in the Bayes perceptron
        q_hat: homotopy(
            load / (2 * pi * sqrt((1 - q) * (1 + q))) * GaussianMean(1 / normal_cdf(Z * sqrt(q / (1 + q))) ** 2, Z),
            2 * load / pi,
        ),
    }, (GaussianMean(log(2 * cosh(Z * sqrt(q_hat))), Z) - q_hat * (1 - q) / 2, GaussianMean(log_cdf, Z))


load = var("alpha", r"\alpha", "patterns over dimension, P/N", Interval(0, Rational(83, 100), left_open=True),
           typical=(0.1, 0.8))  # fmt: skip


@result(
    "classics.binary-entropy",
    title="Entropy of the solutions of a perceptron with binary weights",
    source=Source("krauth1989"),
    given=(load,),
    outputs={
        "entropy": Output("logarithm of the number of solutions over N", NONNEGATIVE),
        "q": Output("overlap of two solutions", Interval(0, 1)),
    },
    recipe={q: Start(load / 2, positive=True), q_hat: Start(2 * load / pi, positive=True)},
    assumes=("patterns are Gaussian, labels random, weights are one or minus one, no margin",),
    regime=Limit(grows=("N", "P"), fixed=("P/N",), orders=(1,)),
    checks=(
        "classics_patterns.binary_solutions",
        Unchecked(
            "q",
            because="the overlap of solutions is far from its limit in systems that can be enumerated; the entropy, "
            "a function of it, is compared",
        ),
    ),
    marks="DVE",
    notes=(
        "Replica-symmetric. The entropy is log 2 without patterns and vanishes at the capacity 0.83308.",
        "Twelve weights, all 4096 vectors enumerated, lie 0.3 % above the limit at a load of one half. That is within "
        "what so few weights may be off by, and more than chance: at this effort a check cannot tell.",
    ),
)
def binary_entropy(alpha):
    """How many of the 2^N binary perceptrons store a given number of random patterns."""
    equations, (weights, patterns) = binary_equations(alpha)
    return {**equations, "entropy": weights + alpha * patterns, "q": q}


@result(
    "classics.binary-capacity",
    title="Capacity of a perceptron with binary weights",
    source=Source("krauth1989"),
    outputs={
        "alpha": Output("patterns over dimension at which solutions end", Interval(0, 1)),
        "q": Output("overlap of two solutions there", Interval(0, 1)),
        "q_hat": Output("conjugate of the overlap there", NONNEGATIVE),
    },
    recipe={
        q: Start(Rational(56, 100), positive=True),
        q_hat: Start(Rational(258, 100), positive=True),
        capacity: Start(Rational(83, 100), positive=True),
    },
    assumes=("patterns are Gaussian, labels random, weights are one or minus one, no margin",),
    regime=Limit(grows=("N", "P"), fixed=("P/N",), orders=(1,)),
    checks=(
        "classics_patterns.binary_threshold",
        Unchecked("q", "q_hat", because="where the last solutions vanish there are none to measure; below the "
                  "capacity classics.binary-entropy is compared with all solutions enumerated"),
    ),
    marks="DVE",
    notes=(
        "Where the replica-symmetric entropy vanishes. Proved as a lower bound under a numerical condition (Ding, Sun "
        "2019), and as the threshold under a second one (Huang 2024).",
        "Enumeration of small systems brackets the value but does not confirm three digits: its shift is of order 1/N.",
    ),
)  # fmt: skip
def binary_capacity():
    """A perceptron with binary weights stores 0.833 patterns per weight; its entropy is then zero."""
    equations, (weights, patterns) = binary_equations(capacity)
    return {**equations, capacity: -weights / patterns, "alpha": capacity, "q": q, "q_hat": q_hat}
