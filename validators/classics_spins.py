"""Spins in motion: posterior samples of a hidden sign vector, and the dynamics of an associative memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator

from .classics_controls import Array, Draw, controlled, in_blocks
from .classics_spectra import columns
from .simulator import simulator

Point = Mapping[str, Any]
#: The transition at snr = 1 is felt by systems below a hundred signs: at snr = 2 their overlap is not a series in 1/n.
SIZE = 200
#: Sweeps, sweeps from one state that is read to the next, and sweeps after which two states are taken for independent.
SWEEPS, EVERY, APART = 60, 4, 20
#: Nodes of means over a normal number.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
#: Couplings of a block of systems.
BLOCK = 400_000


@simulator(size=SIZE, orders=(1.0, (1.0, 2.0)), cost=2.0, covers=("q", "mmse"))
def posterior_signs(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap of the hidden signs with posterior samples, by heat-bath dynamics that starts at them.

    The hidden signs are a posterior sample themselves, so that the dynamics is stationary from the beginning: any two
    states that lie far enough apart have the overlap of signs and sample.
    """
    snr = float(point["snr"])

    def draw_at(n: int) -> Draw:
        return in_blocks(lambda rng, count: draw(rng, count, n), max(1, BLOCK // n**2))

    def draw(rng: Generator, count: int, n: int) -> tuple[dict[str, Array], Array]:
        # by symmetry the hidden signs may all be one
        noise = np.triu(rng.standard_normal((count, n, n)), 1)
        noise += np.swapaxes(noise, 1, 2)
        controls = noise_controls(noise, snr)
        couplings = np.ascontiguousarray(np.swapaxes(snr / n + np.sqrt(snr / n) * noise, 0, 1), dtype=np.float32)
        for i in range(n):
            couplings[i, :, i] = 0
        spins = np.ones((count, n), dtype=np.float32)
        read = [spins.copy()]
        for sweep in range(1, SWEEPS + 1):
            # the field that would make either sign as likely as this chance
            chances = rng.random((n, count), dtype=np.float32)
            chances = (np.log(chances + 1e-30) - np.log1p(-chances)) / 2
            for i in range(n):
                spins[:, i] = np.where(np.einsum("sj,sj->s", couplings[i], spins) > chances[i], 1.0, -1.0)
            if sweep % EVERY == 0:
                read.append(spins.copy())
        states = np.stack(read, axis=1)
        first, second = np.triu_indices(len(read), APART // EVERY)
        overlaps = (states @ np.swapaxes(states, 1, 2))[:, first, second] / n
        found = {"q": np.mean(np.abs(overlaps), axis=1), "mmse": 1 - np.mean(overlaps**2, axis=1)}
        return found, controls

    return controlled(draw_at, ("posterior_signs", int(point.get("size", SIZE)), point), rng, count)


def noise_controls(noise: Array, snr: float) -> Array:
    """Statistics of the row sums of symmetric normal matrices without diagonals, less their means.

    What is odd in the matrix has the mean zero.
    """
    n = noise.shape[1]
    rows = noise.sum(axis=2) / np.sqrt(n - 1)
    further = np.einsum("sij,sj->si", noise, rows) / np.sqrt(n - 1)
    field, power = rows.mean(axis=1), (rows**2).mean(axis=1) - 1
    third = (rows * further).mean(axis=1)
    means = NODE_WEIGHTS @ np.tanh(snr + np.sqrt(snr) * NODES) / np.sqrt(2 * np.pi)
    turned = np.tanh(snr + np.sqrt(snr) * rows)
    return np.stack(
        [
            field,
            field**2 - 2 / n,
            field**3,
            field * power,
            power,
            (rows**3).mean(axis=1),
            (rows**4).mean(axis=1) - 3,
            third,
            # of the sums over walks of four steps those remain that go along each edge twice
            (further**2).mean(axis=1) - (2 * n - 1) / (n - 1),
            (rows**2 * further).mean(axis=1) - (n + 1) / (n - 1),
            (noise**2).sum(axis=(1, 2)) / (n * (n - 1)) - 1,
            turned.mean(axis=1) - means,
        ],
        axis=1,
    )


NEURONS = 1000


@simulator(size=NEURONS, orders=(1.0,), cost=2.0, covers=("m", "energy"))
def retrieval(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap with its pattern of the state that zero-temperature dynamics reaches from there, and its energy."""
    neurons = int(point.get("size", NEURONS))
    patterns = max(1, round(float(point["alpha"]) * neurons))

    def one() -> dict[str, Any]:
        bits = np.unpackbits(np.frombuffer(rng.bytes(patterns * neurons // 8 + 1), dtype=np.uint8))
        # by symmetry the pattern that is retrieved may be all ones
        signs = 1 - 2 * bits[: (patterns - 1) * neurons].reshape(patterns - 1, neurons).astype(np.float32)
        state = np.ones(neurons, dtype=np.float32)
        field = (state.sum() * 1.0 + (signs @ state) @ signs - patterns * state) / neurons
        while (unstable := np.flatnonzero(field * state < 0)).size:
            i = rng.choice(unstable)
            state[i] = -state[i]
            pull = (1 + signs[:, i] @ signs) / neurons
            pull[i] = 0
            field += 2 * state[i] * pull
        return {"m": float(state.mean()), "energy": -float(state @ field) / (2 * neurons)}

    return columns([one() for _ in range(count)])
