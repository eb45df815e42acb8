"""Edges of every entry: both ends of every letter, and values there against independent methods.

At an end an entry answers, within its range and with an error, or refuses with a documented error that names the
letter. Values are compared with plain sums and quadratures of the definitions (`reference_gaussian`,
`reference_ridge`); those of single-location regression with softmax are in `test_edges_attention`.
"""

import ast
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from tests.registry import reference_gaussian, reference_ridge
from tests.registry.fuzz_queries import CHEAP, LONG, Query
from tests.registry.fuzz_values import ends, special
from tests.registry.fuzz_worker import Worker
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import ValidityWarning
from theorem_engine.language.domains import Integers, Interval
from theorem_engine.language.lengths import Lengths

HERE = Path(__file__).parent
REFERENCES = ("reference_attention", "reference_gaussian", "reference_ridge")
pytestmark = pytest.mark.filterwarnings(f"ignore::{ValidityWarning.__module__}.{ValidityWarning.__name__}")


# ---- independence ----


@pytest.mark.parametrize("name", REFERENCES)
def test_references_share_no_code_with_the_engine(name):
    """No import of the engine, the registry or the validators, in the source or by way of another module."""
    for node in ast.walk(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(part.split(".")[0] in ("theorem_engine", "registry", "validators") for part in imported)
    code = f"import sys, tests.registry.{name}; sys.exit(any(m.startswith('theorem_engine') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=HERE.parents[1], check=False).returncode == 0


# ---- both ends of every letter ----


def edge_queries(entry):
    """A drawn point with each letter in turn at, and just inside, both ends of its domain."""
    given = {x.name for x in entry.given}
    fixed = {name: value for name, value in CHEAP.items() if entry.costly and name in given}
    base = draw_point(entry, np.random.default_rng(20260118), fixed)
    for letter in entry.given:
        if letter.name not in base:
            continue
        for source in _edges(letter):
            point = {name: repr(value) for name, value in base.items()} | {letter.name: source}
            yield Query(entry.id, tuple(point.items()), (letter.name,))


def _edges(letter):
    """Of an interval the ends and what is just inside; of lengths also random ones."""
    domain = letter.domain
    if isinstance(domain, Lengths):
        return ("1", "10**12", "'uniform(1,3)'", "{1: 0.5, 3: 0.5}")
    if isinstance(domain, Integers):
        return (str(domain.low), "10**18" if domain.high is None else str(domain.high))
    if isinstance(domain, Interval):
        low, high = float(domain.low), float(domain.high)
        return (*_at(low, 1), *_at(high, -1))
    return special(letter)[:2] if domain.is_option else ends(domain)


def _at(end, inward):
    if math.isinf(end):
        sign = "-" if end < 0 else ""
        return (f"{sign}inf", f"{sign}1e300", f"{sign}1e6")
    return (repr(end), repr(end + inward * (1e-300 if end == 0 else 1e-12)))


@pytest.fixture(scope="module")
def worker():
    worker = Worker(seconds=2.0)
    yield worker
    worker.close()


@pytest.mark.parametrize(
    "entry",
    [pytest.param(e, marks=pytest.mark.campaign if e.costly or e.id in LONG else ()) for e in te.entries()],
    ids=str,
)
def test_every_letter_at_both_ends(entry, worker):
    reports = [worker.judge(query) for query in edge_queries(entry)]
    failed = [f"{report.call}\n    {cause}: {detail[:300]}" for report in reports for cause, detail in report.failures]
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)


# ---- values ----


def _agrees(prediction, expected, doubt, output=None):
    """Within the error stated (of the main output; 1e-12 of another one) and what the reference leaves open."""
    value = prediction.value if output is None else prediction.outputs[output]
    stated = prediction.error if output is None else 1e-12 * (1 + abs(value))
    distance = abs(value - float(expected))
    if not distance <= stated + doubt:
        point = ", ".join(f"{name}={given}" for name, given in prediction.point.items())
        pytest.fail(
            f"{prediction.entry.id} {output or ''} {point}: {value!r} +- {stated:.1e}, "
            f"reference {float(expected)!r} +- {doubt:.1e}, off by {distance:.1e}",
            pytrace=False,
        )


@pytest.mark.parametrize("g", [0, 1e-300, 1e-8, 0.07, 1, 30, 1e3])
@pytest.mark.parametrize("t", [0, 1e-300, -1e-8, 0.3, -2.5, 5, 20])
def test_gaussian_means_of_erf(t, g):
    """Against a trapezoidal sum over the normal variable, spectrally accurate."""
    expected = reference_gaussian.erf_means(t, g)
    for name, key in (("erf-mean", "mean"), ("erf-square", "square"), ("erf-miss", "miss"), ("erf-moments", "first")):
        doubt = expected[key].error + (2e-15 if key in ("mean", "first") else 0.0)
        _agrees(te.predict(f"gaussian.{name}", t=t, g=g), expected[key].value, doubt)
    moments = te.predict("gaussian.erf-moments", t=t, g=g)
    for key in ("second", "third"):
        _agrees(moments, expected[key].value, expected[key].error + 4e-15, key)


PRODUCTS = {
    "oracle": (1, 1, 0, 0, 0),
    "mirrored": (-1, -1, 0, 0, 0),
    "swapped": (0, 0, 1, 1, 0),
    "generic": (0.3, 0.5, -0.2, 0.1, 0.4),
    "collinear": (0.6, 0, 0.6, 0, 1),
    "nothing": (0, 0, 0, 0, 0),
}


@pytest.mark.parametrize("lam", [1e-6, 0.05, 0.6, 50, 400])
@pytest.mark.parametrize(("gamma", "d", "L"), [(0.7, 40, 5), (1e-3, 2, 1), (30, 1000, 30), (1, 10**6, 2)])
@pytest.mark.parametrize("products", PRODUCTS)
def test_risk_of_the_erf_layer(products, gamma, d, L, lam):
    """Against one sum over X.k per mean of a token, from the definition of the layer."""
    order = dict(zip(("kappa", "nu", "theta", "eta", "rho"), PRODUCTS[products], strict=True))
    model = {"lam": lam, "gamma": gamma, "d": d, "L": L}
    expected = reference_gaussian.risk(**order, **model, eps=0.1)
    size = 1 + gamma**2 * (1 + d) + L**2
    _agrees(te.predict("marion2025.risk", **order, **model, eps=0.1), expected.value, expected.error + 1e-15 * size)
    if products == "oracle":
        prediction = te.predict("marion2025.oracle-risk", **model, eps=0.1)
        _agrees(prediction, expected.value, expected.error + 1e-15 * size)
    if not any(order[name] for name in ("theta", "eta", "rho")):
        prediction = te.predict("marion2025.manifold-risk", kappa=order["kappa"], nu=order["nu"], **model, eps=0.1)
        _agrees(prediction, expected.value, expected.error + 1e-15 * size)


@pytest.mark.parametrize("eps", [0, 0.3])
@pytest.mark.parametrize("L", [1, 2, 30])
@pytest.mark.parametrize("gamma", [1e-3, 0.5, 1, 20])
def test_best_linear_predictor(gamma, L, eps):
    """Against the normal equations of all tokens, solved as they stand."""
    expected = reference_gaussian.best_linear(gamma, L, eps)
    # the reference solves equations whose entries are of order one: of an exact zero its rounding is left
    doubt = 1e-13 * (eps**2 + gamma**2) + 4e-16
    _agrees(te.predict("marion2025.linear-risk", gamma=gamma, L=L, eps=eps), expected, doubt)


def _settled(function, *arguments):
    """A sum over a spectral law, and its distance from a coarser one."""
    fine, coarse = function(*arguments, count=8000), function(*arguments, count=6000)
    # the sums of thousands of terms are rounded too: 4e-14 off the closed form was seen
    return fine, 2 * abs(fine - coarse) + 1e-13


@pytest.mark.parametrize("snr", [0, 1e-3, 1, 100])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1, 1e3])
@pytest.mark.parametrize("c", [0.02, 0.5, 1, 1.01, 40])
def test_ridge_error(c, gamma, snr):
    """Against a rank-two update of the resolvent of noise, summed over the Marchenko-Pastur law."""
    expected, doubt = _settled(reference_ridge.ridge_error, c, gamma, snr)
    _agrees(te.predict("liao2026.ridge-error", c=c, gamma=gamma, snr=snr), expected, doubt)


@pytest.mark.parametrize(("a1", "rest"), [(0.6, 0.03), (1, 0), (0, 0.8), (-0.5, 2.75), (0.01, 4)])
@pytest.mark.parametrize(("c", "gamma"), [(0.02, 1), (0.25, 0.05), (1, 0.1), (4, 0.02), (40, 10), (1, 1000)])
def test_error_on_noise(c, gamma, a1, rest):
    """Against damped iteration with a sum over the law in each step, differentiated by a complex step."""
    second = sympy.Rational(str(a1)) ** 2 + sympy.Rational(str(rest))
    expected, doubt = _settled(reference_ridge.null_error, c, gamma, a1, float(second), 0.0)
    point = {"c": c, "gamma": gamma, "second_moment": second}
    _agrees(te.predict("liao2026.null-error", a1=a1, **point), expected, doubt)
    _agrees(te.predict("liao2026.interpolation-error", a1=a1, **point), expected, doubt)
    if a1 == 0:
        _agrees(te.predict("liao2026.zero-a1-error", **point), expected, doubt)


@pytest.mark.parametrize("diagonal", [-1, 0.2, 3])
@pytest.mark.parametrize("c", [0.3, 1, 5])
def test_error_on_noise_with_a_diagonal(c, diagonal):
    expected, doubt = _settled(reference_ridge.null_error, c, 0.7, 0.5, 0.8, diagonal)
    _agrees(
        te.predict("liao2026.null-error", c=c, gamma=0.7, a1=0.5, second_moment=0.8, diagonal=diagonal), expected, doubt
    )


t = sympy.Symbol("t")
FUNCTIONS = {
    "tanh of slope 50": (sympy.tanh(50 * t), lambda x: mp.tanh(50 * x), (-0.5, -0.1, -0.02, 0.02, 0.1, 0.5)),
    "erf of slope 50": (sympy.erf(50 * t), lambda x: mp.erf(50 * x), (-0.2, -0.04, 0.04, 0.2)),
    "logistic of slope 50": (1 / (1 + sympy.exp(-50 * t)), lambda x: 1 / (1 + mp.exp(-50 * x)), (-0.5, -0.1, 0.1, 0.5)),
    "flat tanh": (sympy.tanh(t / 1000), lambda x: mp.tanh(x / 1000), ()),
    "shifted tanh": (sympy.tanh(20 * (t - 3)), lambda x: mp.tanh(20 * (x - 3)), (2.5, 2.9, 3, 3.1, 3.5)),
    "sign": ("sign", mp.sign, (0,)),
    "relu": ("relu", lambda x: max(x, 0), (0,)),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_hermite_moments_of_steep_functions(case):
    """Against mpmath's quadrature between the places where the function bends."""
    given, function, breaks = FUNCTIONS[case]
    expected = reference_ridge.hermite_moments(function, breaks)
    prediction = te.predict("liao2026.hermite", nonlinearity=given)
    _agrees(prediction, expected["mean"], 1e-15)
    for name in ("a1", "second_moment", "a2"):
        _agrees(prediction, expected[name], 1e-15, name)


@pytest.mark.parametrize(("a1", "second_moment"), [(0.5, 0.8), (-0.924, 2.13), (0, 1), (1, 1)])
@pytest.mark.parametrize("c", [0.01, 0.5, 1, 78.44, 100])
def test_limits_on_noise(c, a1, second_moment):
    """The slope at large gamma is a moment of the law; the wide limit a mean over the semicircle."""
    prediction = te.predict("liao2026.limits", c=c, a1=a1, second_moment=second_moment, gamma=1.5)
    _agrees(prediction, reference_ridge.large_gamma_slope(c, a1, second_moment), 1e-13 * (1 + 1 / c))
    _agrees(prediction, reference_ridge.wide_error(1.5, second_moment), 1e-13, "wide")


@pytest.mark.parametrize("activation", ["softmax", "linear"])
@pytest.mark.parametrize(
    ("L", "alpha", "delta", "r_v"), [(2, 1e-3, 0, 1), (3, 2, 0.3, 1e-3), (1000, 100, 1, 1e3), (5, 1, 0, 1e-6)]
)
def test_ridge_limit(L, alpha, delta, r_v, activation):
    """Against the equation for V by bracketing and that for q by iteration."""
    expected = reference_ridge.ridge_of_summed_tokens(L, alpha, delta, r_v, activation)
    point = {"L": L, "alpha": alpha, "delta": delta, "r_v": r_v, "activation": activation}
    prediction = te.predict("duranthon2026.ridge-limit", **point)
    _agrees(prediction, expected["risk"], 1e-11 * expected["risk"])
