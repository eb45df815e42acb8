"""Edges of single-location regression: steep weights, weak and strong signals, random lengths, against plain sums.

The reference sums over the tokens themselves (`reference_attention`); it shares no code with the engine. A prediction
must lie within its own stated error, and the reference's, of the reference.
"""

import math

import numpy as np
import pytest
import sympy
from scipy import special

import theorem_engine as te
from tests.registry import duranthon2026_steep
from tests.registry import reference_attention as reference
from tests.thinned import every, thinned

t = sympy.Symbol("t")
TASKS = ("spiked", "max")
#: Lengths as a query writes them and as the reference takes them.
LENGTHS = {
    "1": (1, {1: 1.0}),
    "2": (2, {2: 1.0}),
    "3": (3, {3: 1.0}),
    "uniform(1,3)": ("uniform(1,3)", {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}),
    "half 1, half 3": ({1: 0.5, 3: 0.5}, {1: 0.5, 3: 0.5}),
}
SIGNALS = (1e-3, 0.1, 1.0, 10.0, 100.0)


def _predict(name, lengths, **point):
    return te.predict(f"duranthon2026.{name}", L=LENGTHS[lengths][0], **point)


def _agrees(prediction, expected, error=0.0):
    """Within what the prediction states and what the reference leaves open."""
    value, doubt = (expected.value, expected.error) if isinstance(expected, reference.Value) else (expected, error)
    distance = abs(prediction.value - value)
    if not distance <= prediction.error + doubt:
        point = ", ".join(f"{name}={given}" for name, given in prediction.point.items())
        pytest.fail(
            f"{prediction.entry.id} {point}: {prediction.value!r} +- {prediction.error:.1e}, "
            f"reference {value!r} +- {doubt:.1e}, off by {distance:.1e}",
            pytrace=False,
        )


def _combined(first, second, m_vv):
    """1 - 2 m_vv S + m_vv^2 Q with the errors of S and Q."""
    value = 1 - 2 * m_vv * first.value + m_vv**2 * second.value
    return reference.Value(value, 2 * abs(m_vv) * first.error + m_vv**2 * second.error + 1e-15)


@pytest.mark.parametrize("nu", [0, *SIGNALS, math.inf])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("task", TASKS)
def test_bayes_risk(task, lengths, nu):
    if task == "spiked" and math.isinf(nu):
        pytest.skip("no statement")
    if task == "max" and nu == 100 and lengths != "2":
        nu = 20.0  # three tokens at nu = 100 take the reference a minute
    expected = reference.bayes(task, nu, LENGTHS[lengths][1])
    _agrees(_predict("bayes-risk", lengths, task=task, nu=nu), expected)
    if task == "spiked" and nu > 0:
        _agrees(_predict("softmax-optimality", lengths, task=task, nu=nu), expected)


STEEP = {
    "erf, slope 50": ({"activation": "erf", "shift": 0.2, "m_kk": 50}, reference.erf_weight(0.2), 50.0),
    "erf, slope -50": ({"activation": "erf", "shift": -0.5, "m_kk": -50}, reference.erf_weight(-0.5), -50.0),
    "erf, far shift": ({"activation": "erf", "shift": -20, "m_kk": 8}, reference.erf_weight(-20), 8.0),
    "erf, flat": ({"activation": "erf", "shift": 1, "m_kk": 0.001}, reference.erf_weight(1), 0.001),
    "sigmoid, slope 50": ({"activation": "sigmoid", "m_kk": 50}, reference.SIGMOID, 50.0),
    "sigmoid, slope 10": ({"activation": "sigmoid", "m_kk": 10}, reference.SIGMOID, 10.0),
    "own tanh, slope 50": (
        {"activation": te.ElementWise(1 + sympy.tanh(50 * t)), "m_kk": 1}, reference.steep_tanh(50), 1.0),
    "own erf, slope 50": (
        {"activation": te.ElementWise(1 + sympy.erf(50 * t)), "m_kk": 1}, reference.erf_weight(0, 50), 1.0),
    "falling": ({"activation": te.ElementWise(1 - t), "m_kk": 1.5}, reference.Weight(lambda x: 1 - x), 1.5),
    "linear, slope 50": ({"activation": "linear", "m_kk": 50}, reference.LINEAR, 50.0),
}  # fmt: skip


SETTINGS = [*every(TASKS, (0.0, 1e-3, 0.1, 1.0, 10.0)), ("spiked", 100.0), ("max", math.inf)]


@pytest.mark.parametrize(
    ("task", "nu", "lengths", "case"),
    thinned([(*s, *c) for s in SETTINGS for c in every(("1", "2", "3", "uniform(1,3)"), STEEP)], 200),
)
def test_risk_of_steep_element_wise_weights(task, case, lengths, nu):
    point, weight, m = STEEP[case]
    first, second = reference.element_wise(task, weight, m, nu, LENGTHS[lengths][1])
    _agrees(_predict("manifold-risk", lengths, task=task, nu=nu, m_vv=0.7, **point), _combined(first, second, 0.7))


@pytest.mark.parametrize("case", ["erf, slope 50", "sigmoid, slope 10", "falling"])
@pytest.mark.parametrize("task", TASKS)
def test_risk_of_steep_weights_off_the_direction(task, case):
    """A part of k beyond k*: q_kk above m_kk^2."""
    point, weight, m = STEEP[case]
    first, second = reference.element_wise(task, weight, m, 0.4, {2: 1.0}, rest=0.3)
    q_kk = sympy.Rational(str(point["m_kk"])) ** 2 + sympy.Rational(3, 10)
    prediction = _predict("manifold-risk", "2", task=task, nu=0.4, m_vv=0.7, q_kk=q_kk, **point)
    _agrees(prediction, _combined(first, second, 0.7))


@pytest.mark.parametrize("nu", [1e-3, 0.374, 1.0, 5.0])
@pytest.mark.parametrize("case", ["erf, slope 50", "sigmoid, slope 50", "own tanh, slope 50"])
@pytest.mark.parametrize("task", TASKS)
def test_excess_of_steep_weights(task, case, nu):
    point, weight, m = STEEP[case]
    risk = _combined(*reference.element_wise(task, weight, m, nu, {2: 1.0}), 0.5)
    bayes = reference.bayes(task, nu, {2: 1.0})
    expected = reference.Value(risk.value - bayes.value, risk.error + bayes.error)
    _agrees(_predict("excess-identity", "2", task=task, nu=nu, m_vv=0.5, **point), expected)


#: Lengths, slopes and signals; three tokens are summed over only where the grid stays small.
TOKENS = [
    *(
        (lengths, m, nu)
        for lengths, m in (("1", 50.0), ("1", -2.0), ("2", 0.5), ("2", 12.0))
        for nu in (1e-3, 0.1, 5.0)
    ),
    *((lengths, m, nu) for lengths, m in (("3", 0.8), ("uniform(1,3)", 1.0)) for nu in (1e-3, 1.0)),
]


@pytest.mark.parametrize(
    ("task", "kernel", "lengths", "m", "nu"),
    thinned([(*c, *t) for c in every(TASKS, reference.KERNELS) for t in TOKENS], 60),
)
def test_risk_of_normalised_weights(task, kernel, lengths, m, nu):
    if m < 0 and kernel == "relu":
        pytest.skip("a falling kernel is another statement")
    first, second = reference.normalised(task, reference.KERNELS[kernel], m, nu, LENGTHS[lengths][1])
    prediction = _predict("manifold-risk", lengths, task=task, nu=nu, m_kk=m, m_vv=0.9, activation=kernel)
    _agrees(prediction, _combined(first, second, 0.9))


def _minimum(task, weight, nu, lengths, low=1e-3, high=1e3):
    scan = reference.slopes(low, high, 31 if task == "spiked" else 15) / weight.slope
    return reference.best_risk(lambda m: reference.element_wise(task, weight, m, nu, lengths), scan)[0]


OWN = {
    "sigmoid": ({"activation": "sigmoid"}, reference.SIGMOID),
    "erf, shift -1": ({"activation": "erf", "shift": -1}, reference.erf_weight(-1)),
    "falling": ({"activation": te.ElementWise(1 - t)}, reference.Weight(lambda x: 1 - x)),
    "tanh of slope 50": ({"activation": te.ElementWise(1 + sympy.tanh(50 * t))}, reference.steep_tanh(50)),
    "erf of slope 50": ({"activation": te.ElementWise(1 + sympy.erf(50 * t))}, reference.erf_weight(0, 50)),
}


#: Signals and lengths of searches.
SEARCHED = [
    (0.01, "3"),
    (0.1, "2"),
    (1.0, "uniform(1,3)"),
    (10.0, "3"),
    (100.0, "2"),
    (5000.0, "3"),
    (5000.0, "uniform(1,3)"),
]


@pytest.mark.parametrize(("case", "nu", "lengths"), thinned([(case, *s) for case in OWN for s in SEARCHED], 16))
def test_minimal_risk_of_element_wise_weights_spiked(case, nu, lengths):
    point, weight = OWN[case]
    expected = _minimum("spiked", weight, nu, LENGTHS[lengths][1], 1e-4, 300)
    _agrees(_predict("minimal-risk", lengths, task="spiked", nu=nu, **point), expected)


@pytest.mark.parametrize(("case", "nu"), thinned(every(OWN, (0.05, 0.5, 3.0, math.inf)), 10))
def test_minimal_risk_of_element_wise_weights_max(case, nu):
    point, weight = OWN[case]
    expected = _minimum("max", weight, nu, {2: 1.0}, 1e-2, 30)
    _agrees(_predict("minimal-risk", "2", task="max", nu=nu, **point), expected)


#: Without a search, three tokens are within reach.
NORMALISED = [
    *every(TASKS, ("softmax-plus-one", "softplus", "tanh", "relu"), ("2",)),
    ("spiked", "relu", "half 1, half 3"),
]


@pytest.mark.parametrize(
    ("task", "kernel", "lengths", "nu"), thinned([(*c, nu) for c in NORMALISED for nu in (0.1, 1.0, 8.0)], 6)
)
def test_minimal_risk_of_normalised_weights(task, kernel, lengths, nu):
    def moments(m):
        return reference.normalised(task, reference.KERNELS[kernel], m, nu, LENGTHS[lengths][1])

    # relu has no scale of its own, so that there is nothing to search
    expected = (
        reference.ratio_risk(*moments(1.0))
        if kernel == "relu"
        else reference.best_risk(moments, reference.slopes(0.02, 20, 17))[0]
    )
    _agrees(_predict("minimal-risk", lengths, task=task, nu=nu, activation=kernel), expected)


@pytest.mark.parametrize(("nu", "lengths"), [(0.3, "2"), (2.0, "uniform(1,3)"), (30.0, "half 1, half 3")])
def test_cost_of_random_lengths(nu, lengths):
    """The minimum at the mixture less the mean of minima at each length, one token included."""
    law = LENGTHS[lengths][1]
    whole = _minimum("spiked", reference.SIGMOID, nu, law, 1e-6, 1e3)
    parts = [(p, _minimum("spiked", reference.SIGMOID, nu, {n: 1.0}, 1e-6, 1e3)) for n, p in law.items()]
    expected = reference.Value(
        whole.value - sum(p * part.value for p, part in parts), whole.error + sum(p * part.error for p, part in parts)
    )
    _agrees(_predict("variable-length", lengths, task="spiked", nu=nu, activation="sigmoid"), expected)


def test_cost_of_random_lengths_to_relu():
    """One token alone has a risk: its weight vanishes where its score is negative."""
    law = {1: 0.5, 3: 0.5}

    def risk(lengths):
        return reference.ratio_risk(*reference.normalised("spiked", reference.KERNELS["relu"], 1.0, 2.0, lengths))

    whole, parts = risk(law), [(p, risk({n: 1.0})) for n, p in law.items()]
    expected = whole.value - sum(p * part.value for p, part in parts)
    doubt = whole.error + sum(p * part.error for p, part in parts)
    _agrees(_predict("variable-length", "half 1, half 3", task="spiked", nu=2, activation="relu"), expected, doubt)


def _softmax(scores):
    top = scores[0]
    for score in scores[1:]:
        top = np.maximum(top, score)
    parts = [np.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


POPULATION = {
    "softmax": ({"activation": "softmax"}, _softmax, 1.0),
    "erf": ({"activation": "erf", "shift": 0.3}, lambda scores: [special.erfc(-0.3 - s) for s in scores], 1.0),
    "linear": ({"activation": "linear"}, lambda scores: [1 + s for s in scores], 1.0),
    "tanh of slope 50": (
        {"activation": te.ElementWise(1 + sympy.tanh(50 * t))},
        lambda scores: [2 * special.expit(100 * s) for s in scores],
        100.0,
    ),
}
#: A generic point, one almost on the manifold, one of tiny and one of large scores.
PLACES = {
    "generic": (0.9, -0.3, 0.25, 0.8, 1.07, 0.8325, -0.065),
    "almost aligned": (0.9, 0.0, 0.0, 0.8, 0.8100000001, 0.64, 0.0),
    "tiny": (1e-4, -1e-4, 0.25, 0.8, 1e-6, 0.9, 1e-4),
    "large": (6.0, -3.0, 0.5, 0.8, 49.0, 2.0, 1.0),
}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("nu", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", POPULATION)
def test_population_risk_spiked(case, place, nu, count):
    point, weights, slope = POPULATION[case]
    order = dict(zip(reference.ORDER, PLACES[place], strict=True))
    if count == 2 and slope * math.sqrt(order["q_kk"]) > 60:
        pytest.skip("two tokens on so fine a grid take too long")
    expected = reference.spiked_population(weights, slope, nu, count, **order)
    _agrees(_predict("population-risk", str(count), task="spiked", nu=nu, **order, **point), expected)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("lengths", ["2", "3", "uniform(1,3)"])
def test_best_element_wise_and_linear_weights_spiked(lengths, nu):
    law = LENGTHS[lengths][1]
    others = sum(n * p for n, p in law.items()) - 1
    # the probability that a token is the hidden one, given its own score alone
    best = reference.Weight(lambda x: special.expit(math.sqrt(nu) * x - nu / 2 - math.log(others)), math.sqrt(nu))
    for name, weight, m in (
        ("element-wise-bound", best, 1.0),
        ("linear-risk", reference.LINEAR, math.sqrt(nu) * others / (others + 1)),
    ):
        expected = reference.ratio_risk(*reference.element_wise("spiked", weight, m, nu, law))
        _agrees(_predict(name, lengths, task="spiked", nu=nu), expected)


#: sqrt(1 + t^2) + t loses t^2 units of its last digit for negative t; its logarithm is asinh, which loses none.
ROOT = te.Normalised(sympy.sqrt(1 + t**2) + t)


@pytest.mark.parametrize("m", [7.0, 72.53, 150.0])
def test_a_kernel_that_cancels_has_the_error_of_its_rounding(m):
    """Without a signal each of two tokens has half of the weight, whatever the kernel; Q from the sum over both."""
    prediction = te.predict("duranthon2026.manifold-risk", task="spiked", nu=0, L=2, m_kk=m, m_vv=0.9, activation=ROOT)
    assert abs(prediction.outputs["S"] - 0.5) <= prediction.errors["S"]
    steep = duranthon2026_steep.normalised(np.arcsinh, m, 0.0, "spiked", sharpness=1.0)
    assert abs(prediction.outputs["Q"] - steep[1]) <= prediction.errors["Q"] + 2e-14


@pytest.mark.parametrize("m", [7.0, 72.53])
def test_a_kernel_that_cancels_beside_the_argmax(m):
    """The larger of two scores: twice the integral over the region where the first one is."""
    prediction = te.predict("duranthon2026.manifold-risk", task="max", nu="inf", L=2, m_kk=m, m_vv=0.9, activation=ROOT)
    total = 0.0
    x, w = duranthon2026_steep.rule([(0.0, 1 / m)])
    for own, mass in zip(x, w, strict=True):
        y, v = duranthon2026_steep.rule([(own, 1 / m), (0.0, 1 / m)], high=own)
        total += 2 * mass * (v @ special.expit(np.arcsinh(m * own) - np.arcsinh(m * y)))
    assert abs(prediction.outputs["S"] - total) <= prediction.errors["S"] + 2e-15
