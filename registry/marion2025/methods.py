"""Random unit vectors, seen only through their inner products, and lengths of Gaussian ones."""

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
