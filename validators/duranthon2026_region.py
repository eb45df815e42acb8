"""Where the mismatched minimum appears: the squared error on nodes, its curvatures by differences, and their zero.

The predictor sees tokens through their scores, and chi* says which one is hidden: given both, label and prediction are
Gaussian, and the squared error is averaged over the values. What is left is a mean over two normals for each token,
taken over a scrambled low-discrepancy set of them; it is a smooth function of k and v.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtri, softmax
from scipy.stats import qmc

from .duranthon2026_model import attention_weights, lengths
from .simulator import simulator

#: Sequences on the way, of a pilot and of a run, as powers of two, and the step of differences.
FOLLOWED, PILOT, NODES, STEP = 11, 14, 14, 2e-3
#: The pilot turns to Newton's method where a curvature is below this; steps of a run with the pilot's derivatives.
NEAR, CHORDS = 0.003, 4
#: Where a minimum is known: signal, length, and the overlaps of k and v with k* and v*, by activation.
BEGIN, PLACES = (2.0, 10), {"erf": (0.03, 0.95, 0.12, 0.01)}
SOFT = (0.3, 2.0, 0.35, 0.0)


class Nodes:
    """Normal numbers (n, L) along k* and along what k has beside it; their squared error at any k and v."""

    def __init__(self, point, rng, length, power):
        self.point, self.length = point, length
        uniform = qmc.Sobol(2 * length, rng=rng).random_base2(power)
        normals = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
        self.along, self.beside = normals[:, :length], normals[:, length:]

    def risk(self, place, nu):
        """Squared error of k and v given by three components each: along k*, along v* and beside both."""
        key, value = np.asarray(place[:3]), np.asarray(place[3:])
        along, chances = self._hidden(nu)
        # the part of k beside k* is along a unit vector u; tokens have the coordinates along and beside there
        width = np.hypot(key[1], key[2])
        u = key[1:] / width
        weights = attention_weights(str(self.point["activation"]), key[0] * along + width * self.beside,
                                    float(self.point.get("shift", 0.0) or 0.0))  # fmt: skip
        v_beside, across = value[1:] @ u, value[1:] - (value[1:] @ u) * u
        label_across = np.array([1.0, 0.0]) - u[0] * u
        answer = np.einsum("nl,nl->n", weights, value[0] * along + v_beside * self.beside)
        # given the scores a value is Gaussian about its mean; its noise is that across k and k*
        miss = (u[0] * self.beside - answer[:, None]) ** 2
        noise = (label_across @ label_across + (across @ across) * np.einsum("nl,nl->n", weights, weights)[:, None]
                 - 2 * (label_across @ across) * weights)  # fmt: skip
        return float(np.mean(np.einsum("nl,nl->n", chances, miss + noise)))

    def _hidden(self, nu):
        """Scores chi*, the hidden token first in the spiked task, and the chances of the positions."""
        along = self.along
        if self.point["task"] == "spiked":
            along = along.copy()
            along[:, 0] += np.sqrt(nu)
            chances = np.zeros_like(along)
            chances[:, 0] = 1.0
            return along, chances
        return along, softmax(nu * along, axis=1)

    def inner(self, four, nu):
        """Slopes and curvatures in the span of k* and v*, and off it, at overlaps (m_kk, m_kv, m_vk, m_vv)."""
        place = np.array([four[0], four[1], 0.0, four[2], four[3], 0.0])
        axes = np.eye(6)[[0, 1, 3, 4, 2, 5]] * STEP
        here = self.risk(place, nu)
        high, low = (np.array([self.risk(place + sign * a, nu) for a in axes]) for sign in (1, -1))
        hessian = np.diag(high + low - 2 * here)
        for i, j in (*zip(*np.tril_indices(4, -1), strict=True), (5, 4)):
            both = self.risk(place + axes[i] + axes[j], nu) + self.risk(place - axes[i] - axes[j], nu)
            hessian[i, j] = hessian[j, i] = (both - high[i] - low[i] - high[j] - low[j] + 2 * here) / 2
        return (high - low)[:4] / (2 * STEP), hessian[:4, :4] / STEP**2, hessian[4:, 4:] / STEP**2


def _minimum(nodes, four, nu):
    """The minimum near a place, by Newton's steps."""
    four = np.array(four, dtype=float)
    for _ in range(12):
        slope, inner, _ = nodes.inner(four, nu)
        strengths, axes = np.linalg.eigh(inner)
        move = -axes @ ((axes.T @ slope) / np.maximum(np.abs(strengths), 1e-3))
        four += move * min(1.0, 0.25 / np.linalg.norm(move))
        if np.linalg.norm(move) < 1e-5:
            break
    return four


def _balance(nodes, unknowns, is_inner):
    """Slopes and the curvature that gives way, at a place and a signal: all five vanish at the border."""
    slope, inner, outer = nodes.inner(unknowns[:4], unknowns[4])
    return np.append(slope, np.linalg.eigvalsh(inner if is_inner else outer)[0])


def _jacobian(nodes, unknowns, is_inner, step=2e-3):
    """Derivatives of the balance by differences."""
    columns = [_balance(nodes, unknowns + step * a, is_inner) - _balance(nodes, unknowns - step * a, is_inner)
               for a in np.eye(5)]  # fmt: skip
    return np.stack(columns, axis=1) / (2 * step)


@lru_cache(maxsize=32)
def _pilot(task, length, activation, shift):
    """Overlaps and signal at the border on nodes of its own, the derivatives there, and which curvature gives way.

    The minimum is followed from where it is known, to the length and then to weaker signals.
    """
    point = {"task": task, "activation": activation, "shift": shift}
    (nu, begin), four = BEGIN, np.array(PLACES.get(activation, SOFT))
    rng = np.random.default_rng([2509, 21943])
    sizes = np.unique(np.geomspace(begin, length, 1 + 2 * abs(begin - length)).round().astype(int))
    for size in sizes if length > begin else sizes[::-1]:
        # short sequences lose the minimum at weak signals
        nu = max(nu, 10.0 / size)
        four = _minimum(Nodes(point, rng, int(size), FOLLOWED), four, nu)
    nodes, shrink = Nodes(point, rng, length, PILOT), 0.93
    before = nu
    while True:
        found = _minimum(nodes, four, nu)
        _, inner, outer = nodes.inner(found, nu)
        lowest = np.linalg.eigvalsh(inner)[0], np.linalg.eigvalsh(outer)[0]
        if not abs(found[1]) > abs(found[0]) / 2 or lowest[0] < -NEAR:
            # where two stationary points meet they do so within a short way: shorter steps towards it
            shrink = np.sqrt(shrink)
            if shrink > 0.9999:
                raise ValueError("the minimum is lost before a curvature vanishes")
        else:
            four, before = found, nu
            if min(lowest) < NEAR:
                break
        nu = before * shrink
        if nu < 0.2:
            raise ValueError("no curvature vanishes at the signals that are looked at")
    is_inner, unknowns = lowest[0] < lowest[1], np.append(four, nu)
    for _ in range(8):
        matrix = _jacobian(nodes, unknowns, is_inner)
        move = -np.linalg.solve(matrix, _balance(nodes, unknowns, is_inner))
        unknowns = unknowns + move * min(1.0, 0.2 / np.linalg.norm(move))
        if np.linalg.norm(move) < 1e-5:
            return unknowns, matrix, is_inner
    raise ValueError("the border is not found from the minimum near it")


@simulator(covers=("nu_low",))
def border_of_minimum(point, rng, count):
    """The signal at which the smallest curvature at the minimum vanishes, on nodes of their own for each run."""
    numbers, _ = lengths(point)
    if len(numbers) > 1:
        raise ValueError("sequences of several lengths are not drawn here")
    length = int(numbers[0])
    shift = float(point.get("shift", 0.0) or 0.0)
    start, matrix, is_inner = _pilot(str(point["task"]), length, str(point["activation"]), shift)
    found = np.empty(count)
    for run in range(count):
        nodes, unknowns = Nodes(point, rng, length, NODES), start
        for _ in range(CHORDS):
            unknowns = unknowns - np.linalg.solve(matrix, _balance(nodes, unknowns, is_inner))
        found[run] = unknowns[4]
    return {"nu_low": found}
