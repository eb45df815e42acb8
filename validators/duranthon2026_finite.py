"""Learning k and v from N = alpha D sequences, as it is defined: whole tokens, minimisation of the penalised loss.

Vectors are divided by sqrt(D): k* and v* are orthonormal here, scores are x.k and values x.v, and the objective over
D is sum (y - f)^2/(2 D) + r_k |k|^2/2 + r_v |v|^2/2. A point may name ``size``, the root of N D, ``tokens_type`` (the
NumPy type the tokens are kept in) and ``start`` ("informed" or "random"). Simulators return one number per training
set under the names of the outputs they check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import erfc, expit, softmax

from .simulator import simulator

Array = NDArray[Any]
Point = Mapping[str, Any]
Generator = np.random.Generator
#: Root of N D where a point names no size.
SIZE = 600
#: Most numbers of one block of tokens, so that temporary arrays stay small beside the data.
BLOCK = 2**24
#: Most bytes of the tokens of a training set.
MEMORY = 5 * 2**30
#: Fresh sequences on which the risk is measured, at size 1500; they grow with the size, as the risk's own spread falls.
FRESH = 200_000
#: Variance of the label given the fields below which v counts as recovered.
RECOVERED = 1e-6
#: Least label noise with which message passing is known to follow its state evolution at sizes of hundreds.
NOISY = 0.3


def sizes(point: Point) -> tuple[int, int]:
    """Sequences N and dimension D with N/D = alpha and the product asked for."""
    if "alpha" not in point:
        raise ValueError("a training set is drawn for a given alpha, and this point has none")
    alpha, size = float(point["alpha"]), float(point.get("size", SIZE))
    dimension = max(4, round(size / np.sqrt(alpha)))
    return max(1, round(alpha * dimension)), dimension


def draw_blocks(
    point: Point, rng: Generator, count: int, dimension: int, kind: Any = np.float64
) -> Iterator[tuple[Array, Array]]:
    """Blocks of tokens (n, L, D) and labels (n,); k* and v* are the first two axes.

    In the max task the hidden position is drawn from softmax(nu chi*) as the largest score with Gumbel noise.
    """
    length, nu, delta = int(point["L"]), float(point["nu"]), float(point.get("delta", 0.0))
    rows = max(1, BLOCK // (length * dimension))
    for begin in range(0, count, rows):
        n = min(rows, count - begin)
        tokens = rng.standard_normal((n, length, dimension), dtype=kind)
        every = np.arange(n)
        if point["task"] == "spiked":
            hidden = rng.integers(0, length, n)
            tokens[every, hidden, 0] += kind(np.sqrt(nu))
        elif np.isinf(nu):
            hidden = np.argmax(tokens[:, :, 0], axis=1)
        else:
            hidden = np.argmax(nu * tokens[:, :, 0] + rng.gumbel(size=(n, length)), axis=1)
        yield tokens, tokens[every, hidden, 1] + delta * rng.standard_normal(n)


def _attend(name: str, scores: Array, values: Array, shift: float = 0.0) -> tuple[Array, Array, Array]:
    """Weights, predictions, and the derivative of the prediction in the scores."""
    if name == "erf":
        weights = erfc(-(shift + scores))
        bent = 2 / np.sqrt(np.pi) * np.exp(-((shift + scores) ** 2))
        return weights, np.sum(weights * values, axis=1), bent * values
    if name == "softplus":
        kernel = np.logaddexp(0, scores)
        total = np.sum(kernel, axis=1, keepdims=True)
        answer = np.sum(kernel * values, axis=1) / total[:, 0]
        return kernel / total, answer, expit(scores) / total * (values - answer[:, None])
    if name == "softmax":
        weights = softmax(scores, axis=1)
        answer = np.sum(weights * values, axis=1)
        return weights, answer, weights * (values - answer[:, None])
    if name == "linear":
        weights = 1 + scores
        return weights, np.sum(weights * values, axis=1), values
    raise ValueError(f"no activation {name!r} is trained here")


def shift_of(point: Point) -> float:
    """The shift inside 1 + erf; zero if a point has none."""
    given = point.get("shift")
    return 0.0 if given is None else float(given)


class TrainingSet:
    """Tokens in blocks and the penalised loss with its gradient."""

    def __init__(self, point: Point, rng: Generator) -> None:
        self.count, self.dimension = sizes(point)
        self.length, self.activation = int(point["L"]), str(point["activation"])
        self.shift = shift_of(point)
        self.ridge = float(point["r_k"]), float(point["r_v"])
        kind = np.dtype(point.get("tokens_type", "float64")).type
        if self.count * self.length * self.dimension * np.dtype(kind).itemsize > MEMORY:
            raise MemoryError(f"a training set of this size takes more than {MEMORY} bytes")
        self.blocks = [(x.reshape(-1, self.dimension), y)
                       for x, y in draw_blocks(point, rng, self.count, self.dimension, kind)]  # fmt: skip

    def loss(self, flat: Array) -> tuple[float, Array]:
        """Objective over D and its gradient in (k, v)."""
        vectors = flat.reshape(2, self.dimension).T
        value, gradient = 0.0, np.zeros_like(vectors)
        for tokens, labels in self.blocks:
            fields = np.asarray(tokens @ vectors.astype(tokens.dtype), dtype=float)
            fields = fields.reshape(-1, self.length, 2)
            weights, answer, slope = _attend(self.activation, fields[:, :, 0], fields[:, :, 1], self.shift)
            miss = answer - labels
            value += float(miss @ miss) / 2
            pull = np.stack([miss[:, None] * slope, miss[:, None] * weights], axis=-1).reshape(-1, 2)
            gradient += tokens.T @ pull.astype(tokens.dtype)
        ridge = np.array(self.ridge)
        value = value / self.dimension + float(ridge @ np.sum(vectors**2, axis=0)) / 2
        return value, (gradient / self.dimension + ridge * vectors).T.ravel()

    def train_error(self, vectors: Array) -> float:
        """Mean squared residual of the training set."""
        total = 0.0
        for tokens, labels in self.blocks:
            fields = (tokens @ vectors.astype(tokens.dtype)).astype(float).reshape(-1, self.length, 2)
            answer = _attend(self.activation, fields[:, :, 0], fields[:, :, 1], self.shift)[1]
            total += float(np.sum((labels - answer) ** 2))
        return total / self.count


def fresh_risk(point: Point, rng: Generator, key: Array, value: Array, weigh: Any) -> float:
    """Mean squared error on new sequences.

    Only the coordinates of a token along k*, v*, k and v matter; the others are not drawn.
    """
    frame = np.zeros((len(key), 4))
    frame[0, 0] = frame[1, 1] = 1.0
    frame[:, 2], frame[:, 3] = key, value
    basis, corner = np.linalg.qr(frame)
    basis[:, :2] *= np.sign(np.diag(corner)[:2])
    k, v = basis.T @ key, basis.T @ value
    losses = []
    count = max(10_000, round(FRESH * float(point.get("size", SIZE)) / 1500))
    for tokens, labels in draw_blocks(point, rng, count, 4):
        losses.append((labels - weigh(tokens @ k, tokens @ v)) ** 2)
    return float(np.mean(np.concatenate(losses)))


def train(point: Point, rng: Generator) -> tuple[Array, TrainingSet, float]:
    """Minimiser (D, 2) found by L-BFGS, the training set, and the objective reached."""
    data = TrainingSet(point, rng)
    start = 0.1 * rng.standard_normal((2, data.dimension)) / np.sqrt(data.dimension)
    if point.get("start", "informed") == "informed":
        start[0, 0] += 1.0
        start[1, 1] += 0.5
    options = {"maxiter": 3000, "maxfun": 4000, "gtol": 1e-7, "ftol": 1e-13, "maxcor": 20}
    found = minimize(data.loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(2, -1).T, data, float(found.fun)


def responses(data: TrainingSet, vectors: Array, rng: Generator, steps: int = 60) -> tuple[float, float]:
    """How far k and v follow a force: traces of the diagonal blocks of the inverse Hessian of D times the objective.

    Each trace is z^T H^(-1) z for random signs z, solved by conjugate gradients on differences of the gradient.
    """
    place, size = vectors.T.ravel(), data.dimension
    step = 1e-4 / np.sqrt(size)

    def curve(direction: Array) -> Array:
        far = [data.loss(place + sign * step * direction)[1] for sign in (1, -1)]
        result: Array = (far[0] - far[1]) / (2 * step)
        return result

    found = []
    for block in range(2):
        signs = np.zeros(2 * size)
        signs[block * size : (block + 1) * size] = 2.0 * rng.integers(2, size=size) - 1.0
        solution, residual, direction = np.zeros(2 * size), signs.copy(), signs.copy()
        square = residual @ residual
        for _ in range(steps):
            image = curve(direction)
            length = square / (direction @ image)
            solution, residual = solution + length * direction, residual - length * image
            before, square = square, residual @ residual
            if square < 1e-8 * size:
                break
            direction = residual + square / before * direction
        found.append(float(signs @ solution) / size)
    return found[0], found[1]


# means over training sets differ from the limit by a term in 1/D; strengths that were tuned are outputs
@simulator(
    size=SIZE,
    own_size=True,
    orders=(1.0,),
    cost=2.0,
    takes=("r_k", "r_v"),
    variants={"tokens_type": ("float64", "float32"), "start": ("informed", "random")},
    covers=("risk", "train_error", "objective", "m_k", "q_k", "V_k", "m_v", "q_v", "V_v"),
)
def empirical_risk(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Order parameters, training error and risk on fresh data of minimisers of the penalised loss."""
    rows = []
    for _ in range(count):
        vectors, data, objective = train(point, rng)
        key, value = vectors.T
        name = str(point["activation"])
        response_k, response_v = responses(data, vectors, rng)
        rows.append(
            {
                "V_k": response_k,
                "V_v": response_v,
                "risk": fresh_risk(
                    point, rng, key, value, lambda s, z, name=name, c=data.shift: _attend(name, s, z, c)[1]
                ),
                "train_error": data.train_error(vectors),
                "objective": objective,
                "m_k": key[0],
                "q_k": key @ key,
                "m_v": value[1],
                "q_v": value @ value,
            }
        )
    return _collect(rows)


@simulator(
    size=SIZE, own_size=True, orders=(1.0,), cost=3.0, whole=True,
    covers=("risk", "train_error", "m_v", "q_v", "V_v"),
)  # fmt: skip
def ridge_regression(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The minimiser over v alone at k = 0: ridge regression on weighted sums of the tokens."""
    n, dimension = sizes(point)
    weight = 1 / int(point["L"]) if point["activation"] == "softmax" else 1.0
    rows = []
    setting = {"task": "spiked", "nu": 1.0, **point}
    for _ in range(count):
        gram, right, square = np.zeros((dimension, dimension)), np.zeros(dimension), 0.0
        for tokens, labels in draw_blocks(setting, rng, n, dimension):
            features = weight * tokens.sum(axis=1)
            gram += features.T @ features
            right += features.T @ labels
            square += float(labels @ labels)
        value = np.linalg.solve(gram / dimension + float(point["r_v"]) * np.eye(dimension), right / dimension)
        train_error = (square - 2 * value @ right + value @ gram @ value) / n
        key = np.zeros(dimension)
        key[2] = 1.0
        risk = fresh_risk(setting, rng, key, value, lambda s, z: weight * z.sum(axis=1))
        # how far v follows a force: the trace of the inverse Hessian, which is D times that of the matrix solved above
        response = np.trace(np.linalg.inv(gram / dimension + float(point["r_v"]) * np.eye(dimension))) / dimension
        rows.append(
            {"risk": risk, "train_error": train_error, "m_v": value[1], "q_v": value @ value, "V_v": float(response)}
        )
    return _collect(rows)


def message_passing(
    point: Point, rng: Generator, count: int, steps: int = 100, damping: float = 0.3
) -> dict[str, Array]:
    """Approximate message passing for the spiked task, with means and variances damped.

    Without damping it follows its state evolution for a few steps only, at dimensions of a thousand; with 0.6 it
    oscillates where the signal is strong (nu = 4).
    """
    if point["task"] != "spiked":
        raise ValueError("message passing is written for the spiked task only")
    return _collect([_message_passing(point, rng, steps, damping) for _ in range(count)])


@simulator(size=SIZE, own_size=True, orders=(1.0,), cost=2.0, covers=("risk", "q_k", "q_v"))
def noisy_message_passing(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Message passing where it follows its state evolution at these sizes: not without label noise."""
    if float(point.get("delta", 0.0)) < NOISY:
        raise ValueError(f"with label noise below {NOISY} message passing leaves its state evolution at these sizes")
    return message_passing(point, rng, count)


def _collect(rows: list[dict[str, float]]) -> dict[str, Array]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _message_passing(point: Point, rng: Generator, steps: int, damping: float) -> dict[str, float]:
    n, dimension = sizes(point)
    length, nu, delta = int(point["L"]), float(point["nu"]), float(point.get("delta", 0.0))
    blocks = list(draw_blocks(point, rng, n, dimension))
    tokens = np.concatenate([x for x, _ in blocks]).reshape(-1, dimension)
    labels = np.concatenate([y for _, y in blocks])
    alpha = n / dimension
    is_informed = point.get("branch", "uninformed") == "informed"
    key, value = 0.01 * rng.standard_normal((2, dimension)) / np.sqrt(dimension)
    if is_informed:
        key[0] += 0.9
        value[1] += 0.9
    precision_k = precision_v = 5.0 if is_informed else 0.1
    pull_k = pull_v = np.zeros((n, length))
    for _ in range(steps):
        omega = (tokens @ key).reshape(n, length) - pull_k / (1 + precision_k)
        w = (tokens @ value).reshape(n, length) - pull_v / (1 + precision_v)
        tau = delta**2 + 1 / (1 + precision_v)
        if tau < RECOVERED:
            break
        miss = labels[:, None] - w
        p = softmax(np.sqrt(nu) * omega - miss**2 / (2 * tau), axis=1)
        pull_k, pull_v = np.sqrt(nu) * p, p * miss / tau
        own_k, own_v = alpha * np.mean(np.sum(pull_k**2, axis=1)), alpha * np.mean(np.sum(pull_v**2, axis=1))
        precision_k = damping * own_k + (1 - damping) * precision_k
        precision_v = damping * own_v + (1 - damping) * precision_v
        # the likelihood of a spiked token carries |k|^2, whence the term in alpha nu
        new_k = (tokens.T @ pull_k.ravel() / dimension + (precision_k - alpha * nu) * key) / (1 + precision_k)
        new_v = (tokens.T @ pull_v.ravel() / dimension + precision_v * value) / (1 + precision_v)
        key, value = damping * new_k + (1 - damping) * key, damping * new_v + (1 - damping) * value

    def answer(scores: Array, values: Array) -> Array:
        result: Array = np.sum(softmax(np.sqrt(nu) * scores, axis=1) * values, axis=1)
        return result

    return {"risk": fresh_risk(point, rng, key, value, answer), "q_k": float(key[0]), "q_v": float(value[1])}
