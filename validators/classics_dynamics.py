"""Networks in training and random networks in depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.integrate import solve_ivp
from scipy.special import erf

from .simulator import simulator

Point = Mapping[str, Any]
#: Width of the linear network.
WIDTH = 4


@simulator(deterministic=True, tolerance=1e-6, covers=("u",))
def linear_network(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Gradient flow of both matrices of a linear network in random frames, and the strength of one mode at the end."""
    target, start, time = (float(point[name]) for name in ("s", "u0", "time"))
    if 2 * time * max(target, start) > 1e4:
        raise ValueError("the flow of the matrices takes too long to follow here")

    def one() -> float:
        out, hidden, back = (np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0] for _ in range(3))
        # a second mode is learned beside the one that is measured
        strengths, starts = np.zeros(WIDTH), np.zeros(WIDTH)
        strengths[:2], starts[:2] = (target, target / 2 + 0.3), (start, 0.2)
        wanted = out @ np.diag(strengths) @ back.T
        second, first = out @ np.diag(np.sqrt(starts)) @ hidden.T, hidden @ np.diag(np.sqrt(starts)) @ back.T

        def slope(_: float, flat: Any) -> Any:
            upper, lower = flat.reshape(2, WIDTH, WIDTH)
            gap = wanted - upper @ lower
            return np.stack([gap @ lower.T, upper.T @ gap]).ravel()

        flow = solve_ivp(slope, (0, time), np.stack([second, first]).ravel(), method="DOP853", rtol=1e-10, atol=1e-13)
        upper, lower = flow.y[:, -1].reshape(2, WIDTH, WIDTH)
        return float(out[:, 0] @ upper @ lower @ back[:, 0])

    return {"u": [one() for _ in range(count)]}


#: Width of the random network, its layers, and those at the beginning that are not read.
NEURONS, LAYERS, SKIPPED = 400, 30, 10


@simulator(size=NEURONS, orders=(1.0,), cost=1.0, covers=("sw2", "q"), takes=("sw2",))
def deep_signals(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Variance of the inputs deep in a random network with the weights predicted, and how a small difference grows.

    A matrix of independent normal weights makes of two vectors two normal vectors whose covariance is that of the two,
    so that what it does to signal and difference is drawn without it. At the edge a difference keeps its length, so
    that the variance of the weights over its growth is itself.
    """
    width, bias2, weight2 = int(point.get("size", NEURONS)), float(point["sb2"]), float(point["sw2"])
    is_erf = point["nonlinearity"] == "erf"
    # a start near the variance deep inside is forgotten sooner
    inputs = np.sqrt(bias2 + weight2 / 3) * rng.standard_normal((count, width))
    lengths, growths = [], []
    for layer in range(LAYERS):
        slopes = 2 / np.sqrt(np.pi) * np.exp(-(inputs**2)) if is_erf else 1 / np.cosh(inputs) ** 2
        tangent = rng.standard_normal((count, width))
        signal, moved = erf(inputs) if is_erf else np.tanh(inputs), slopes * tangent
        first, second = rng.standard_normal((2, count, width))
        along = np.sqrt(np.sum(signal**2, axis=1))
        shared = np.sum(signal * moved, axis=1) / along
        beside = np.sqrt(np.maximum(np.sum(moved**2, axis=1) - shared**2, 0))
        scale = np.sqrt(weight2 / width)
        difference = scale * (shared[:, None] * first + beside[:, None] * second)
        inputs = scale * along[:, None] * first + np.sqrt(bias2) * rng.standard_normal((count, width))
        if layer >= SKIPPED:
            lengths.append(np.mean(inputs**2, axis=1))
            growths.append(np.sum(difference**2, axis=1) / np.sum(tangent**2, axis=1))
    return {"q": np.mean(lengths, axis=0), "sw2": weight2 / np.mean(growths, axis=0)}


#: Inputs of the unit that learns.
INPUTS = 30
#: Nodes in each direction for the mean over inputs, which is one over two normal scores.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


@simulator(size=INPUTS, orders=(1.0,), series_from=20, cost=1.0, covers=("R", "Q", "risk"))
def online_descent(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Stochastic gradient descent of one erf unit on fresh samples, and its error on the law of the samples.

    A normal sample enters by its components along the teacher and along the rest of the student, and by the length of
    what is left of it: two normal numbers and a chi variable, drawn in place of the sample.
    """
    overlap, norm2, rate, time = (float(point[name]) for name in ("R", "Q", "eta", "time"))
    length, noise = np.sqrt(float(point.get("T", 1.0))), np.sqrt(float(point.get("s2", 0.0)))
    inputs = max(3, int(point.get("size", INPUTS)))
    if time > 50:
        raise ValueError("so many steps take too long to simulate")
    steps = int(time * inputs)
    left = time * inputs - steps
    along = np.full(count, overlap / length)
    beside = np.full(count, np.sqrt(max(0.0, norm2 - (overlap / length) ** 2)))
    for step in range(steps + (left > 0)):
        first, second = rng.standard_normal((2, count))
        rest2 = rng.chisquare(inputs - 2, count)
        own = along * first + beside * second
        wanted = erf(length * first / np.sqrt(2)) + (noise * rng.standard_normal(count) if noise else 0.0)
        pull = np.sqrt(2 / np.pi) * np.exp(-(own**2) / 2) * (wanted - erf(own / np.sqrt(2)))
        # the last step is the part of one that the time has left
        move = rate / inputs * (left if step == steps else 1.0) * pull
        along = along + move * first
        beside = np.sqrt((beside + move * second) ** 2 + move**2 * rest2)
    return {"R": length * along, "Q": along**2 + beside**2, "risk": _risk(along, beside, length)}


def _risk(along: Any, beside: Any, length: float) -> Any:
    """Half the mean squared distance of erf units, by a sum over nodes of the two scores."""
    total = np.zeros_like(along)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        gaps = erf((along * node + beside * NODES[:, None]) / np.sqrt(2)) - erf(length * node / np.sqrt(2))
        total += weight * (WEIGHTS @ gaps**2)
    return total / (4 * np.pi)
