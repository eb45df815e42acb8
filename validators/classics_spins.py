"""Spins in motion: posterior samples of a hidden sign vector, and the dynamics of an associative memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator

from .classics_spectra import columns
from .simulator import simulator

Point = Mapping[str, Any]
SIZE = 48
#: Sweeps before a posterior sample is read, sweeps it is averaged over, and systems that make up one sample.
BURN, READ, TOGETHER = 40, 40, 20


@simulator(size=SIZE, orders=(1.0, (1.0, 2.0)), cost=2.0, covers=("q", "mmse"))
def posterior_signs(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap of the hidden signs with posterior samples, by heat-bath dynamics that starts at them.

    The hidden signs are a posterior sample themselves, so that the dynamics is stationary from the beginning.
    """
    snr, n = float(point["snr"]), int(point.get("size", SIZE))
    found: list[dict[str, Any]] = []
    systems = TOGETHER
    while len(found) < count:
        # by symmetry the hidden signs may all be one
        noise = rng.standard_normal((systems, n, n))
        fields = np.triu(np.sqrt(snr / n) + noise, 1)
        couplings = np.sqrt(snr / n) * (fields + np.swapaxes(fields, 1, 2))
        spins = np.ones((systems, n))
        sums, squares = np.zeros(systems), np.zeros(systems)
        for sweep in range(BURN + READ):
            chances = rng.random((n, systems))
            for i in range(n):
                field = np.einsum("sj,sj->s", couplings[:, i], spins)
                spins[:, i] = np.where(chances[i] < 1 / (1 + np.exp(-2 * field)), 1.0, -1.0)
            if sweep >= BURN:
                overlap = spins.mean(axis=1)
                sums += np.abs(overlap)
                squares += overlap**2
        found.append({"q": np.mean(sums) / READ, "mmse": 1 - np.mean(squares) / READ})
    return columns(found)


NEURONS = 500


@simulator(size=NEURONS, orders=(1.0,), cost=3.0, covers=("m", "energy"))
def retrieval(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap with its pattern of the state that zero-temperature dynamics reaches from there, and its energy."""
    neurons = int(point.get("size", NEURONS))
    patterns = max(1, round(float(point["alpha"]) * neurons))

    def one() -> dict[str, Any]:
        signs = rng.choice([-1.0, 1.0], (patterns, neurons))
        couplings = signs.T @ signs / neurons
        np.fill_diagonal(couplings, 0)
        state = signs[0].copy()
        field = couplings @ state
        while (unstable := np.flatnonzero(field * state < 0)).size:
            i = rng.choice(unstable)
            state[i] = -state[i]
            field += 2 * state[i] * couplings[:, i]
        return {"m": state @ signs[0] / neurons, "energy": -(state @ field) / (2 * neurons)}

    return columns([one() for _ in range(count)])
