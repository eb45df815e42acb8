"""Vectorised NumPy in double precision: the default."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric, straight_line
from theorem_engine.domains import ComplexValue, Distribution
from theorem_engine.plan import Solve
from theorem_engine.values import as_float


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
    }


class Float64(Backend):
    """Double precision on scalars or on arrays of any shape."""

    name = "float64"

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """SymPy's NumPy printer with our assignments in place of its own elimination."""
        code = straight_line(inputs, equations, outputs)
        return sympy.lambdify(
            code.inputs, tuple(code.results), modules=[namespace(), "numpy"],
            cse=lambda _: (code.lines, tuple(code.results)), docstring_limit=0,
        )  # fmt: skip

    def group(self, solve: Solve) -> Numeric:
        """Newton with the symbolic Jacobian, vectorised over points."""
        from theorem_engine.backends.float64.group import lower_group

        return lower_group(solve, self)

    def number(self, value: Any) -> Any:
        """Nearest double; distributions pass as they are."""
        if isinstance(value, ComplexValue):
            return complex(as_float(value.real), as_float(value.imaginary))
        return value if isinstance(value, Distribution) else as_float(value)


BACKEND = Float64()
