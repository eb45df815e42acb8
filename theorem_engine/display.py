"""Entries and predictions as text, as HTML with MathML, and as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from theorem_engine.errors import TheoremEngineError
from theorem_engine.values import to_text

if TYPE_CHECKING:
    from theorem_engine.declaration import Entry
    from theorem_engine.predicting import Prediction

#: Significant digits of an output whose own error is not known: what float64 evaluation promises.
PROMISED = 12
_WIDTH = 110
#: Characters of an equation that are shown as text.
_READABLE = 600
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

        return str(nstr(value, digits or 15, strip_zeros=False)).removesuffix(".")
    if digits is None or value == 0:
        return repr(value)
    if isinstance(value, int) and abs(value) > 2**53:
        from mpmath import mp, nstr

        with mp.workdps(digits + 5):
            return str(nstr(mp.mpf(value), digits)).removesuffix(".")
    return f"{value:#.{min(digits, 17)}g}".removesuffix(".")


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
    from mpmath import mp

    return int(mp.floor(mp.log10(abs(value))))


def _power_of_ten(like: Any, exponent: int) -> Any:
    from mpmath import mp

    return mp.mpf(10) ** exponent if hasattr(like, "_mpf_") or exponent < -300 else 10.0**exponent


def known_errors(prediction: Prediction) -> Mapping[str, Any]:
    """The errors of a prediction by output; none where they could not be worked out: showing a value never fails."""
    try:
        return prediction.errors or {}
    except TheoremEngineError:
        return {}


def value_text(value: Any, error: Any, digits: int | None) -> str:
    """A value with the digits its error leaves standing (all of ``digits`` if that was asked for).

    The error has the shape of the value, or is one number for all of it; None where it is not known.
    """
    if digits is not None:
        return number_text(value, digits)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value_text(v, _part(error, key), None)}" for key, v in value.items()) + "}"
    if hasattr(value, "tolist") and getattr(value, "ndim", None):
        value, error = value.tolist(), error.tolist() if hasattr(error, "tolist") else error
    if isinstance(value, (list, tuple)):
        places = range(len(value)) if len(value) <= _LONGEST else (0, 1, 2, len(value) - 1)
        parts = [value_text(value[i], _part(error, i), None) for i in places]
        if len(parts) < len(value):
            parts[3:3] = [f"... {len(value) - len(parts)} more ..."]
        return "[" + ", ".join(parts) + "]"
    if isinstance(value, complex) and error is not None:
        imaginary = value_text(value.imag, error, None)
        return f"{value_text(value.real, error, None)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if isinstance(value, float) and error is not None and math.isfinite(value):
        if error == 0:
            return number_text(value, None)
        if value == 0:
            return "0"
        # of a value without a certain digit the first one is shown, with its error beside it
        covered = _exponent(value) - _exponent(error) + 1 if error < math.inf else 1
        return number_text(value, max(1, min(17, covered)))
    return number_text(value, PROMISED if error is None or error > 0 else None)


def _part(error: Any, key: Any) -> Any:
    """The error of one part of a value."""
    return error[key] if isinstance(error, (Mapping, list, tuple)) else error


def prediction_text(prediction: Prediction) -> str:
    """The entry, the point, the main output with its error, and the other outputs below it."""
    point = ", ".join(f"{name}={to_text(value)}" for name, value in prediction.point.items())
    rows = list(_prediction_rows(prediction))
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name.ljust(width)} = {value}{remark}" for name, value, remark in rows]
    return "\n".join([f"{prediction.entry.id} at {point}" if point else prediction.entry.id, *lines])


def _prediction_rows(prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of each output, the main one first."""
    main, errors, digits = prediction.entry.main_output, known_errors(prediction), prediction.digits
    sign = _sign(prediction.value, errors.get(main))
    kind = _kind_text(prediction) if main in errors else "error unknown"
    yield main, value_text(prediction.value, errors.get(main), digits), f"{sign}  ({kind}, {prediction.method})"
    told = f"  ({_drawn_text(prediction)})" if prediction.error_level and prediction.error_kind == "exact" else ""
    for name, value in prediction.outputs.items():
        if name != main:
            # digits that were asked for are all right: their number says what the error would
            remark = "" if digits else _sign(value, errors.get(name))
            yield name, value_text(value, errors.get(name), digits), remark and remark + told


def _sign(value: Any, error: Any) -> str:
    """The error of a number beside it; of lists and tables the digits shown have to tell."""
    is_one = isinstance(value, (float, complex)) or hasattr(value, "_mpf_") or hasattr(value, "_mpc_")
    return f" +- {error_text(error)}" if is_one and error is not None else ""


def _kind_text(prediction: Prediction) -> str:
    """The kind of the error, with the level of one that is statistical."""
    if prediction.error_level is None or prediction.error_kind == "exact":
        return prediction.error_kind
    if prediction.error_kind == "statistical":
        return _drawn_text(prediction)
    return f"{prediction.error_kind}; the error is {_drawn_text(prediction)}"


def _drawn_text(prediction: Prediction) -> str:
    return f"statistical at {100 * (prediction.error_level or 0):g} %"


def prediction_html(prediction: Prediction) -> str:
    """The same as a small table."""
    point = ", ".join(f"{escape(name)} = {escape(to_text(value))}" for name, value in prediction.point.items())
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td><td>{escape(remark.replace('+-', '±').strip())}</td></tr>"
        for name, value, remark in _prediction_rows(prediction)
    )
    return f"<div><code>{escape(prediction.entry.id)}</code> at {point or 'its only point'}<table>{rows}</table></div>"


def entry_text(entry: Entry) -> str:
    """A page about one entry: what it says, what it takes and gives, and where it comes from."""
    lines = [f"{entry.id} ({entry.kind})", entry.title, "", textwrap.indent(entry.description, "  "), ""]
    for heading, rows in _sections(entry):
        lines.append(heading)
        width = max(len(left) for left, _ in rows)
        for left, right in rows:
            text = f"{left.ljust(width)}  {right}" if left else right
            lines.extend(textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=" " * (width + 4),
                                       break_long_words=False, break_on_hyphens=False))  # fmt: skip
    return "\n".join(lines)


def entry_html(entry: Entry) -> str:
    """The same page for a notebook, its equations as MathML."""
    parts = [f"<h3>{escape(entry.title)}</h3><p><code>{escape(entry.id)}</code> ({escape(entry.kind)})</p>"]
    parts.extend(f"<p>{escape(part)}</p>" for part in entry.description.split("\n\n"))
    for heading, rows in _sections(entry):
        if heading == "Equations":
            body = "".join(f"<p>{line}</p>" for line in equations_html(entry))
        else:
            cells = (f"<tr><td>{escape(left)}</td><td>{escape(right)}</td></tr>" for left, right in rows)
            body = f"<table>{''.join(cells)}</table>"
        parts.append(f"<h4>{heading}</h4>{body}")
    return f"<div>{''.join(parts)}</div>"


def _sections(entry: Entry) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Headings with rows of two columns; empty sections are left out."""
    from theorem_engine.declaration import MARKS

    def given(letter: Any) -> str:
        if letter.is_required:
            return f"{letter.meaning}; {letter.domain.describe()}"
        default = "may be left out" if letter.is_optional else f"{to_text(letter.default)} if not given"
        return f"{letter.meaning}; {letter.domain.describe()}; {default}"

    ranges = {name: f"; {output.range.describe()}" if output.range else "" for name, output in entry.outputs.items()}
    aliases = f"; also found as {', '.join(entry.all_aliases())}" if entry.all_aliases() else ""
    sections = {
        "Given": [(x.name, given(x)) for x in entry.given] + [("", rule_text(rule)) for rule in entry.given_rules],
        "Gives": [(name, f"{output.meaning}{ranges[name]}") for name, output in entry.outputs.items()],
        "Equations": [("", _cut(f"{left} = {right}")) for left, right in stated_equations(entry)],
        "Requires": [("", requirement_text(requirement)) for requirement in entry.requires],
        "Assumes": [("", text) for text in entry.assumes],
        "Regime": [("", str(entry.regime)), *(("", warning_text(warn)) for warn in entry.warns)],
        "Source": [("", f"{entry.source}{aliases}")],
        "Provenance": [(mark, MARKS[mark]) for mark in entry.marks],
        "Rests on": [("", name) for name in dict.fromkeys(entry.needs.values())],
        "Notes": [("", text) for text in entry.notes],
    }
    yield from ((heading, rows) for heading, rows in sections.items() if rows)


def _cut(equation: str) -> str:
    """An equation of readable length; ``show --json`` and ``entry.latex()`` have it whole."""
    return equation if len(equation) <= _READABLE else f"{equation[:_READABLE]} ... ({len(equation)} characters)"


def requirement_text(requirement: Any) -> str:
    """A condition on several letters, as a sentence."""
    if hasattr(requirement, "matrix"):
        return f"{requirement.meaning} is positive semidefinite"
    return str(requirement.text())


def warning_text(warn: Any) -> str:
    """Where a statement is known to be off, in words; with the relation that decides it, if there is one."""
    return str(warn.meaning) if hasattr(warn, "meaning") else f"{warn.message} ({warn.relation})"


def rule_text(rule: Any) -> str:
    """Which letters go together, as a sentence."""
    if hasattr(rule, "groups"):
        groups = " or ".join(" and ".join(group) for group in rule.groups)
        return f"give {groups}{'' if rule.required else ', or none of them'}"
    return f"{rule.letter} goes with {rule.option} = {' or '.join(map(to_text, rule.values))}"


def shown_options(entry: Entry) -> dict[str, Any]:
    """Options under which the statement is shown: the defaults, and the first of alternatives that need one."""
    from theorem_engine.declaration import OneOf, OnlyWith

    options = entry.default_options()
    for rule in entry.given_rules:
        wanted: tuple[str, ...] = ()
        if isinstance(rule, OneOf) and rule.required:
            wanted = rule.groups[0]
        elif isinstance(rule, OnlyWith) and rule.required and options.get(rule.option) in rule.values:
            wanted = (rule.letter,)
        for name in wanted:
            options.pop(name, None)
    return options


def stated_equations(entry: Entry) -> Iterator[tuple[Any, Any]]:
    """Equations as their author wrote them, without those the chain rule added."""
    from theorem_engine.statement import strip

    for symbol, equation in entry.statement(shown_options(entry)).equations.items():
        if not symbol.name.startswith("d("):
            yield symbol, strip(equation)


def equations_html(entry: Entry) -> Iterator[str]:
    """Each equation as MathML; as its LaTeX source where a node has no MathML."""
    import sympy

    from theorem_engine.mathml import mathml

    for left, right in stated_equations(entry):
        try:
            inside = f"<mrow>{mathml(left)}<mo>=</mo>{mathml(right)}</mrow>"
            yield f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inside}</math>'
        except (NotImplementedError, AttributeError, TypeError, ValueError, LookupError):
            # SymPy's printer meets nodes it was not written for with errors of these kinds
            yield f"<code>{escape(f'{sympy.latex(left)} = {sympy.latex(right)}')}</code>"
