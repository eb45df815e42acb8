"""Results as plain data for JSON, and back to the same values, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def packed(value: Any) -> Any:
    """Plain data for JSON; what JSON has no word for is a mapping with one name: infinities, arrays, many digits."""
    if isinstance(value, Mapping):
        return {str(name): packed(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [packed(part) for part in value]
    if hasattr(value, "_mpf_"):
        sign, man, exp, _ = value._mpf_
        return {"mpf": [str(-int(man) if sign else int(man)), int(exp)]} if man or not exp else packed(float(value))
    if hasattr(value, "_mpc_"):
        return {"mpc": [packed(value.real), packed(value.imag)]}
    if isinstance(value, complex):
        return {"complex": [packed(value.real), packed(value.imag)]}
    if hasattr(value, "tolist") and value.ndim:
        return {"array": packed(value.tolist())}
    if hasattr(value, "item"):
        value = value.item()
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def unpacked(value: Any) -> Any:
    """The value that was packed; an error for data that nothing packs to."""
    if isinstance(value, list):
        return [unpacked(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    kind = next(iter(value)) if len(value) == 1 else ""
    if kind == "float":
        return float(value["float"])
    if kind == "array":
        import numpy as np

        return np.array(unpacked(value["array"]))
    if kind == "complex":
        return complex(*map(unpacked, value["complex"]))
    if kind == "mpf":
        from mpmath import mp
        from mpmath.libmp import from_man_exp

        man, exp = value["mpf"]
        return mp.make_mpf(from_man_exp(int(man), int(exp)))
    if kind == "mpc":
        from mpmath import mp

        return mp.make_mpc(tuple(part._mpf_ for part in map(unpacked, value["mpc"])))
    return {name: unpacked(part) for name, part in value.items()}
