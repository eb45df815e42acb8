"""The shape of a check's result as plain data: what a journal must hold before its word is taken."""

from __future__ import annotations

import math
from typing import Any

VERDICTS = ("agrees", "disagrees", "cannot tell")


def is_result(data: Any) -> bool:
    """Whether plain data have all that reports read, each of its kind.

    >>> is_result({"verdict": "agrees"})
    False
    """
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(name), str) for name in ("entry", "reason"))
        and data.get("verdict") in VERDICTS
        and isinstance(data.get("point"), dict)
        and all(isinstance(value, str) for value in data["point"].values())
        and all(_is_count(data.get(name)) for name in ("samples", "seed"))
        and all(_is_number(data.get(name)) and data[name] >= 0 for name in ("seconds", "false_alarm"))
        and isinstance(data.get("notes"), list)
        and all(isinstance(note, str) for note in data["notes"])
        and isinstance(data.get("outputs"), dict)
        and all(_is_outcome(outcome) for outcome in data["outputs"].values())
        and isinstance(data.get("rows"), list)
        and all(_is_row(row) for row in data["rows"])
    )


def _is_outcome(data: Any) -> bool:
    return isinstance(data, dict) and all(isinstance(data.get(name), str) for name in ("verdict", "reason"))


def _is_row(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and all(isinstance(data.get(name), str) for name in ("output", "simulator", "treatment", "reason"))
        and data.get("verdict") in VERDICTS
        and _is_count(data.get("samples"))
        and {"prediction", "estimate"} <= set(data)
        and all(
            name in data and (data[name] is None or _is_number(data[name]) or data[name] in ("inf", "-inf"))
            for name in ("z", "standard_error", "raw_gap", "gap", "visible")
        )
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
