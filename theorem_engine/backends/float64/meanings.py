"""What the names of functions in generated code mean to NumPy; free of SymPy, so that kept code runs without it."""

from __future__ import annotations

import functools
from functools import cache
from typing import Any

import numpy as np


def _softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


def _log_softplus(x: Any) -> Any:
    # below -37 the logarithm of 1 + exp(x) is exp(x) to rounding, and may underflow
    return np.where(np.less(x, -37.0), x, np.log(np.logaddexp(0.0, np.maximum(x, -37.0))))[()]


def _up_to(x: Any, left: Any) -> Any:
    # numbers that carry errors take what was left out into theirs
    carrier = next((each for each in (x, left) if hasattr(each, "up_to")), None)
    return carrier.up_to(x, left) if carrier is not None else x + np.zeros(np.shape(left))[()]


def _largest_token(x: Any) -> Any:
    # token by token: a maximum along a short axis costs many times more
    return functools.reduce(np.maximum, (x[..., i : i + 1] for i in range(x.shape[-1])))


def _token_log_sum(x: Any) -> Any:
    top = _largest_token(x)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return top + np.log(np.matmul(np.exp(x - top), np.ones(x.shape[-1]))[..., None])


@cache
def namespace() -> dict[str, Any]:
    """Numeric meaning of function names in generated code."""
    from scipy import special

    root_half_pi, root_half = float(np.sqrt(np.pi / 2)), float(np.sqrt(0.5))
    inverse_root_2pi = float(1 / np.sqrt(2 * np.pi))
    return {
        "erf": special.erf,
        "erfc": special.erfc,
        "erfcx": special.erfcx,
        "normal_pdf": lambda x: inverse_root_2pi * np.exp(-0.5 * x * x),
        "normal_cdf": special.ndtr,
        "mills": lambda x: root_half_pi * special.erfcx(root_half * x),
        "OwenT": special.owens_t,
        "LambertW": lambda x, k=0: special.lambertw(x, int(k)).real,
        "expm1": np.expm1,
        "log1p": np.log1p,
        "loggamma": special.gammaln,
        "UpTo": _up_to,
        "positive_part": lambda x: np.maximum(x, 0.0),
        # a product with ones is many times faster than a sum over a short axis
        "TokenSum": lambda x: np.matmul(x, np.ones(np.shape(x)[-1]))[..., None],
        "BatchSum": lambda x: np.sum(x, axis=(-2, -1), keepdims=True),
        "TokenSort": lambda x: -np.sort(-x, axis=-1),
        "TokenMax": _largest_token,
        "TokenLogSum": _token_log_sum,
        "softplus": _softplus,
        "log_softplus": _log_softplus,
    }
