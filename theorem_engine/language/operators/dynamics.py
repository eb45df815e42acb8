"""Discrete and continuous dynamical laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from theorem_engine.language.operators.base import Component, Operator, Part, hygienic, only


class Law(Operator):
    """State letters with their rules, from a start, for some duration."""

    bodies = Part(0, "Right-hand side for each state letter.", tuple)
    state = Part(1, "The state letters.", tuple)
    start = Part(2, "Initial values.", tuple)
    duration = Part(3, "Steps or time.")
    #: Expressions of the state that are evaluated at the end.
    readings: Any = ()

    def components(self) -> int:
        """One value per state letter, then one per reading."""
        return len(self.state) + len(self.readings)

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return [*(letter.name for letter in self.state), *(f"reading {i + 1}" for i in range(len(self.readings)))]

    def reading(self, index: int = 0) -> Any:
        """The value of a reading at the end."""
        return Component(self, len(self.state) + index)

    def at(self, letter: Any) -> Any:
        """The final value of a state letter."""
        return Component(self, [x.name for x in self.state].index(letter.name))

    def _latex(self, printer: Any) -> str:
        rules = r",\; ".join(
            rf"{printer._print(x)} \leftarrow {printer._print(b)}" for x, b in zip(self.state, self.bodies, strict=True)
        )
        return rf"\left({rules}\right)^{{\circ {printer._print(self.duration)}}}"


class _FixedLaw(Law):
    """A law whose rules hold no random numbers."""

    binds = ("state", "clock")
    clock = Part(4, "The letter that counts steps or time inside the rules, if they use one.", only)
    until = Part(5, "The condition that ends the run early, if there is one.", only)
    readings = Part(6, "Expressions of the state that are evaluated at the end.", tuple)

    @classmethod
    def of(
        cls,
        rules: Mapping[Any, Any],
        start: Mapping[Any, Any] | None,
        duration: Any,
        clock: Any = None,
        until: Any = None,
        readings: tuple[Any, ...] = (),
    ) -> Any:
        """Bind the state letters; a letter without a start value starts at its own outer value.

        ``until`` is a condition on the state that ends the run early; ``readings`` are expressions of the state that
        are evaluated at the end, of flows only.
        """
        state = tuple(rules)
        first = [sympy.sympify((start or {}).get(letter, letter), strict=True) for letter in state]
        clocks = () if clock is None else (clock,)
        conditions = () if until is None else (until,)
        inside = (*rules.values(), *conditions, *readings)
        twins, bound = hygienic(state + clocks, *(sympy.sympify(x, strict=True) for x in inside))
        bodies, rest = bound[: len(state)], bound[len(state) :]
        stop, read = rest[: len(conditions)], rest[len(conditions) :]
        return sympy.Expr.__new__(
            cls,
            sympy.Tuple(*bodies),
            sympy.Tuple(*twins[: len(state)]),
            sympy.Tuple(*first),
            sympy.sympify(duration, strict=True),
            sympy.Tuple(*twins[len(state) :]),
            sympy.Tuple(*stop),
            sympy.Tuple(*read),
        )


class Recurrence(_FixedLaw):
    """State after a number of steps of ``letter <- rule``, all letters at once.

    ``Recurrence.of({kappa: rule, ...}, start, steps, clock=step)``; the clock is 0 in the first step.
    """

    lowering = "recurrence"


class Flow(_FixedLaw):
    """State after some time of ``d letter/dt = rule``."""

    lowering = "flow"
    vectorised = False

    def _latex(self, printer: Any) -> str:
        rules = r",\; ".join(
            rf"\dot{{{printer._print(x)}}} = {printer._print(b)}" for x, b in zip(self.state, self.bodies, strict=True)
        )
        return rf"\left({rules}\right)_{{t = {printer._print(self.duration)}}}"


class Trajectory(Operator):
    """The way of a law, not only its end: arrays of the clock and of every state letter.

    A recurrence is logged every ``every`` steps, first and last included; a flow at ``every`` equal
    pieces of its time.
    """

    lowering = "trajectory"
    law = Part(0, "The law followed.")
    every = Part(1, "Spacing (recurrence) or number of pieces (flow).")

    def __new__(cls, law: Any, every: Any) -> Any:
        """Wrap a law."""
        return sympy.Expr.__new__(cls, law, sympy.sympify(every, strict=True))

    def components(self) -> int:
        """The clock and the state as arrays, then the final state as numbers."""
        return 1 + 2 * len(self.law.state)  # a log has no readings

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        names = self.law.component_names()
        return ["clock", *names, *(f"final {name}" for name in names)]

    def at(self, letter: Any) -> Any:
        """The final value of a state letter, from the same run as the log."""
        names = self.law.component_names()
        return Component(self, 1 + len(names) + names.index(letter.name))

    def columns(self, clock: str) -> dict[str, Any]:
        """All components by name, for an output."""
        names = [clock, *self.law.component_names()]
        return {name: Component(self, i) for i, name in enumerate(names)}

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{trajectory}} {printer._print(self.law)}"
