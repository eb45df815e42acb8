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


def sweeps_apart(snr: float) -> int:
    """Sweeps after which chains from the hidden signs have all but forgotten them."""
    if 0.6 < snr < 1.9:
        raise ValueError(
            "so near the transition at snr = 1 systems of less than a thousand signs are no series in 1/n, and forget "
            "the hidden signs too slowly; take snr of at least 1.9, or at most 0.6"
        )
    wanted = SWEEPS / (snr - 1) ** 2 if snr > 1 else SWEEPS / 20 / (1 - np.sqrt(snr)) ** 2
    return int(np.clip(wanted, FEWEST, MOST))


def overlap_orders(point: Point) -> tuple[float, ...]:
    """The size of an overlap that has the mean zero is of order one half."""
    return (1.0,) if float(point["snr"]) > 1 else (0.5, 1.0)


#: Signs of a system, and the fewest: at snr = 2 the overlap falls up to fifty signs, and is q - 4.2/n from 150 on.
SIZE, SMALLEST = 400, 150
#: Chains of a system, and the times at which all of them are read, as shares of their sweeps.
CHAINS, READ = 8, (0.67, 0.78, 0.89, 1.0)
#: Sweeps at snr = 2, the fewest and the most: what is left of the start is then below a thousandth of the overlap.
SWEEPS, FEWEST, MOST = 60, 12, 80
#: Signs whose fields are found in one product of matrices.
TOGETHER = 16
#: Nodes of means over a normal number.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
#: Couplings of a block of systems.
BLOCK = 8_000_000


@simulator(size=SIZE, smallest=SMALLEST, orders=overlap_orders, cost=2.0, covers=("q", "mmse"))
def posterior_signs(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Overlap of posterior samples of the hidden signs, by heat-bath chains that start at these.

    The hidden signs are a posterior sample themselves, so that each chain is stationary from the beginning, and two
    chains after so many sweeps lie twice as many apart. By the same token their overlap is that of a sample and the
    hidden signs. It decays slowly to its mean: at snr = 2 it is a percent too large after twenty sweeps.
    """
    snr = float(point["snr"])
    sweeps = sweeps_apart(snr)

    def draw_at(n: int) -> Draw:
        return in_blocks(lambda rng, count: draw(rng, count, n), max(1, BLOCK // n**2))

    def draw(rng: Generator, count: int, n: int) -> tuple[dict[str, Array], Array]:
        noise = rng.standard_normal((count, n, n), dtype=np.float32)
        noise = (noise + np.swapaxes(noise, 1, 2)) * np.float32(np.sqrt(0.5))
        noise[:, np.arange(n), np.arange(n)] = 0
        states = chains(noise, snr, sweeps, rng)
        overlaps = np.swapaxes(states, 2, 3) @ states / n
        first, second = np.triu_indices(CHAINS, 1)
        apart = overlaps[:, :, first, second].astype(float)
        found = {"q": np.mean(np.abs(apart), axis=(1, 2)), "mmse": 1 - np.mean(apart**2, axis=(1, 2))}
        controls = np.concatenate([noise_controls(noise, snr), energy_controls(noise, states, overlaps, snr)], axis=1)
        return found, controls

    return controlled(draw_at, ("posterior_signs", int(point.get("size", SIZE)), point), rng, count, fitted=SIZE // 2)


def chains(noise: Array, snr: float, sweeps: int, rng: Generator) -> Array:
    """States of heat-bath chains of many systems, runs x times x signs x chains; all start at the hidden signs.

    By symmetry these may all be one. A sweep takes the signs in turn. The fields of a few signs that follow one another
    are a product of matrices, to which what changes among these signs is added.
    """
    count, n, _ = noise.shape
    one = np.float32(1)
    couplings = np.float32(snr / n) + np.float32(np.sqrt(snr / n)) * noise
    couplings[:, np.arange(n), np.arange(n)] = 0
    spans = [slice(low, min(low + TOGETHER, n)) for low in range(0, n, TOGETHER)]
    inner = [np.ascontiguousarray(couplings[:, s, s].transpose(1, 2, 0))[:, :, None] for s in spans]
    state = np.ones((count, n, CHAINS), dtype=np.float32)
    times, read = {round(share * sweeps) for share in READ}, []
    for sweep in range(1, sweeps + 1):
        # the field that would make either sign as likely as this chance
        chances = rng.random((n, CHAINS, count), dtype=np.float32)
        chances = (np.log(chances + np.float32(1e-30)) - np.log1p(-chances)) / 2
        for span, among in zip(spans, inner, strict=True):
            fields = np.subtract((couplings[:, span] @ state).transpose(1, 2, 0), chances[span], order="C")
            signs = np.ascontiguousarray(state[:, span].transpose(1, 2, 0))
            for i in range(len(signs)):
                drawn = np.copysign(one, fields[i])
                fields[i + 1 :] += among[i, i + 1 :] * (drawn - signs[i])
                signs[i] = drawn
            state[:, span] = signs.transpose(2, 0, 1)
        if sweep in times:
            read.append(state.copy())
    return np.stack(read, axis=1)


def energy_controls(noise: Array, states: Array, overlaps: Array, snr: float) -> Array:
    """What integration by parts says of posterior means of W, whatever they are: its two sides, one less the other.

    E W_ij <f> is sqrt(snr/n) times the sum over the samples x in f of E <f (x_i x_j - y_i y_j)>, with y a sample that
    is not in f. Taken for x_i x_j, for x_i y_j x.y, for x_i y_j x.z z.y and for x_i (W x)_j, all over i and j.
    """
    n = noise.shape[1]
    slope = np.sqrt(snr)
    pulls = noise[:, None] @ states
    pulled = np.swapaxes(states, 2, 3) @ pulls / n**1.5
    own = np.trace(pulled, axis1=2, axis2=3) / CHAINS
    between = overlaps * (1 - np.eye(CHAINS, dtype=np.float32))
    pairs, threes = CHAINS * (CHAINS - 1), CHAINS * (CHAINS - 1) * (CHAINS - 2)
    square, drawn = (np.sum(between * part, axis=(2, 3)) / pairs for part in (between, pulled))
    third = between @ between
    loop = np.sum(third * between, axis=(2, 3)) / threes
    # what goes from a sample to itself is no product of four of them
    fourth, squares = (part * (1 - np.eye(CHAINS, dtype=np.float32)) for part in (third, between**2 @ between**2))
    squares_mean = np.sum(squares, axis=(2, 3)) / threes
    fours = np.sum(fourth**2 - squares, axis=(2, 3)) / (threes * (CHAINS - 3))
    found = [
        own - slope * (1 - square),
        drawn - 2 * slope * (square - loop),
        np.sum(pulled * fourth, axis=(2, 3)) / threes - slope * (2 * loop + squares_mean - 3 * fours),
        np.sum(pulls**2, axis=(2, 3)) / (CHAINS * n**2) - (n - 1) / n - slope * (own - drawn),
    ]
    return np.stack([np.mean(part, axis=1) for part in found], axis=1)


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
