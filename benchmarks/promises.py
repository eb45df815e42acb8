"""The ratios that the project promises, each against a rival that gives the same numbers."""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import theorem_engine as te
from benchmarks import rivals
from benchmarks.timing import best, best_of_many, row, same, seconds_of, skipped
from theorem_engine.asking.evaluation import compiled
from theorem_engine.asking.point import read_point
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import ValidityWarning
from theorem_engine.language.catalogue import find_entry
from theorem_engine.registry.marion2025.figures import random_starts
from theorem_engine.validators import liao2026
from theorem_engine.validators.marion2025 import PRODUCTS, make_vectors
from theorem_engine.validators.marion2025_descent import gradient_descent, inner_products

RUNS = 30
DESCENT = {"lam": 0.1, "gamma": 0.5**0.5, "L": 10, "alpha": 0.004}
ONLINE = {"lam": 0.5, "gamma": 0.5**0.5, "L": 10, "alpha": 0.001, "batch": 5, "eps": 0.1}


def _pairs(d, columns):
    """Whole vectors with these products, and k*, v*."""
    points = [{**{n: float(columns[n][i]) for n in PRODUCTS}, "d": d} for i in range(len(columns["kappa"]))]
    made = [make_vectors(point) for point in points]
    return np.array([[k, v] for k, v, _, _ in made]), np.array(made[0][2:])


def _swept(entry, columns, **point):
    return te.sweep(entry, along=te.batch("run", **columns), errors=False, **point)


def descent():
    """Projected gradient descent at d = 400, per run and step."""
    columns = random_starts(400, RUNS, 0)
    law = {**DESCENT, "d": 400, "schedule": 0}
    _swept("marion2025.pgd", columns, steps=20_000, **law)
    ours = best(lambda: _swept("marion2025.pgd", columns, steps=20_000, **law), 3) / (RUNS * 20_000)
    point = {**{n: float(x[0]) for n, x in columns.items()}, **law, "steps": 200}
    plain = best(lambda: gradient_descent(point, np.random.default_rng(0), 1), 3) / 200
    row("PGD, 30 runs, d=400, per run and step", "vector PGD in NumPy", plain / ours)
    work = "PGD, 30 runs, d=400, per run and step"
    try:
        from benchmarks.rivals_jax import descent as in_jax
    except ImportError:
        skipped(work, "vector PGD in JAX (jit)", "JAX is not installed: pip install 'theorem-engine[bench]'")
        return
    pairs, stars = _pairs(400, columns)
    expected = _swept("marion2025.pgd", columns, steps=100, **law)
    for at_once, rival, few in (
        (False, "vector PGD in JAX (jit), a step at a time", 2),
        (True, "vector PGD in JAX, all steps of all runs compiled", RUNS),
    ):
        run = in_jax(stars, runs_at_once=at_once, **DESCENT)
        ends = run(pairs[:few], 100)
        found = inner_products(ends[:, 0], ends[:, 1], *stars)
        for name in PRODUCTS:
            gap = float(np.max(np.abs(found[name] - expected[name].values[:few])))
            same(0.0, gap, 1e-9, f"vector PGD in JAX, {name}")
        theirs = best(lambda run=run, few=few: run(pairs[:few], 200), 3) / (few * 200)
        row(
            work,
            rival,
            theirs / ours,
            None if at_once else 2000,
            f"{1e6 * theirs:.3g} over {1e6 * ours:.3g} microseconds",
        )


def online():
    """Stochastic descent at d = 80 on batches of five, per run and step."""
    columns = random_starts(80, RUNS, 0)
    law = {**ONLINE, "d": 80, "schedule": 0}
    seeds = np.arange(RUNS)
    work = "stochastic PGD, 30 runs, d=80, batch 5, per run and step"

    def ours(steps, seeds=seeds, columns=columns):
        return _swept("marion2025.stochastic-pgd", {**columns, "seed": seeds}, steps=steps, **law)

    ours(2000)
    mine = best(lambda: ours(2000), 3) / (RUNS * 2000)
    try:
        from benchmarks.rivals_jax import online as in_jax
    except ImportError:
        skipped(work, "vector SGD in JAX (jit)", "JAX is not installed: pip install 'theorem-engine[bench]'")
        return
    many = 400
    start = {n: np.repeat(x[:1], many) for n, x in columns.items()}
    pairs, stars = _pairs(80, columns)
    expected = ours(50, np.arange(many), start)
    for at_once, rival, few in (
        (False, "vector SGD in JAX (jit), a step at a time", 2),
        (True, "vector SGD in JAX, all steps of all runs compiled", RUNS),
    ):
        run = in_jax(stars, runs_at_once=at_once, **ONLINE)
        if at_once:
            ends = run(_pairs(80, start)[0], 50, 1)
            found = inner_products(ends[:, 0], ends[:, 1], *stars)
            for name in PRODUCTS:
                there = expected[name].values
                # five standard errors of a difference of means: one false alarm in 300,000 for each product
                error = 5 * np.hypot(there.std(), found[name].std()) / np.sqrt(many)
                same(there.mean(), found[name].mean(), error, f"vector SGD in JAX, {name}")
        run(pairs[:few], 200, 0)
        theirs = best(lambda run=run, few=few: run(pairs[:few], 200, 0), 3) / (few * 200)
        row(
            work,
            rival,
            theirs / mine,
            None if at_once else 150,
            f"{1e6 * theirs:.3g} over {1e6 * mine:.3g} microseconds",
        )


def _one_plus_tanh(scores):
    return 1 + np.tanh(scores)


def population():
    """Bayes risk and least risk beside Monte Carlo; nested quadrature."""
    rng = np.random.default_rng(0)
    point = {"task": "spiked", "nu": 5, "L": 1000}
    found = te.predict("duranthon2026.bayes-risk", **point)
    assert found.error <= 1e-12 * found.value
    ours = best_of_many(lambda: te.predict("duranthon2026.bayes-risk", **point), 20)
    sample = rivals.bayes_risk_sampled(5, 1000, 4000, rng)
    same(found.value, sample.mean(), 5 * sample.std() / np.sqrt(4000), "Bayes risk by Monte Carlo")
    needed = (sample.std() / (0.5e-4 * found.value)) ** 2
    theirs = best(lambda: rivals.bayes_risk_sampled(5, 1000, 4000, rng), 3) / 4000 * needed
    row(
        "Bayes risk, L=1,000, nu=5, 12 digits",
        "Monte Carlo to 4 digits",
        theirs / ours,
        2000,
        f"{needed:.2g} sequences",
    )
    pair = te.predict("duranthon2026.bayes-risk", task="spiked", nu=3, L=2)
    same(pair.value, rivals.bayes_risk_by_quad(3, 2), 1e-10, "Bayes risk by nested quadrature")
    ours = best_of_many(lambda: te.predict("duranthon2026.bayes-risk", task="spiked", nu=3, L=2), 20)
    row("Bayes risk, L=2, nu=3", "nested quad", best(lambda: rivals.bayes_risk_by_quad(3, 2), 1) / ours)
    point = {"task": "spiked", "nu": 5, "L": 10, "activation": "tanh"}
    least = te.predict("duranthon2026.minimal-risk", **point)
    ours = best(lambda: te.predict("duranthon2026.minimal-risk", **point), 3)
    count = 20_000
    value, spread, looks = rivals.least_risk_sampled(_one_plus_tanh, 5, 10, count, rng)
    # the least on a sample lies below the least of the mean, by less than its own error
    same(least.value, value, 5 * spread / np.sqrt(count), "least risk by Monte Carlo")
    needed = (spread / (0.5e-3 * least.value)) ** 2
    theirs = best(lambda: rivals.least_risk_sampled(_one_plus_tanh, 5, 10, count, rng), 2) / count * needed
    row("minimal risk of one activation (tanh), L=10", "Monte Carlo + Nelder-Mead to 3 digits", theirs / ours, 300,
        f"{needed:.2g} sequences, {looks} looks at them; {theirs:.2g} over {ours:.2g} s")  # fmt: skip


def interpolation():
    """Self-consistent errors beside simulations, a damped loop, and a loop of predictions."""
    point = {"nonlinearity": "tanh", "c": "1/4", "gamma": 1, "snr": 2, "weights": "aligned"}
    entry = "liao2026.interpolation-error"
    found = te.predict(entry, **point)
    ours = best_of_many(lambda: te.predict(entry, **point), 20)
    model = {"p": 512, "n": 2048, "gamma": 1.0, "nonlinearity": "tanh", "snr": 2.0, "weights": "aligned"}
    rng = np.random.default_rng(0)
    sample = liao2026.attention_error(model, rng, 1)["error"]
    same(found.value, float(np.mean(sample)), 0.05, "interpolation error by simulation")
    theirs = best(lambda: liao2026.attention_error(model, rng, 1), 2)
    row("interpolation error, one point", "simulation at n=2048, p=512", theirs / ours, 1000,
        f"{theirs:.2g} s over {1e3 * ours:.2g} ms")  # fmt: skip
    plain = {"nonlinearity": "tanh", "gamma": 1, "weights": "aligned"}
    axes = {"c": te.grid("0.05", 8, 100), "snr": te.grid(0, 8, 100)}
    swept = te.sweep(entry, **plain, **axes)
    ours = best(lambda: te.sweep(entry, **plain, **axes), 1)
    values = best(lambda: te.sweep(entry, **plain, **axes, errors=False), 1)
    places = [(i, j) for i in range(4, 100, 10) for j in range(4, 100, 10)]
    given = [{"c": float(swept["c"].values[i]), "snr": float(swept["snr"].values[j])} for i, j in places]
    loop = [te.predict(entry, **plain, **at) for at in given]
    for (i, j), one in zip(places, loop, strict=True):
        same(one.value, float(swept["error"].values[i, j]), 1e-9, "a point of a sweep")
    with_errors = best(lambda: [te.predict(entry, **plain, **at).errors for at in given], 1) * 100
    bare = best(lambda: [te.predict(entry, **plain, **at) for at in given], 1) * 100
    row("sweep of 10,000 such points, values only", "loop of `predict`", bare / values, 15)
    row("sweep of 10,000 such points with errors", "loop of `predict` with errors", with_errors / ours, 15)
    noise = {"c": 2, "gamma": "0.5", "a1": "0.6", "second_moment": "0.5"}
    trace = te.predict("liao2026.noise-resolvent", **noise)
    by_hand = (2, 0.5, 0.6, 0.5 - 0.36)
    same(trace["alpha"].value, rivals.noise_trace_by_quad(*by_hand), 1e-8, "the damped loop with quad")
    ours = best_of_many(lambda: te.predict("liao2026.noise-resolvent", **noise), 20)
    row("resolvent of attention on noise", "damped loop with quad over Marchenko-Pastur",
        best(lambda: rivals.noise_trace_by_quad(*by_hand), 2) / ours)  # fmt: skip


#: Iterations that a damped loop takes from a fair start to three digits: 0.6^14 is below 10^-3.
ITERATIONS = 14


def finite_sample():
    """Learning from finitely many samples beside proximal points found one by one."""
    point = {"task": "spiked", "nu": 1, "L": 3, "alpha": 4, "activation": "softmax", "r_k": "0.6", "r_v": "0.8"}
    entry = "duranthon2026.erm-risk"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        found = te.predict(entry, draws=2**14, **point)
        ours = best(lambda: te.predict(entry, draws=2**14, **point), 3)
    m_k, q_k, V_k, m_v, q_v, V_v = (found.outputs[n] for n in ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v"))
    rng, count = np.random.default_rng(0), 2**10
    chi_star, z_star, one, two = rng.standard_normal((4, count, 3))
    chi_star[:, 0] += 1
    y = z_star[:, 0]
    omega, w = m_k * chi_star + np.sqrt(q_k - m_k**2) * one, m_v * z_star + np.sqrt(q_v - m_v**2) * two
    ends = rivals.proximal_by_scipy(omega, w, y, V_k, V_v)
    # stationarity along k* at the solution: r_k m_k is alpha times the mean pull of a sequence
    pulls = 4 / 0.6 * np.sum((ends[:, :3] - omega) / V_k * chi_star, axis=1)
    same(m_k, pulls.mean(), 5 * pulls.std() / np.sqrt(count) + 0.02, "proximal points by SciPy")
    few = 2**7
    each = best(lambda: rivals.proximal_by_scipy(omega[:few], w[:few], y[:few], V_k, V_v), 2) / few
    row("ERM point, 2^14 draws, L=3, softmax", "Python-loop prox on 2^10 draws, scaled",
        each * 2**14 * ITERATIONS / ours, 300, f"{ITERATIONS} iterations of a damped loop")  # fmt: skip


def digits():
    """Fifty digits of a risk."""
    import mpmath

    point = {"kappa": "0.3", "nu": "0.4", "lam": "0.1", "gamma": "0.7", "d": 400, "L": 10}
    found = te.predict("marion2025.manifold-risk", digits=50, **point)
    reference = rivals.risk_by_quad(*point.values(), 50)
    with mpmath.workdps(55):
        gap = abs(mpmath.mpf(found.value) - reference)
        assert gap < mpmath.mpf(10) ** -49, gap
    ours = best_of_many(lambda: te.predict("marion2025.manifold-risk", digits=50, **point), 20)
    theirs = best(lambda: rivals.risk_by_quad(*point.values(), 50), 3)
    row("50 digits of the risk", "mpmath.quad of the definition", theirs / ours, 200)


def start_up():
    """A command in a process of its own, and a query in one that is warm."""
    query = ["predict", "marion2025.oracle-risk", "lam=0.1", "gamma=sqrt(1/2)", "d=400", "L=10"]
    command = [sys.executable, "-m", "theorem_engine.showing.commandline.start", *query]
    with tempfile.TemporaryDirectory() as cache:
        there = {**os.environ, "XDG_CACHE_HOME": cache}
        first = subprocess.run(command, check=True, capture_output=True, env=there).stdout
        assert subprocess.run(command, check=True, capture_output=True, env=there).stdout == first
        sympy = seconds_of(sys.executable, "-c", "import sympy")
        ours = seconds_of(*command, XDG_CACHE_HOME=cache)
    row("cold `theorem-engine predict` of a closed form, second time", '`python -c "import sympy"`', sympy / ours, 1.4)
    entry, point = find_entry("marion2025.oracle-risk"), {"lam": 0.1, "gamma": 0.7, "d": 400, "L": 10}
    read = read_point(entry, point)
    number = get_backend("float64").number
    bare, values = compiled(entry, read.options, "float64"), [number(v) for v in read.values]
    same(te.predict(entry, **point).value, float(bare(*values)[0]), 0.0, "the bare compiled call")
    ours = best_of_many(lambda: te.predict("marion2025.oracle-risk", **point), 2000)
    theirs = best_of_many(lambda: bare(*values), 2000)
    row("warm `predict` of a closed form", "the bare compiled call", theirs / ours, 0.3,
        f"{1e6 * theirs:.1f} over {1e6 * ours:.1f} microseconds")  # fmt: skip


def report():
    """All of them; one that fails is told, and the others go on."""
    for suite in (start_up, digits, population, interpolation, descent, online, finite_sample):
        try:
            suite()
        except AssertionError as error:
            skipped(suite.__name__, "", f"the rival gives other numbers: {error}")


if __name__ == "__main__":
    report()
