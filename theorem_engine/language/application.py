"""Entries applied as functions inside other entries.

An applied entry may be written differently under some conditions (its ``cases``). They are decided here from the
arguments where these are constants; what is left open is settled by ``conditions.py``, or at each evaluation where an
operator moves the letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sympy
from sympy.logic.boolalg import BooleanAtom

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.letters import ABSENT, CANONICAL, OPEN


class Applied(sympy.Function):
    """One output of an entry at given arguments; a short symbol that unfolds on demand.

    Differentiation yields the same entry's derivative, in the form its author stated if there is one.
    """

    entry_id: str
    output: str
    options: tuple[tuple[str, Any], ...]
    #: Names of the letters differentiated in, in order.
    derivatives: tuple[str, ...]

    def fdiff(self, argindex: int = 1) -> Any:
        """Partial derivative in one argument, still a function of all of them."""
        from theorem_engine.language.catalogue import find_entry

        letter = find_entry(self.entry_id).present(dict(self.options))[argindex - 1]
        return applied_class(self.entry_id, self.output, self.options, (*self.derivatives, letter.name))(*self.args)

    def open_conditions(self) -> dict[str, Any]:
        """Conditions that are not decided yet, by name, in terms of the arguments."""
        names = [name for name, value in self.options if value is OPEN]
        if not names:
            return {}
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(self.entry_id)
        swaps = self.arguments()
        return {name: at_arguments(entry.condition(name), swaps) for name in names}

    def arguments(self) -> dict[Any, Any]:
        """The arguments by the letters of the entry."""
        from theorem_engine.language.catalogue import find_entry

        return dict(zip(find_entry(self.entry_id).present(dict(self.options)), self.args, strict=True))

    def decided(self, outcomes: Mapping[str, bool]) -> Any:
        """The same application with these conditions settled."""
        key = tuple(sorted({**dict(self.options), **outcomes}.items(), key=lambda item: item[0]))
        return applied_class(self.entry_id, self.output, key, self.derivatives)(*self.args)

    def instance_key(self) -> tuple[Any, ...]:
        """Applications with equal keys share all their quantities."""
        return self.entry_id, self.options, self.args

    def _sympystr(self, printer: Any) -> str:
        """As in a text: the entry, its output and the arguments; what chose the statement is said elsewhere."""
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(self.entry_id)
        head = entry.name if self.output == entry.main_output else f"{entry.name}.{self.output}"
        if self.derivatives:
            head = f"d({head})/d({', '.join(self.derivatives)})"
        return f"{head}({', '.join(printer._print(a) for a in self.args)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(self.entry_id)
        head = entry.symbol or rf"\mathrm{{{entry.name}}}"
        if self.output != entry.main_output:
            head += rf"^{{\mathrm{{{self.output}}}}}".replace("_", r"\_")
        if self.derivatives:
            head = rf"\partial_{{{' '.join(self.derivatives)}}} {head}"
        power = f"^{{{exp}}}" if exp is not None else ""
        return rf"{head}{power}\left({', '.join(printer._print(a) for a in self.args)}\right)"


@cache
def applied_class(
    entry_id: str, output: str, options: tuple[tuple[str, Any], ...], derivatives: tuple[str, ...] = ()
) -> Any:
    """The function class of an output (or of one of its derivatives)."""
    name = ":".join((entry_id, output, *(f"{k}={v}" for k, v in options), *derivatives))
    attributes = {"entry_id": entry_id, "output": output, "options": options, "derivatives": derivatives}
    metaclass: Any = type(Applied)
    return metaclass(name, (Applied,), attributes)


class EntryFunction:
    """What an author's function receives for each entry it needs.

    Calling it applies the main output; attributes give the others: ``zeta(t, g)``, ``zeta.dt(t, g)``.
    Letters may be given by position or by name.
    """

    def __init__(self, entry_id: str, output: str | None = None) -> None:
        self._entry_id = entry_id
        self._output = output

    def __getattr__(self, output: str) -> EntryFunction:
        if output.startswith("_"):
            raise AttributeError(output)
        return EntryFunction(self._entry_id, output)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Apply the entry."""
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(self._entry_id)
        output = self._output or entry.main_output
        if output not in entry.outputs:
            raise DeclarationError(f"{entry.id} has no output {output!r}; it has {', '.join(entry.outputs)}")
        options = {x.name: named.pop(x.name, None if x.is_required else x.default) for x in entry.applied_options}
        said = {name: bool(named.pop(name)) for name in entry.cases if name in named}
        values = _arguments(entry, args, named)
        options.update({name: _outcome(entry, name, values, said) for name in entry.cases})
        options.update({name: ABSENT for name, value in values.items() if value is ABSENT})
        if entry.model is not None:
            options[CANONICAL] = True
        key = tuple(sorted(options.items(), key=lambda item: item[0]))
        return applied_class(entry.id, output, key)(*(v for v in values.values() if v is not ABSENT))

    def at(self, setting: Any, changed: Mapping[Any, Any] | None = None, **changes: Any) -> Any:
        """Apply the entry where the applying one stands: letters and options of the same names, some changed.

        Changes are given by name, or several at once by letter.
        """
        from theorem_engine.language.catalogue import find_entry

        entry = find_entry(self._entry_id)
        changes = {**{letter.name: value for letter, value in (changed or {}).items()}, **changes}
        names = [x.name for x in (*entry.applied_letters, *entry.applied_options)]
        here = {name: getattr(setting, name) for name in names if name not in changes and setting.has(name)}
        return self(**here, **changes)


def _outcome(entry: Any, name: str, values: Mapping[str, Any], said: Mapping[str, bool]) -> Any:
    """What a condition is at these arguments: what the author says, what constants decide, or open."""
    relation = entry.cases[name]
    letters = {x: values[x.name] for x in relation.free_symbols}
    if any(value is ABSENT for value in letters.values()):
        # as in a query: a letter that is not there meets no condition
        found: Any = False
    else:
        here = at_arguments(relation, letters)
        found = bool(here) if isinstance(here, BooleanAtom) else OPEN
    if name in said:
        if found is not OPEN and found != said[name]:
            raise DeclarationError(
                f"{entry.id}: {name}={said[name]} is said in an application that decides it otherwise"
            )
        return said[name]
    return found


def at_arguments(relation: Any, values: Mapping[Any, Any]) -> Any:
    """A condition with arguments in place of its letters; SymPy's truth values where it is decided."""
    if isinstance(relation, sympy.Eq) and relation.rhs.is_infinite:
        # SymPy takes every positive letter that may be infinite for infinite
        left = relation.lhs.xreplace(dict(values))
        if left == relation.rhs:
            return sympy.true
        if left.is_finite or left.is_infinite:
            return sympy.false
        return sympy.Eq(left, relation.rhs, evaluate=False)
    return relation.xreplace(dict(values))


def _arguments(entry: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    letters = entry.applied_letters
    if len(args) > len(letters):
        raise DeclarationError(f"{entry.id} takes {len(letters)} letters, {len(args)} were given")
    values = dict(zip((x.name for x in letters), args, strict=False))
    for name, value in named.items():
        if name in values or name not in {x.name for x in letters}:
            raise DeclarationError(f"{entry.id}: letter {name!r} is unknown or given twice")
        values[name] = value
    complete = {}
    canonical = () if entry.model is None else entry.model.canonical
    for letter in letters:
        if letter.name not in values and (letter.is_required or letter in canonical):
            raise DeclarationError(f"{entry.id}: letter {letter.name!r} is missing in an application")
        value = values[letter.name] if letter.name in values else letter.default
        complete[letter.name] = ABSENT if value is None or value is ABSENT else sympy.sympify(value, strict=True)
    return complete
