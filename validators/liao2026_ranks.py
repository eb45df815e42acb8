"""Contexts with weights of any rank, unbalanced labels and tokens of any law, as they are defined, and their controls.

W_K^T W_Q = s I + sum k_r q_r^T with vectors given in orthonormal coordinates, the first along mu. Tokens of third and
fourth moments k3 and k4 are drawn from a law that has exactly these, or from a named one that must have them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .liao2026_class_controls import ClassControls, nodes_for
from .liao2026_controls import length_controls, token_controls
from .liao2026_kernel_controls import PROJECTIONS, KernelControls, is_suitable
from .liao2026_model import (
    Array,
    Generator,
    Point,
    draw_labels,
    function_of,
    make_attention,
    make_function,
    series_from,
)

#: Named laws of the noise with their third and fourth moments; "matched" has those of the point.
LAWS: dict[str, tuple[float, float] | None] = {
    "matched": None,
    "gaussian": (0.0, 3.0),
    "rademacher": (0.0, 1.0),
    "uniform": (0.0, 1.8),
    "laplace": (0.0, 6.0),
    "student-9": (0.0, 4.2),
    "student-5": (0.0, 9.0),
    "two-point": (1.5, 3.25),
    "gamma-2": (float(np.sqrt(2)), 6.0),
}


def moments_of(point: Point) -> tuple[float, float]:
    """Third and fourth moments of the tokens' noise."""
    return float(point.get("third", 0.0)), float(point.get("fourth", 3.0))


def draw_noise(rng: Generator, shape: tuple[int, int], point: Point) -> Array:
    """Z with independent entries of mean zero, variance one and the point's third and fourth moments."""
    law, (third, fourth) = str(point.get("tokens", "matched")), moments_of(point)
    if law not in LAWS:
        raise ValueError(f"the simulator knows tokens of the laws {', '.join(LAWS)}, not {law!r}")
    known = LAWS[law]
    if known is not None and not np.allclose(known, (third, fourth), rtol=1e-6, atol=1e-6):
        raise ValueError(f"tokens of the law {law} have the moments {known}, not {third:g} and {fourth:g}")
    if law == "gaussian" or (law == "matched" and (third, fourth) == (0.0, 3.0)):
        return rng.standard_normal(shape)
    if law == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if law == "laplace":
        return rng.laplace(0.0, np.sqrt(0.5), shape)
    if law.startswith("student"):
        degrees = int(law.rpartition("-")[2])
        return rng.standard_t(degrees, shape) * np.sqrt((degrees - 2) / degrees)
    if law == "gamma-2":
        return (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2)
    # zero, or with the rest of the probability one of two points: three points have any two moments
    share = 1 / (fourth - third**2)
    skew = third * np.sqrt(share)
    # of a two-point law of variance one: its values have the product -1 and the sum of its skewness
    high = (skew + np.sqrt(skew**2 + 4)) / 2
    chance = 1 / (1 + high**2)
    drawn = rng.random(shape)
    found: Array = np.where(drawn < share * chance, high, np.where(drawn < share, -1 / high, 0.0)) / np.sqrt(share)
    return found


def rows_of(text: Any) -> Array:
    """Vectors written as "1, 1/2; 0, 1"."""
    return np.array([[float(Fraction(x)) for x in row.split(",")] for row in str(text).split(";")])


def weights_of(point: Point) -> tuple[float, Array, Array]:
    """The multiple of the identity, keys and queries in coordinates."""
    file = point.get("weights_file")
    if file is not None:
        nothing = np.zeros((0, 1))
        return float(file.scale), *((np.array(x) if x else nothing) for x in (file.keys, file.queries))
    keys, queries = ((rows_of(point[x]) if x in point else np.zeros((0, 1))) for x in ("keys", "queries"))
    return float(Fraction(str(point.get("scale", 1)))), keys, queries


def frame_of(point: Point, p: int, size: int) -> Array:
    """Orthonormal rows in R^p, spread over all coordinates, with the point's components along (1, .., 1)/sqrt(p)."""
    along = np.zeros(size)
    if "ones" in point:
        given = rows_of(point["ones"])[0]
        along[: given.size] = given
    waves = np.cos(np.outer(np.arange(size + 1), np.arange(p) + 0.5) * np.pi / p)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    length2 = float(along @ along)
    rest = 1 / (1 + np.sqrt(max(0.0, 1 - length2)))
    # rows (along, sqrt(1 - along along^T)) are orthonormal
    frame: Array = np.outer(along, waves[0]) + (np.eye(size) - rest * np.outer(along, along)) @ waves[1:]
    return frame


Kernel = Callable[[Array, Array], Array]


def draw_rest(rng: Generator, file: Any, frame: Array) -> Array:
    """A matrix R with the file's traces of R R^T and R^2, and on the rows of a frame all that the file's R does there.

    Elsewhere it is Gaussian; an entry and its mirror image have one covariance, and are independent of all others.
    """
    p, size = frame.shape[1], frame.shape[0]
    lean = file.square / file.spread**2
    even, odd = (rng.standard_normal((p, p)) for _ in range(2))
    rest = np.sqrt((1 + lean) / 4) * (even + even.T) + np.sqrt(max(0.0, 1 - lean) / 4) * (odd - odd.T)
    rest *= file.spread / np.sqrt(p)
    # what it takes out of the frame, by its transpose and by itself, along drawn directions beside the frame
    beside = rng.standard_normal((2 * size, p))
    beside = np.linalg.qr((beside - beside @ frame.T @ frame).T)[0].T
    within, onto, into, twice = (np.array(x) for x in (file.within, file.onto, file.into, file.twice))
    values, vectors = np.linalg.eigh(np.block([[onto, twice], [twice.T, into]]))
    arms = vectors * np.sqrt(np.maximum(values, 0.0)) @ beside
    outside = np.eye(p) - frame.T @ frame
    found: Array = outside @ rest @ outside + frame.T @ (within @ frame + arms[:size]) + arms[size:].T @ frame
    return found


def centred(point: Point, wide: float = 1.0) -> Callable[[Array], Array]:
    """The nonlinearity less its mean over the logits of noise, of standard deviation |s|, or so many times that."""
    if "nonlinearity" not in point:
        return function_of(point)
    f = make_function(point["nonlinearity"], float(point.get("level", 0.0)), float(point.get("r", 0.0)))
    x = np.linspace(-10.0, 10.0, 200_001)
    density = np.exp(-x * x / 2)
    mean = float(f(wide * weights_of(point)[0] * x) @ density / density.sum())
    return lambda t: f(t) - mean


def make_model(point: Point, p: int) -> tuple[Array, tuple[Array, ...], Kernel]:
    """The signal, all vectors of the weights in R^p, and logits between two sets of tokens."""
    scale, keys, queries = weights_of(point)
    size = max(1, keys.shape[1] if keys.size else 1)
    frame = frame_of(point, p, size)
    mu = np.sqrt(float(point.get("snr", 0.0))) * frame[0]
    key, query = ((rows @ frame if rows.size else np.zeros((0, p))) for rows in (keys, queries))

    def logits(left: Array, right: Array) -> Array:
        found: Array = scale * (left.T @ right)
        if key.size:
            found += (left.T @ key.T) @ (query @ right)
        return found / np.sqrt(p)

    return mu, (mu, *key, *query), logits


#: Nonlinearities whose mean knows the length of a token, and those of them without a linear part.
EVEN, PURELY_EVEN = ("cos", "exp-clip", "relu", "softmax"), ("cos",)


def correction_orders(point: Point) -> tuple[float, ...]:
    """Power of the size in the leading correction: a half where labels of a mean or a third moment meet f's even part.

    With balanced labels, or no linear part beside the even one, the leading power is one.
    """
    name, mean = point.get("nonlinearity"), float(point.get("imbalance", 0.0))
    is_mixed = mean != 0 and name in EVEN and name not in PURELY_EVEN
    return (0.5, 1.0) if float(point.get("third", 0.0)) else (0.5,) if is_mixed else (1.0,)


def is_gaussian(point: Point) -> bool:
    """Whether the controls have the means that they are known to have."""
    return str(point.get("tokens", "matched")) in ("matched", "gaussian") and moments_of(point) == (0.0, 3.0)


def series_begin(point: Point) -> int:
    """The size from which on corrections are a series: for Gaussian tokens where the leading power is one.

    Where it is a half the next power comes with a factor of its own, and small sizes do not tell the two apart.
    """
    return series_from(point) if correction_orders(point) == (1.0,) and is_gaussian(point) else 0


class ContextControls:
    """Controls of a context at p and n: of its tokens, of their lengths, and of attention by f without weights.

    The lengths are taken where f or unbalanced labels see them; of a function that is not odd the vector of ones too.
    """

    def __init__(self, point: Point, n: int, mu: Array, directions: tuple[Array, ...]) -> None:
        mean, name = float(point.get("imbalance", 0.0)), point.get("nonlinearity")
        self.mu, self.directions, self.sees_lengths = mu, directions, name in EVEN or mean != 0
        self.scale, function, self.diagonal = weights_of(point)[0], centred(point), float(point.get("diagonal", 0.0))
        self.kernel: KernelControls | ClassControls | None = None

        def scaled(t: Array) -> Array:
            return function(self.scale * t)

        self.f = scaled
        place = (mu.size, n, *sorted((name, str(value)) for name, value in point.items()))
        rank = int(np.linalg.matrix_rank(np.array(directions)))
        # its means are integrals over the token's projections, in three dimensions at the most
        if is_suitable(scaled) and rank <= len(PROJECTIONS) - 1:
            if place not in _KERNELS:
                _KERNELS[place] = KernelControls(scaled, self.diagonal, n, mu, directions)
            self.kernel = _KERNELS[place]
        elif self.sees_lengths and (nodes := nodes_for(scaled, rank)):
            if place not in _KERNELS:
                _KERNELS[place] = ClassControls(scaled, self.diagonal, mu, directions, nodes)
            self.kernel = _KERNELS[place]

    def __call__(self, tokens: Array, labels: Array) -> Array:
        """The controls of one draw."""
        found = [token_controls(tokens, labels, self.mu, self.directions)]
        if self.sees_lengths:
            found.append(length_controls(tokens, labels, self.mu))
        if self.kernel is not None:
            p = self.mu.size
            bare = make_attention(tokens.T @ tokens / np.sqrt(p), self.f, p, self.diagonal)
            found.append(self.kernel(tokens, labels, bare))
        return np.concatenate(found)


#: Controls of attention matrices by point and size: their means are integrals.
_KERNELS: dict[Any, KernelControls | ClassControls] = {}


def draw_context(point: Point, rng: Generator, n: int, mu: Array, mean: float) -> tuple[Array, Array]:
    """A context and its labels."""
    labels = draw_labels(rng, n, mean)
    return draw_noise(rng, (mu.size, n), point) + np.outer(mu, labels), labels
