"""Discrete and continuous dynamical laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from theorem_engine.operators.base import Component, Operator, hygienic


class _Law(Operator):
    """State letters with their rules, from a start, for some duration."""

    @classmethod
    def of(cls, rules: Mapping[Any, Any], start: Mapping[Any, Any] | None, duration: Any, clock: Any = None) -> Any:
        """Bind the state letters; a letter without a start value starts at its own outer value."""
        state = tuple(rules)
        first = [sympy.sympify((start or {}).get(letter, letter)) for letter in state]
        clocks = () if clock is None else (clock,)
        twins, bodies = hygienic(state + clocks, *(sympy.sympify(rules[x]) for x in state))
        return sympy.Expr.__new__(
            cls,
            sympy.Tuple(*bodies),
            sympy.Tuple(*twins[: len(state)]),
            sympy.Tuple(*first),
            sympy.sympify(duration),
            sympy.Tuple(*twins[len(state) :]),
        )

    @property
    def func(self) -> Any:
        """Rebuild from ``args``."""
        return lambda *args: sympy.Expr.__new__(type(self), *args)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """Right-hand side for each state letter."""
        return tuple(self.args[0])

    @property
    def state(self) -> tuple[Any, ...]:
        """The state letters."""
        return tuple(self.args[1])

    @property
    def start(self) -> tuple[Any, ...]:
        """Initial values."""
        return tuple(self.args[2])

    @property
    def duration(self) -> Any:
        """Steps or time."""
        return self.args[3]

    @property
    def clock(self) -> Any | None:
        """The letter that counts steps or time inside the rules, if they use one."""
        return self.args[4][0] if self.args[4] else None

    @property
    def bound(self) -> frozenset[Any]:
        """State and clock."""
        return frozenset(self.state) | frozenset(self.args[4])

    def components(self) -> int:
        """One value per state letter."""
        return len(self.state)

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return [letter.name for letter in self.state]

    def at(self, letter: Any) -> Any:
        """The final value of a state letter."""
        return Component(self, [x.name for x in self.state].index(letter.name))


class Recurrence(_Law):
    """State after a number of steps of ``letter <- rule``, all letters at once.

    ``Recurrence.of({kappa: rule, ...}, start, steps, clock=step)``; the clock is 0 in the first step.
    """

    lowering = "recurrence"

    def _latex(self, printer: Any) -> str:
        rules = r",\; ".join(
            f"{printer._print(x)} \\leftarrow {printer._print(b)}" for x, b in zip(self.state, self.bodies, strict=True)
        )
        return rf"\left({rules}\right)^{{\circ {printer._print(self.duration)}}}"


class Flow(_Law):
    """State after some time of ``d letter/dt = rule``."""

    lowering = "flow"
    vectorised = False

    def _latex(self, printer: Any) -> str:
        rules = r",\; ".join(
            rf"\dot{{{printer._print(x)}}} = {printer._print(b)}" for x, b in zip(self.state, self.bodies, strict=True)
        )
        return rf"\left({rules}\right)_{{t = {printer._print(self.duration)}}}"
