"""The multiple of the identity in a file of weights, against direct simulation of the regression in NumPy."""

import math

import mpmath
import numpy as np
import pytest
import sympy
from scipy import integrate

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, Infeasible, OutOfDomain, ValidityWarning
from theorem_engine.registry.liao2026.figures import _given
from theorem_engine.registry.liao2026.readers import read_weights, split_rank_one

ID = "liao2026.interpolation-error"


def file_of(path, product, **more):
    np.savez(path / "layer.npz", W_K=np.eye(len(product)), W_Q=product, **more)
    return path / "layer.npz"


def simulated(f, product, n, gamma, mu=None, runs=12, seed=0):
    """|y - K^T X^T w|^2/n as it is defined, diagonal zeroed, f centred by quadrature: mean and standard error."""
    p, rng = len(product), np.random.default_rng(seed)
    scale = np.trace(product) / p
    mean = integrate.quad(lambda t: f(scale * t) * np.exp(-t * t / 2) / math.sqrt(2 * math.pi), -12, 12, points=[0])[0]
    found = []
    for _ in range(runs):
        y = rng.permutation(np.repeat([1.0, -1.0], [n // 2, n - n // 2]))
        x = rng.standard_normal((p, n)) + (0 if mu is None else np.outer(mu, y))
        kernel = (f(x.T @ product @ x / math.sqrt(p)) - mean) / math.sqrt(p)
        np.fill_diagonal(kernel, 0)
        features = x @ kernel
        left = gamma * np.linalg.solve(features.T @ features / n + gamma * np.eye(n), y)
        found.append(left @ left / n)
    return np.mean(found), np.std(found, ddof=1) / math.sqrt(runs)


@pytest.mark.parametrize(
    ("s", "value"), [("0.5", 0.65007), ("1", 0.50843), ("2", 0.41757), ("4", 0.37460), ("-2", 0.41757), ("-1", 0.50843)]
)
def test_a_multiple_of_the_identity_acts_as_f_of_that_multiple(s, value, tmp_path):
    """By hand: moments of tanh(s t) by SciPy's quadrature, given as numbers."""
    path = file_of(tmp_path, float(s) * np.eye(512))
    found = te.predict(ID, p=512, n=256, gamma="0.3", nonlinearity="tanh", weights_file=path).value
    assert found == pytest.approx(value, abs=6e-6)

    def mean(body):
        return integrate.quad(lambda t: body(t) * np.exp(-t * t / 2) / math.sqrt(2 * math.pi), -12, 12, epsabs=1e-13)[0]

    a1, second = mean(lambda t: t * np.tanh(float(s) * t)), mean(lambda t: np.tanh(float(s) * t) ** 2)
    assert found == pytest.approx(
        te.predict(ID, p=512, n=256, gamma="0.3", a1=a1, second_moment=second).value, abs=1e-9
    )


FUNCTIONS = {
    "tanh": (np.tanh, {}),
    "clip": (lambda t: np.clip(t, -1.5, 1.5), {"level": "1.5"}),
    "sin": (np.sin, {}),
    "cos": (np.cos, {}),
    "relu": (lambda t: np.maximum(t, 0), {}),
    "sign": (np.sign, {}),
    "exp-clip": (lambda t: np.minimum(np.exp(t), 3), {"level": 3}),
    "cubic-clip": (lambda t: np.clip(0.6 * t + 0.8 * (t**3 - 3 * t) / math.sqrt(6), -2, 2), {"level": 2, "r": "0.6"}),
}


@pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("s", [0.6, -1.7])
def test_every_nonlinearity_behind_a_multiple_agrees_with_simulations(name, s, tmp_path):
    """Direct simulation, p = 240, n = 120, noise: 16 points at 5 standard errors and 1 % of finite size."""
    f, letters = FUNCTIONS[name]
    product = s * np.eye(240)
    mean, spread = simulated(f, product, 120, 0.3)
    found = te.predict(
        ID, p=240, n=120, gamma="0.3", nonlinearity=name, **letters, weights_file=file_of(tmp_path, product)
    )
    assert abs(found.value - mean) < 5 * spread + 0.01 * mean


@pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")
@pytest.mark.parametrize("s", [0.7, -1.3])
def test_the_rank_one_part_enters_in_units_of_the_multiple(s, tmp_path):
    """Direct simulation with signal and weights along it; with k in place of k/s it would be off by 5 % and more."""
    p = 300
    unit = np.cos((np.arange(p) + 0.5) * np.pi / p)
    unit /= np.linalg.norm(unit)
    product = s * np.eye(p) + 0.8 * np.outer(unit, unit)
    mean, spread = simulated(np.tanh, product, 300, 0.5, mu=unit, runs=40)
    path = file_of(tmp_path, product, mu=unit)
    found = te.predict(ID, p=p, n=300, gamma="0.5", nonlinearity="tanh", snr=1, weights_file=path).value
    assert abs(found - mean) < 4 * spread + 0.01 * mean
    plain = te.predict(ID, c=1, gamma="0.5", nonlinearity=sympy.tanh(sympy.Rational(str(s)) * sympy.Symbol("t")), snr=1)
    assert abs(plain.value - mean) > 6 * spread


@pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")
def test_stretching_f_and_the_weights_against_each_other_changes_nothing(tmp_path):
    """f(t/a) with a times the weights is the same model; a function of the user's own, too."""
    t = sympy.Symbol("t")
    p = 200
    unit = np.ones(p) / math.sqrt(p)
    product = np.eye(p) + 0.5 * np.outer(unit, unit)
    values = [
        te.predict(
            ID, c=2, gamma="0.4", snr=1, nonlinearity=f, weights_file=file_of(tmp_path, a * product, mu=unit)
        ).value
        for f, a in ((sympy.atan(t), 1.0), (sympy.atan(t / 2), 2.0), (sympy.atan(-4 * t), -0.25))
    ]
    assert values[1:] == pytest.approx([values[0]] * 2, rel=1e-9)


def test_a_file_belongs_to_its_own_dimension(tmp_path):
    path = file_of(tmp_path, np.eye(512))
    with pytest.raises(
        Infeasible, match=rf"{ID}: p=2000: p is the dimension of the weights in the file \(Eq\(p, 512\)\)"
    ):
        te.predict(ID, p=2000, n=256, gamma=1, nonlinearity="tanh", weights_file=path)
    assert te.predict(ID, p=512, n=256, gamma=1, nonlinearity="tanh", weights_file=path).value < 1


def test_moments_alone_do_not_stretch(tmp_path):
    moments = {"a1": "0.5", "second_moment": 1}
    with pytest.raises(OutOfDomain, match=rf"{ID}: the weights are s = 2 times .* give the nonlinearity"):
        te.predict(ID, c=1, gamma=1, **moments, weights_file=file_of(tmp_path, 2 * np.eye(64)))
    plain = te.predict(ID, c=1, gamma=1, **moments)
    turned = te.predict(ID, c=1, gamma=1, **moments, weights_file=file_of(tmp_path, -np.eye(64)))
    assert turned.value == pytest.approx(plain.value, rel=0, abs=plain.error + turned.error)
    assert turned.point.canonical["a1"] == -0.5


def test_a_multiple_beyond_what_is_served_is_refused_in_words(tmp_path):
    with pytest.raises(OutOfDomain, match=r"multiples from 1/10000 to 10000"):
        te.predict(ID, c=1, gamma=1, nonlinearity="tanh", weights_file=file_of(tmp_path, 1e6 * np.eye(400)))


def test_a_file_is_warned_about_like_other_weights(tmp_path):
    unit = np.ones(400) / 20
    path = file_of(tmp_path, 2 * (np.eye(400) + 3 * np.outer(unit, unit)), mu=unit)
    # s^2 (1 + t^2)^2 (1 + |mu|^2)^2/p
    with pytest.warns(ValidityWarning, match=r"eps2 = 0\.64, "):
        te.predict(ID, p=400, n=400, gamma=1, nonlinearity="tanh", snr=1, weights_file=path)


@pytest.mark.parametrize("kind", ["twice the identity", "no identity at all"])
def test_the_figure_with_a_file_uses_the_file_as_it_is(kind, tmp_path):
    half = np.random.default_rng(0).standard_normal((64, 64)) / 8
    product = 2 * np.eye(64) if kind == "twice the identity" else half - half.T
    assert np.array_equal(_given(file_of(tmp_path, product))["product"], product)


def test_many_digits_and_proofs_of_a_file_in_double_precision_are_refused(tmp_path):
    """2 (I + w w^T), w = (.6, .7, 0, ...): sin at 30 digits by hand is .370706724595775072291..., not the file's."""
    w = np.zeros(128)
    w[:2] = 0.6, 0.7
    path = file_of(tmp_path, 2 * (np.eye(128) + np.outer(w, w)), mu=np.eye(128)[0])
    query = {"c": "0.5", "gamma": "0.1", "snr": 1, "nonlinearity": "sin", "weights_file": path}
    for asked in ({"digits": 30}, {"certified": True}, {"digits": 12, "certified": True}):
        refused = pytest.raises(BadRequest, match="weights_file is read in double precision")
        with pytest.warns(ValidityWarning, match="eps2"), refused:
            te.predict(ID, **query, **asked)
    with pytest.warns(ValidityWarning, match="eps2"):
        found = te.predict(ID, **query)
    assert abs(found.value - 0.37070672459577507229) <= found.error < 1e-12


@pytest.mark.parametrize("size", [3, 4, 8, 40])
def test_identity_and_rank_one_are_found_to_rounding(size):
    """The numbers of s (I + k q^T) by mpmath, for few dimensions too, where the trace is shared by both parts."""
    rng = np.random.default_rng(size)
    for s, strong in ((1.0, 1.0), (-0.5, 5.0), (2.0, 0.1), (1 / 3, 20.0)):
        key, query, mu = rng.standard_normal((3, size)) * math.sqrt(strong / size)
        found = split_rank_one("", s * (np.eye(size) + np.outer(key, query)), mu)
        with mpmath.workdps(30):
            a, b, m = (mpmath.matrix(v.tolist()) for v in (key, query, mu))
            strength, length = mpmath.norm(a) * mpmath.norm(b), mpmath.norm(m)
            along = (a.T * m)[0] * (b.T * m)[0] / length**2
        assert found.scale == pytest.approx(s, rel=1e-14)
        assert found.strength == pytest.approx(float(strength), abs=1e-14 * (1 + float(strength)))
        assert found.key_query == pytest.approx(float((a.T * b)[0]), abs=1e-14 * (1 + float(strength)))
        assert found.key_along * found.query_along == pytest.approx(float(along), abs=1e-14 * (1 + float(strength)))


def test_weights_whose_product_cancels_lose_no_digits(tmp_path):
    """W_K of condition 1e8, W_Q nearly its inverse: the exact product of the file's numbers by mpmath."""
    rng = np.random.default_rng(6)
    left, right = (np.linalg.qr(rng.standard_normal((12, 12)))[0] for _ in range(2))
    key = 100 * left @ np.diag(np.logspace(0, 8, 12)) @ right.T
    query = np.linalg.solve(key.T, np.eye(12) / 3)
    np.savez(tmp_path / "layer.npz", W_K=key, W_Q=query)
    product, _ = read_weights(str(tmp_path / "layer.npz"))
    with mpmath.workdps(60):
        exact = mpmath.matrix(key.tolist()).T * mpmath.matrix(query.tolist())
        worst = max(abs(exact[i, j] - product[i, j]) for i in range(12) for j in range(12))
    assert worst < 1e-16
    # in double precision alone it is off by this much
    assert np.abs(key.T @ query - product).max() > 1e-12
