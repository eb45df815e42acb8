"""Steps down the squared error of attention on whole tokens: its mean gradient, or that of a small batch."""

from functools import lru_cache

import numpy as np

from .duranthon2026_descent import _answers, _losses, _mean_gradient
from .duranthon2026_model import (
    DIMENSION,
    ORDER,
    draw_hidden,
    labels,
    lengths,
    make_vectors,
    net_sequences,
    overlaps,
    posterior,
    sequences,
)
from .marion2025 import TOKEN_LAWS
from .simulator import simulator

#: Tokens that all gradients of a run see together, and sequences of a pilot.
TOKENS, PILOT = 300_000, 100_000
#: Directions that k*, v*, k and v span.
SPAN = 4
#: Sequences of a pilot that are seen at once.
PART = 1000
#: Numbers of the tokens that are held at once.
BLOCK = 2**21


@simulator(variants={"tokens": TOKEN_LAWS}, covers=(*ORDER, "risk"))
def vector_descent(point, rng, count):
    """The seven overlaps after steps of k and v down the mean gradient, and the squared error there, a run per sample.

    Every gradient is a mean over sequences of its own: a run differs from descent on the risk itself by noise whose
    mean effect is of the order of one over all sequences seen. Gaussian tokens have no more coordinates than k*, v*, k
    and v span, and the label is averaged over the position that they leave open.
    """
    is_gaussian = point.get("tokens", "gaussian") == "gaussian"
    steps, size = int(point["steps"]), float(point["eta"])
    batch = max(200, int(TOKENS / (max(1, steps) * np.dot(*lengths(point)))))
    results = {name: np.empty(count) for name in (*ORDER, "risk")}
    for run in range(count):
        state = np.stack(make_vectors(point, SPAN if is_gaussian else DIMENSION))
        for _ in range(steps):
            net = net_sequences(point, rng, batch, state.shape[1])
            state = state - size * np.stack(_mean_gradient(point, net, *state, batch, is_gaussian))
        for name, value in zip(ORDER, overlaps(*state), strict=True):
            results[name][run] = value
        results["risk"][run] = np.mean(_losses(point, rng, *state, batch))
    return results


@simulator(random_letter="seed", scale=1.0, covers=ORDER)
def vector_stochastic_descent(point, rng, count):
    """The seven overlaps after steps of whole vectors in D dimensions, a fresh batch of sequences each, per run."""
    dimension, batch, length = int(point["D"]), int(point["batch"]), int(point["L"])
    size = float(point["eta"])
    results = {name: np.empty(count) for name in ORDER}
    together = max(1, BLOCK // (batch * length * dimension))
    for begin in range(0, count, together):
        runs = min(together, count - begin)
        state = np.tile(np.stack(make_vectors(point, dimension)), (runs, 1, 1))
        for _ in range(int(point["steps"])):
            tokens = rng.standard_normal((runs * batch, length, dimension))
            hidden = draw_hidden(point, rng, tokens[:, :, 0])
            every = np.arange(runs * batch)
            if point["task"] == "spiked":
                tokens[every, hidden, 0] += np.sqrt(float(point["nu"]))
            own = np.repeat(np.arange(runs), batch)
            seen = np.einsum("nld,ned->enl", tokens, state[own], optimize=True)
            answer, weights, slopes = _answers(point, seen[0], seen[1])
            error = answer - labels(point, rng, tokens, hidden)
            factors = 2 / batch * error[:, None, None] * np.stack([slopes, weights], axis=1)
            moves = np.einsum("nel,nld->ned", factors, tokens, optimize=True)
            state = state - size * moves.reshape(runs, batch, 2, dimension).sum(axis=1)
        key, value = state[:, 0], state[:, 1]
        norms = ((key**2).sum(axis=1), (value**2).sum(axis=1), (key * value).sum(axis=1))
        found = (key[:, 0], key[:, 1], value[:, 0], value[:, 1], *norms)
        for name, column in zip(ORDER, found, strict=True):
            results[name][begin : begin + runs] = column
    return results


class _Seen:
    """What slopes at the best weights are made of, given scores chi* and position; values are averaged over.

    Along a direction with the components t of k and u of v (along k*, along v*, beside) the prediction p.z moves by
    z.A z + b.z + c in the values z, and by a normal number for the direction beside, where A = t_2 J, b = t_1 J chi +
    u_2 p and c = u_1 p.chi: the mean square is that of a quadratic form of standard normals.
    """

    def __init__(self, point, tokens, hidden):
        chi, chances = tokens[:, :, 0], posterior(point, tokens[:, :, 0])
        self.chances, self.centre = chances, np.einsum("nl,nl->n", chances, chi)
        self.pulled = chances * (chi - self.centre[:, None])
        self.square = np.einsum("nl,nl->n", chances, chances)
        self.trace = 1 - self.square
        self.trace_2 = self.square - 2 * np.einsum("nl,nl,nl->n", chances, chances, chances) + self.square**2
        miss = -chances
        miss[np.arange(len(hidden)), hidden] += 1
        noise = float(point.get("delta", 0.0)) ** 2
        self.error = np.einsum("nl,nl->n", miss, miss) + noise
        bent = chances * (miss - np.einsum("nl,nl->n", chances, miss)[:, None])
        # (y - f)^2 times the squared slope beside k* and v*, in k and in v
        self.costs = self.error * (self.trace_2 + self.square) + 2 * np.einsum("nl,nl->n", bent, bent)

    def squares(self, axis):
        """Mean squared slopes along a direction (t, u)."""
        t, u = axis[:3], axis[3:]
        linear = t[0] * self.pulled + u[1] * self.chances
        trace, level = t[1] * self.trace, u[0] * self.centre
        quadratic = trace**2 + 2 * t[1] ** 2 * self.trace_2 + 2 * level * trace + level**2
        beside = t[2] ** 2 * self.trace_2 + u[2] ** 2 * self.square
        return quadratic + np.einsum("nl,nl->n", linear, linear) + beside


def _seen(point, rng, count):
    """Sequences, of which scores and positions are drawn."""
    for tokens, hidden in sequences(point, rng, count, 1):
        yield _Seen(point, tokens, hidden)


@lru_cache(maxsize=64)
def _first_axes(pairs, items):
    """Directions of the largest and of the least curvature, and the largest, on sequences of their own."""
    point = {**dict(items), "L": dict(pairs)}
    rng, axes = np.random.default_rng([2509, 21941]), np.eye(6)
    # a quadratic form is known by its values on the axes and on their sums
    tried = [axes[i] + (axes[j] if j < i else 0) for i in range(6) for j in range(i + 1)]
    total = np.zeros(len(tried))
    # in small blocks: whoever measures what a sample takes meets a pilot too
    for _ in range(PILOT // PART):
        total += sum(np.array([one.squares(a).sum() for a in tried]) for one in _seen(point, rng, PART))
    forms = iter(2 * total / PILOT)
    hessian = np.zeros((6, 6))
    hessian[np.tril_indices(6)] = list(forms)
    own = np.diag(hessian).copy()
    for i, j in zip(*np.tril_indices(6, -1), strict=True):
        hessian[i, j] = hessian[j, i] = (hessian[i, j] - own[i] - own[j]) / 2
    curvatures, vectors = np.linalg.eigh(hessian)
    return curvatures[-1], vectors[:, -1], vectors[:, 0]


# curvatures along axes of a pilot are off by the square of what these are turned by
@simulator(covers=("step_bound", "rate", "floor", "bayes"), systematic=1e-3)
def curvatures_at_best(point, rng, count):
    """Curvatures of the squared error in k and v at the best weights, and what the noise of their gradients costs.

    A component of a token beside k* and v* is standard normal and independent of the rest: with one such direction
    the squared slopes along it are those of any.
    """
    numbers, shares = lengths(point)
    items = tuple((name, point[name]) for name in ("task", "nu", "delta") if name in point)
    largest, top, bottom = _first_axes(tuple(zip(numbers.tolist(), shares.tolist(), strict=True)), items)
    drawn = list(_seen(point, rng, count))
    steep = np.concatenate([2 * one.squares(top) for one in drawn])
    return {
        # 2/lambda to first order around the pilot's
        "step_bound": (2 - (steep - largest) * 2 / largest) / largest,
        "rate": np.concatenate([2 * one.squares(bottom) for one in drawn]),
        "floor": np.concatenate([one.costs for one in drawn]),
        "bayes": np.concatenate([one.error for one in drawn]),
    }
