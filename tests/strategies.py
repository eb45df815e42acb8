"""Hypothesis strategies that draw points from an entry's own domain."""

import numpy as np
from hypothesis import strategies as st

import theorem_engine as te
from theorem_engine.asking.random_point import draw_point


def points_of(entry_id, **fixed):
    """Valid parameters of an entry; ``fixed`` ones are kept."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: draw_point(te.entry(entry_id), np.random.default_rng(seed), fixed))
