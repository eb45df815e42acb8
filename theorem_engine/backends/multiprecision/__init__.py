"""mpmath at any number of digits, one point at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, outside_meanings, straight_line
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import as_mpf
from theorem_engine.language.domains import Structured
from theorem_engine.planning.plan import Solve


def _erfcx(x: Any) -> Any:
    # exp(x^2) amplifies an error of x^2 units; carry the digits it costs
    with mp.extraprec(10 + 2 * max(0, int(mp.mag(x)) if x else 0)):
        value = mp.exp(x * x) * mp.erfc(x)
    return +value


def _owens_t(h: Any, a: Any) -> Any:
    from theorem_engine.backends.multiprecision.integral import integrate

    def density(x: Any) -> Any:
        return mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x)

    return integrate(density, mp.zero, a) / (2 * mp.pi)


def _up_to(x: Any, left: Any) -> Any:
    if abs(left) > mp.eps * abs(x):
        raise NotAvailable(
            f"the value is that of an expansion, known up to a term of {mp.nstr(abs(left), 2)}: it has no more digits"
        )
    return x


@cache
def namespace() -> dict[str, Any]:
    """Numeric meaning of function names in generated code."""
    return {
        "erf": mp.erf,
        "erfc": mp.erfc,
        "erfcx": _erfcx,
        "normal_pdf": lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
        "normal_cdf": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
        "mills": lambda x: mp.sqrt(mp.pi / 2) * _erfcx(x / mp.sqrt(2)),
        "OwenT": _owens_t,
        "LambertW": lambda x, k=0: mp.lambertw(x, int(k)).real,
        "expm1": mp.expm1,
        "log1p": mp.log1p,
        "loggamma": mp.loggamma,
        "UpTo": _up_to,
        "positive_part": lambda x: max(x, mp.zero),
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "log_softplus": lambda x: mp.log(mp.log1p(mp.exp(x))),
    }


class Multiprecision(Backend):
    """Scalars of mpmath's current working precision."""

    name = "multiprecision"

    def elementary(
        self, inputs: Sequence[Any], equations: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
    ) -> Numeric:
        """By SymPy's mpmath printer."""
        code = straight_line(inputs, equations, outputs)
        outside = outside_meanings(code.lines, self.name, namespace())
        return code.compiled([{**namespace(), **outside}, "mpmath"])

    def group(self, solve: Solve) -> Numeric:
        """The float64 solution, polished by Newton steps."""
        from theorem_engine.backends.multiprecision.group import lower_group

        return lower_group(solve, self)

    def number(self, value: Any) -> Any:
        """The value at the current precision; one that is more than one number says itself what it becomes."""
        return value.as_number(as_mpf, mp.mpc) if isinstance(value, Structured) else as_mpf(value)


BACKEND = Multiprecision()
