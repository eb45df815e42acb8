"""Points at which the tests of liao2026 evaluate its entries."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

import theorem_engine as te

GRAM = ("snr", "key_norm2", "query_norm2", "mu_key", "mu_query", "key_query")


def error(**point):
    return te.predict("liao2026.interpolation-error", **point).value


def gram(mu, key, query):
    mu, key, query = (np.asarray(v, dtype=float) for v in (mu, key, query))
    pairs = ((mu, mu), (key, key), (query, query), (mu, key), (mu, query), (key, query))
    return {name: float(a @ b) for name, (a, b) in zip(GRAM, pairs, strict=True)}


ratios = st.floats(-3, 3).map(lambda x: float(f"{np.exp(x):.5g}"))
penalties = st.floats(-7, 6).map(lambda x: float(f"{np.exp(x):.5g}"))
slopes = st.floats(0.05, 1.5).map(lambda x: float(f"{x:.5g}"))
rests = st.integers(0, 3000).map(lambda k: k / 1000)
vectors = st.lists(st.integers(-150, 150).map(lambda k: k / 100), min_size=3, max_size=3)


def moments(a1, rest):
    return {"a1": a1, "second_moment": Fraction(str(a1)) ** 2 + Fraction(str(rest))}
