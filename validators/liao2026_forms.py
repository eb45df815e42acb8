"""Quadratic forms behind the effect of weights on the interpolation error, on drawn matrices.

With u = X^T w/sqrt(p) weights change the attention matrix by a u_K u_Q^T to first order in their entries, a being the
slope of f. Writing Q0 for the resolvent without weights and h = c a K0 S u_K, the change of Q0^(-1) has rank two, and
Woodbury's identity gives y^T Q y from the forms of Q0 between y, u_Q and h. All of them are taken as they are drawn.
"""

from __future__ import annotations

import numpy as np

from .liao2026 import attention_error, correction_orders
from .liao2026_controls import Run, controlled, token_controls
from .liao2026_kernel_controls import kernel_controls
from .liao2026_matrices import slope_of
from .liao2026_model import (
    SIZE,
    Array,
    Generator,
    Point,
    draw_labels,
    draw_tokens,
    function_of,
    make_attention,
    make_logits,
    make_vectors,
    ridge_residual,
    series_from,
    sizes,
)
from .simulator import simulator

OUTPUTS = ("error", "A", "A0", "v1", "v2", "M11", "M12", "M22")


@simulator(size=SIZE, orders=correction_orders, cost=3.0, series_from=series_from, covers=OUTPUTS)
def weight_forms(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error, y^T Q y/n with weights and without them, and the vector and matrix of the rank-two change.

    The forms are written for weights given by their products; with a file of weights the error is all there is.
    """
    if "weights_file" in point:
        return dict(attention_error(point, rng, count))
    p, n = sizes(point)
    gamma, diagonal, f = float(point["gamma"]), float(point.get("diagonal", 0.0)), function_of(point)
    slope = slope_of(point)

    def make_run(p: int, n: int) -> Run:
        mu, key, query = make_vectors(point, p)
        nothing, c = np.zeros(p), p / n
        of_kernel = kernel_controls(point, f, p, n)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            labels = draw_labels(source, n)
            tokens = draw_tokens(source, mu, labels)
            unit = labels / np.sqrt(n)
            along_key, along_query = (tokens.T @ w / np.sqrt(p) for w in (key, query))
            logits = make_logits(tokens, nothing, nothing)
            bare = make_attention(logits, f, p, diagonal)
            logits += np.outer(along_key, np.sqrt(p) * along_query)
            left = ridge_residual(tokens @ make_attention(logits, f, p, diagonal), unit, gamma)
            image = tokens.T @ (tokens @ along_key) / p
            right = np.stack([unit, along_query, c * slope * (bare @ image)], axis=1)
            # what ridge regression leaves of a vector is gamma times its image under the resolvent
            forms = right.T @ ridge_residual(tokens @ bare, right, gamma) / gamma
            found = {
                "error": float(left @ left),
                "A": float(unit @ left) / gamma,
                "A0": float(forms[0, 0]),
                "v1": float(forms[0, 1]),
                "v2": float(forms[0, 2]),
                "M11": float(forms[1, 1]),
                "M12": 1 + float(forms[1, 2]),
                "M22": float(forms[2, 2] - slope**2 * c * (along_key @ image)),
            }
            controls = token_controls(tokens, labels, mu, (mu, key, query))
            if of_kernel is not None:
                controls = np.concatenate([controls, of_kernel(tokens, labels, bare)])
            return found, controls

        return run

    return controlled(make_run, ("weight_forms", p, n, point), rng, count)
