"""Random unit vectors, seen only through their inner products, lengths of Gaussian ones, and synthetic sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theorem_engine.base.errors import BadRequest

if TYPE_CHECKING:
    from numpy.random import Generator


def uniform_inner_products(dimension: int, axes: int, vectors: int, rng: Generator, count: int) -> Any:
    """Coordinates (count, vectors, axes + vectors) of uniform unit vectors in a frame adapted to them.

    The first ``axes`` coordinates are inner products with fixed orthonormal vectors; the others come
    from Gram and Schmidt, so that all inner products are those of independent uniform vectors of the
    given dimension, which are never formed: a chi variable stands for all coordinates not yet used.
    """
    import numpy as np

    if dimension < axes + vectors:
        raise BadRequest(f"{vectors} vectors beside {axes} axes need a dimension of at least {axes + vectors}")
    frame = np.zeros((count, vectors, axes + vectors))
    for i in range(vectors):
        frame[:, i, : axes + i] = rng.standard_normal((count, axes + i))
        frame[:, i, axes + i] = np.sqrt(rng.chisquare(dimension - axes - i, size=count))
    frame /= np.linalg.norm(frame, axis=-1, keepdims=True)
    return frame


def chi_square(normal: Any, freedom: Any) -> Any:
    """The chi-square number that has the same probability below it as a standard normal number."""
    import numpy as np
    from scipy.special import gammainccinv, gammaincinv, ndtr

    # of the two tails the smaller one keeps its digits
    half, tail = freedom / 2, ndtr(-np.abs(normal))
    return 2 * np.where(np.asarray(normal) > 0, gammainccinv(half, tail), gammaincinv(half, tail))


def synthetic_sentences(d: int, L: int, gamma: float, rng: Generator, count: int) -> tuple[Any, Any]:
    """Sentences (count, L, d) of the paper's model and the positions of their informative tokens.

    k* and v* are the first two axes. Every token carries a value along v*, that of the informative one being what is
    asked for; its mean along k*, sqrt(d/2), is what tells it from the others.
    """
    import numpy as np

    tokens = rng.standard_normal((count, L, d))
    places = rng.integers(L, size=count)
    every = np.arange(count)
    tokens[every, places] *= gamma
    tokens[every, places, 0] += np.sqrt(d / 2)
    return tokens, places


def probed(features: Any, answers: Any, fresh: Any, ridge: float) -> Any:
    """A linear probe: ridge regression of answers on features, read on fresh features."""
    import numpy as np

    gram = features.T @ features + ridge * np.eye(features.shape[1])
    return fresh @ np.linalg.solve(gram, features.T @ answers)
