"""Numbers as text and as plain data: no digit beyond what their errors cover."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from theorem_engine.base.exact import to_text
from theorem_engine.base.precision import decimals

#: Significant digits of an output whose own error is not known: what float64 evaluation promises.
PROMISED = 12


#: A list longer than this is shown by its ends.
_LONGEST = 8


def jsonable(value: Any, digits: int | None) -> Any:
    """The value as plain JSON data.

    Numbers of more than double precision become text with ``digits`` significant digits; infinities
    become the text "inf" or "-inf", which JSON has no numbers for.

    >>> jsonable({"a": [1.5, float("inf")], "b": 2 + 1j}, None)
    {'a': [1.5, 'inf'], 'b': {'re': 2.0, 'im': 1.0}}
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if hasattr(value, "_mpf_"):
        return _mpf_json(value, digits)
    if isinstance(value, complex) or hasattr(value, "_mpc_"):
        return {"re": jsonable(value.real, digits), "im": jsonable(value.imag, digits)}
    if isinstance(value, float):
        # a NumPy float64 is a Python float too; only its type would be odd in the output
        return float(value) if math.isfinite(value) else None if math.isnan(value) else to_text(float(value))
    if isinstance(value, Mapping):
        return {str(key): jsonable(part, digits) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(part, digits) for part in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist(), digits)
    return to_text(value)


def _mpf_json(value: Any, digits: int | None) -> Any:
    """Text at the digits asked for; with none asked, a plain number if a float can hold it."""
    if digits is None and (value == 0 or 1e-300 < abs(value) < 1e300):
        return float(value)
    return number_text(value, digits or 3)


def number_text(value: Any, digits: int | None) -> str:
    """A number with so many significant digits, trailing zeros kept; all of a float's digits if None."""
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {number_text(part, digits)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        parts = [number_text(part, digits) for part in (value if len(value) <= _LONGEST else [*value[:3], value[-1]])]
        if len(parts) < len(value):
            parts[3:3] = [f"... {len(value) - len(parts)} more ..."]
        return "[" + ", ".join(parts) + "]"
    if isinstance(value, complex) or hasattr(value, "_mpc_"):
        imaginary = number_text(value.imag, digits)
        return f"{number_text(value.real, digits)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if not (isinstance(value, (int, float)) or hasattr(value, "_mpf_")) or value != value:
        return str(value)
    if abs(value) == math.inf:
        return "inf" if value > 0 else "-inf"
    if hasattr(value, "_mpf_"):
        from mpmath import nstr

        return _without_bare_point(str(nstr(value, digits or 15, strip_zeros=False)))
    if digits is None or value == 0:
        return repr(value)
    if isinstance(value, int) and abs(value) > 2**53:
        from mpmath import mp, nstr

        with decimals(digits + 5):
            return str(nstr(mp.mpf(value), digits)).removesuffix(".")
    return _without_bare_point(f"{value:#.{min(digits, 17)}g}")


def _without_bare_point(text: str) -> str:
    """A number of a single digit has no point behind it."""
    return text.removesuffix(".").replace(".e", "e")


def error_text(error: Any) -> str:
    """An error to one digit, rounded up, so that the text never promises more than the number."""
    if error is None:
        return "unknown"
    if error == 0:
        return "0"
    if not error < math.inf:
        return "inf" if error == math.inf else "unknown"
    exponent = _exponent(error)
    lead = math.ceil(error / _power_of_ten(error, exponent))
    return f"{lead}e{exponent}" if lead < 10 else f"1e{exponent + 1}"


def _exponent(value: Any) -> int:
    """The power of ten of the leading digit."""
    if isinstance(value, float):
        # a double is a decimal number, whose leading digit has a place
        return Decimal(value).adjusted()
    from mpmath import mp

    # the power may have many digits itself, which a logarithm needs before any other
    with decimals(20 + len(str(mp.frexp(value)[1]))):
        return int(mp.floor(mp.log10(abs(value))))


def _exponent_of_text(text: str) -> int:
    """The power of ten of the leading digit of a number as text."""
    return Decimal(text).adjusted()


def _power_of_ten(like: Any, exponent: int) -> Any:
    if exponent >= -300 and not hasattr(like, "_mpf_"):
        return 10.0**exponent
    from mpmath import mp

    with decimals(20 + len(str(exponent))):
        return mp.mpf(10) ** exponent


def value_text(value: Any, error: Any, digits: int | None) -> str:
    """A value with the digits its error leaves standing, and no more than ``digits`` if so many were asked for.

    The error has the shape of the value, or is one number for all of it; None where it is not known.

    >>> value_text(0.123456789, 2e-5, None), value_text(0.123456789, 2e-5, 3), value_text(0.5, None, 4)
    ('0.12346', '0.123', '0.5000')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value_text(v, _part(error, key), digits)}" for key, v in value.items()) + "}"
    if hasattr(value, "tolist") and getattr(value, "ndim", None):
        value, error = value.tolist(), error.tolist() if hasattr(error, "tolist") else error
    if isinstance(value, (list, tuple)):
        places = range(len(value)) if len(value) <= _LONGEST else (0, 1, 2, len(value) - 1)
        parts = [value_text(value[i], _part(error, i), digits) for i in places]
        if len(parts) < len(value):
            parts[3:3] = [f"... {len(value) - len(parts)} more ..."]
        return "[" + ", ".join(parts) + "]"
    if (isinstance(value, complex) or hasattr(value, "_mpc_")) and error is not None:
        imaginary = value_text(value.imag, error, digits)
        return f"{value_text(value.real, error, digits)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if (isinstance(value, float) or hasattr(value, "_mpf_")) and error is not None and abs(value) < math.inf:
        if error == 0:
            return number_text(value, digits)
        if value == 0:
            return "0"
        # of a value without a certain digit the first one is shown, with its error beside it
        covered = _exponent(value) - _exponent(error) + 1 if error < math.inf else 1
        most = digits or 17
        text = number_text(value, max(1, min(most, covered)))
        if 1 <= covered < most and _exponent_of_text(text) > _exponent(value):
            # 9.996 becomes 10.0: a zero more ends where the error begins
            return number_text(type(value)(text), covered + 1)
        return text
    return number_text(value, digits or (PROMISED if error is None or error > 0 else None))


def _part(error: Any, key: Any) -> Any:
    """The error of one part of a value."""
    return error[key] if isinstance(error, (Mapping, list, tuple)) else error
