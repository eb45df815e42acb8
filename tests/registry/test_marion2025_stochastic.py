"""The stochastic chain and uniform starts, against the law of full vectors."""

import math

import numpy as np
import pytest
from scipy import stats

import theorem_engine as te
from tests.registry.marion2025_points import NAMES
from theorem_engine.base.errors import BadRequest, OutOfDomain
from theorem_engine.registry.marion2025.methods import uniform_inner_products
from theorem_engine.validators.marion2025_descent import stochastic_descent, uniform_start

CHAIN = {"kappa": 0.1, "nu": 0.1, "theta": 0.1, "eta": -0.05, "rho": 0.02, "lam": 0.8, "gamma": 0.7, "d": 20, "L": 4,
         "eps": 0.1, "alpha": 0.02, "batch": 3}  # fmt: skip


def test_the_chain_has_the_law_of_the_vectors():
    """Five Kolmogorov-Smirnov tests of three steps, 8,000 paths each: a false alarm in 1e-4 of seeds each."""
    chain = te.sweep("marion2025.stochastic-pgd", errors=False, steps=3, seed=range(8000), **CHAIN)
    reference = stochastic_descent({**CHAIN, "steps": 3, "schedule": 0.0}, np.random.default_rng(11), 8000)
    for name in NAMES:
        assert stats.ks_2samp(chain[name].values, reference[name]).pvalue > 1e-4


def test_a_path_depends_on_its_seed_alone():
    together = te.sweep("marion2025.stochastic-pgd", errors=False, steps=7, seed=range(5), **CHAIN)
    alone = te.predict("marion2025.stochastic-pgd", steps=7, seed=3, **CHAIN).outputs
    assert [float(together[n][3]) for n in NAMES] == pytest.approx([alone[n] for n in NAMES], abs=1e-14)


def test_the_mean_of_tiny_stochastic_steps_is_the_flow():
    """alpha = 1e-6, one step, 40,000 paths: the drift is minus the gradient, within four standard errors."""
    point = {**CHAIN, "alpha": 1e-6, "batch": 20}
    paths = te.sweep("marion2025.stochastic-pgd", errors=False, steps=1, seed=range(40_000), **point)
    products = {n: CHAIN[n] for n in NAMES}
    model = {k: CHAIN[k] for k in ("lam", "gamma", "d", "L")}
    flow = te.predict("marion2025.gradient-flow", time="0.000001", **products, **model).outputs
    for name in NAMES:
        moves = (paths[name].values - CHAIN[name]) / 1e-6
        error = moves.std() / math.sqrt(moves.size)
        assert abs(moves.mean() - (flow[name] - CHAIN[name]) / 1e-6) < 4 * error + 0.02


def test_uniform_starts_without_vectors_have_the_law_of_uniform_vectors():
    frame = uniform_inner_products(30, 2, 2, np.random.default_rng(5), 6000)
    key, value = frame[:, 0], frame[:, 1]
    quick = {"kappa": key[:, 0], "nu": value[:, 1], "theta": value[:, 0], "eta": key[:, 1],
             "rho": (key * value).sum(-1)}  # fmt: skip
    reference = uniform_start(30, np.random.default_rng(6), 6000)
    for name in NAMES:
        assert stats.ks_2samp(quick[name], reference[name]).pvalue > 1e-4
    with pytest.raises(BadRequest, match="at least 4"):
        uniform_inner_products(3, 2, 2, np.random.default_rng(5), 1)


def test_the_stochastic_chain_needs_six_dimensions():
    with pytest.raises(OutOfDomain, match="integers >= 6"):
        te.predict("marion2025.stochastic-pgd", **{**CHAIN, "d": 5}, steps=1, seed=0)


def test_seeds_that_doubles_do_not_tell_apart_are_refused():
    """2^53 + 1 would have the path of 2^53, and 2^63 - 2 none."""
    start = {"kappa": "0.3", "nu": "0.2", "theta": 0, "eta": 0, "rho": 0}
    point = {**start, "lam": "0.1", "gamma": 1, "d": 30, "L": 3, "alpha": "0.001", "batch": 2, "steps": 3}
    paths = [
        te.predict("marion2025.stochastic-pgd", **point, seed=seed).outputs["kappa"] for seed in (2**53 - 1, 2**53)
    ]
    assert paths[0] != paths[1]
    for seed in (2**53 + 1, 2**63 - 2):
        with pytest.raises(OutOfDomain, match="seed"):
            te.predict("marion2025.stochastic-pgd", **point, seed=seed)
