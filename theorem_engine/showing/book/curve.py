"""The curve of an entry over its main letter, around the point of its example, with simulated points beside it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from theorem_engine.asking.prediction import Prediction, predict
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.base.exact import as_float, read_number, to_text
from theorem_engine.checking.simulated import Drawn, simulate_output
from theorem_engine.language.domains import Interval
from theorem_engine.language.entry import Entry
from theorem_engine.language.letters import Letter
from theorem_engine.showing.book.svg_plot import hidden_error
from theorem_engine.showing.example import example_of
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.names import read_name

#: Points of a curve: as many as the first number, or fewer where they take long.
COUNTS = (41, 17)
#: Seconds that a curve may take.
SECONDS = 10.0
#: Simulated points, and the seconds that each may take.
SIMULATED, SIMULATED_SECONDS = 5, 0.4
#: Part of these seconds for a first look, which is enough where the bar is hidden behind the dot.
_LOOK = 0.2
#: A range of more than this ratio is walked on a logarithmic scale.
_WIDE = 20.0


@dataclass(frozen=True)
class Curve:
    """Values along a letter, NaN where there are none; what is held fixed, and what is to be said of it."""

    letter: str
    letter_meaning: str
    output: str
    output_meaning: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    errors: tuple[float, ...]
    fixed: str
    is_logarithmic: bool
    simulated: tuple[tuple[float, float, float], ...]
    remarks: tuple[str, ...]


def curve_of(entry: Entry) -> Curve | str:
    """The curve, or the reason why none is drawn."""
    example = example_of(entry)
    if example is None:
        return "the entry has no example to start from"
    if entry.costly:
        return "one value can take many seconds; theorem-engine sweep computes such curves"
    letter = main_letter(entry, example.point)
    if letter is None:
        return "no letter of the example is a real number to run along"
    first = _asked(entry, example.point)
    output = _real_output(entry, first)
    if output is None:
        return "no output is a single real number"
    _ = first.errors
    # time of this process: how busy the machine is does not change the page
    begin = time.process_time()
    _ = _asked(entry, example.point).errors
    each = time.process_time() - begin
    count = next((n for n in COUNTS if n * each < SECONDS), 0)
    if not count:
        return f"one value with its error takes {each:.1f} s; theorem-engine sweep computes such curves"
    return _walked(entry, dict(example.point), letter, output, count)


def main_letter(entry: Entry, point: Mapping[str, Any]) -> Letter | None:
    """The first given letter of the point that is a real number."""
    return next((x for x in entry.letters if x.name in point and type(x.domain) is Interval), None)


def _asked(entry: Entry, point: Mapping[str, Any]) -> Prediction:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return predict(entry.id, **point)


def _real_output(entry: Entry, prediction: Prediction) -> str | None:
    return next((name for name in entry.outputs if _real(prediction.outputs.get(name)) is not None), None)


def _real(value: Any) -> float | None:
    """The value as a finite float; None if it is not one real number."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    is_other = value is None or isinstance(value, (bool, str, Mapping, list, tuple, complex))
    if is_other or kind in "bc" or getattr(value, "shape", None):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _without_id(entry: Entry, sentence: str) -> str:
    """A sentence about an entry, for the page of that entry; powers as people write them."""
    return sentence.removeprefix(f"{entry.id}: ").rstrip(".").replace("**", "^")


def _error(value: Any) -> float:
    """An error as a float; what is not known is infinite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.inf
    return math.inf if math.isnan(number) else number


def _walked(entry: Entry, point: dict[str, Any], letter: Letter, output: str, count: int) -> Curve:
    places, is_logarithmic = places_of(letter, point[letter.name], count)
    values, errors, refused = [], [], []
    warned: dict[str, None] = {}
    warnings_at = 0
    for text in places:
        value, error = math.nan, 0.0
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            try:
                prediction = predict(entry.id, **{**point, letter.name: text})
                found = _real(prediction.outputs.get(output))
                # outputs of what does not exist are gaps
                if found is not None and not prediction.missing:
                    value, error = found, _error(prediction.errors[output])
            except TheoremEngineError as reason:
                refused.append(_without_id(entry, str(reason)))
        mine = [_without_id(entry, str(w.message)) for w in raised if issubclass(w.category, ValidityWarning)]
        warned.update(dict.fromkeys(mine))
        warnings_at += bool(mine)
        values.append(value)
        errors.append(error)
    remarks = []
    if refused:
        remarks.append(f"At {len(refused)} of {count} places there is no value. The first reason: {refused[0]}.")
    unknown = sum(not math.isfinite(error) for error in errors)
    if unknown:
        remarks.append(f"At {unknown} of {count} places the error is not known.")
    if warnings_at:
        remarks.append(f"At {warnings_at} of {count} places the engine warns. The first warning: {next(iter(warned))}.")
    fixed = ", ".join(f"{name} = {to_text(value)}" for name, value in point.items() if name != letter.name)
    simulated, drawn = _simulated(entry, point, letter, output, places, values)
    return Curve(
        plain(read_name(letter.latex_name)), letter.meaning, output, entry.outputs[output].meaning,
        tuple(map(float, places)), tuple(values), tuple(errors), fixed, is_logarithmic, simulated,
        (*remarks, *drawn),
    )  # fmt: skip


def places_of(letter: Letter, around: Any, count: int) -> tuple[list[str], bool]:
    """Decimals over the range that is typical of a letter, or that lies around a value of it.

    Ends that the domain leaves out are left out.
    """
    domain: Any = letter.domain
    here = as_float(read_number(around))
    low, high = float(domain.low), float(domain.high)
    if letter.typical:
        low, high = max(low, as_float(letter.typical[0])), min(high, as_float(letter.typical[1]))
    else:
        low = low if math.isfinite(low) else here - 4 * max(abs(here), 1.0)
        high = high if math.isfinite(high) else max(4 * abs(here), 1.0)
    low, high = (min(low, here), max(high, here)) if math.isfinite(here) else (low, high)
    is_logarithmic = low > 0 and high > _WIDE * low
    if is_logarithmic:
        return [f"{low * (high / low) ** (k / (count - 1)):.4g}" for k in range(count)], True
    if domain.is_open_below and low == float(domain.low):
        low += (high - low) / (2 * count)
    if domain.is_open_above and high == float(domain.high):
        high -= (high - low) / (2 * count)
    places = [low + (high - low) * k / (count - 1) for k in range(count)]
    return [f"{0.0 if abs(x) < 1e-9 * (high - low) else x:.4g}" for x in places], False


def _simulated(
    entry: Entry, point: dict[str, Any], letter: Letter, output: str, places: list[str], values: list[float]
) -> tuple[tuple[tuple[float, float, float], ...], tuple[str, ...]]:
    """What the entry's simulators draw at some of the places: (place, mean, two standard errors), and words on it."""
    found: list[tuple[float, float, float]] = []
    sizes: set[str] = set()
    names: set[str] = set()
    step = len(places) // SIMULATED
    for text in places[step // 2 :: step]:
        try:
            rows = _drawn(entry, {**point, letter.name: text}, output, values)
        except TheoremEngineError:
            continue
        for row in rows:
            found.append((float(text), float(row.value), 2 * float(row.error or 0.0)))
            names.add(row.simulator)
            sizes.update(f"{k} = {v}" for k, v in row.sizes.items())
    if not found:
        return (), ()
    at = f" at {', '.join(sorted(sizes))}" if sizes else ""
    text = (
        f"Dots: {', '.join(sorted(names))}, which never saw the formula{at}, seed 0, at most {SIMULATED_SECONDS:g} s "
        "each; bars are two standard errors."
    )
    return tuple(found), (text,)


def _drawn(entry: Entry, point: Mapping[str, Any], output: str, values: list[float]) -> list[Drawn]:
    """Rows of an output at a point, with as many samples as the time allows or a dot can show."""

    def rows(seconds: float) -> list[Drawn]:
        drawn = simulate_output(entry.id, output, seconds=seconds, **point).rows
        return [
            row for row in drawn
            if row.output == output and _real(row.value) is not None
            and row.error is not None and math.isfinite(row.error)
        ]  # fmt: skip

    look = _LOOK * SIMULATED_SECONDS
    begin = time.process_time()
    found = rows(look)
    if time.process_time() - begin > SIMULATED_SECONDS / 2:
        # the fewest samples that make an error took much of the time
        return found
    # how many times as many samples hide the bar behind the dot
    times = [
        _ratio(2 * float(row.error or 0.0), hidden_error(values, row.value)) ** 2
        for row in found if not row.deterministic
    ]  # fmt: skip
    missing = max(times, default=0.0)
    return found if missing <= 1 else rows(min(SIMULATED_SECONDS, 1.5 * missing * look))


def _ratio(error: float, hidden: float) -> float:
    return error / hidden if hidden > 0 else (math.inf if error > 0 else 0.0)
