"""Compiled plans from plain data: straight-line code and the operators that can be put together without SymPy.

Kept code is read before it is run: one function of assignments and a result, whose expressions hold numbers, its own
letters and functions of ``meanings``. Whatever else stands there is refused, so that no file can make us run more.
"""

from __future__ import annotations

import _ast as tree
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.backends.float64.meanings import namespace
from theorem_engine.backends.running import Numeric, described, heard_apart, stepwise, straight

#: What an expression of generated code is made of.
_PLAIN = (
    tree.BinOp, tree.UnaryOp, tree.Call, tree.Name, tree.Constant, tree.Compare, tree.BoolOp, tree.Tuple, tree.List,
    tree.operator, tree.unaryop, tree.cmpop, tree.boolop, tree.Load,
)  # fmt: skip
#: Functions and numbers of NumPy that generated code uses, beside our own.
FROM_NUMPY = frozenset((
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "ceil", "conj", "cos", "cosh",
    "cbrt", "equal", "exp", "expm1", "floor", "greater", "greater_equal", "hypot", "imag", "inf", "less", "less_equal",
    "log", "log1p", "log2", "log10", "logaddexp", "logical_and", "logical_not", "logical_or", "maximum", "minimum",
    "nan", "not_equal", "pi", "real", "select", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "where",
))  # fmt: skip
#: The one attribute that generated code asks for.
_REDUCED = "reduce"
#: Characters of a function; longer ones are not ours.
_LONGEST = 400_000


class NotOurs(ValueError):
    """Data that no compiled plan of ours was written as."""


def meaning(name: str) -> Any:
    """What a name of generated code stands for; None if it is none of those known."""
    return namespace().get(name) or (getattr(np, name, None) if name in FROM_NUMPY else None)


def code_of(function: Any) -> Any:
    """A generated function as plain data; None where its text is not known or uses names from outside."""
    import linecache

    code = function.__code__
    kept = linecache.cache.get(code.co_filename)
    if kept is None or len(kept) < 3:
        return None
    source = "".join(kept[2])
    there = function.__globals__
    if not all(there.get(name) is meaning(name) is not None for name in code.co_names if name != _REDUCED):
        return None
    try:
        _read(source)
    except NotOurs:
        return None
    return {"kind": "code", "source": source}


def restored(data: Any, backend: str) -> Numeric:
    """The function that a description stands for, on the numbers of ``float64`` or of ``rounded``."""
    match data:
        case {"kind": "code", "source": str(source)}:
            return straight(_function(source))
        case {"kind": "steps", "steps": list(rows), "size": int(size), "width": int(width), "targets": list(targets)}:
            steps = [(restored(part, backend), _slots(read, size), _slots(filled, size)) for part, read, filled in rows]
            return stepwise(steps, size, width, _slots(targets, size))
        case {"kind": "integral", "ends": ends, "body": body}:
            return _integral(ends, body, backend)
    raise NotOurs("a part of a plan is of no kind that is known")


def _slots(numbers: Any, size: int) -> tuple[int, ...]:
    if not isinstance(numbers, list) or not all(type(n) is int and 0 <= n < size for n in numbers):
        raise NotOurs("a step reads or fills a slot that is not there")
    return tuple(numbers)


def _integral(ends: Any, body: Any, backend: str) -> Numeric:
    from theorem_engine.backends.float64 import integral as plain

    parts = restored(ends, "float64"), restored(body, "float64")
    found = heard_apart(plain.integrate(*parts))
    if backend == "float64":
        return found
    from theorem_engine.backends.rounded import integral as rounded

    return rounded.integrate(found, restored(ends, backend), restored(body, backend))


@cache
def _function(source: str) -> Numeric:
    name, names = _read(source)
    space: dict[str, Any] = {"__builtins__": {}, **{n: meaning(n) for n in names}}
    exec(compile(source, "<kept plan>", "exec"), space)
    made: Numeric = space[name]
    return described(made, lambda: {"kind": "code", "source": source})


def _read(source: str) -> tuple[str, set[str]]:
    """The name of the function that a text defines, and the names from outside that it uses; NotOurs for other text."""
    if len(source) > _LONGEST:
        raise NotOurs("it is longer than generated code is")
    try:
        whole: Any = compile(source, "<kept plan>", "exec", tree.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotOurs("it is no Python") from None
    if len(whole.body) != 1 or not isinstance(whole.body[0], tree.FunctionDef):
        raise NotOurs("it is not one function")
    function = whole.body[0]
    given = function.args
    odd = (given.posonlyargs, given.kwonlyargs, given.defaults, given.kw_defaults, given.vararg, given.kwarg)
    if any(odd) or function.decorator_list or function.returns:
        raise NotOurs("its head is not that of generated code")
    local = {a.arg for a in given.args}
    used: set[str] = set()
    *lines, last = function.body
    for line in lines:
        if not isinstance(line, tree.Assign) or len(line.targets) != 1 or not isinstance(line.targets[0], tree.Name):
            raise NotOurs("a line is no assignment")
        _look(line.value, local, used)
        local.add(line.targets[0].id)
    if not isinstance(last, tree.Return) or last.value is None:
        raise NotOurs("it has no result")
    _look(last.value, local, used)
    if unknown := {name for name in used if meaning(name) is None}:
        raise NotOurs(f"it uses {min(unknown)[:40]!r}")
    if local & used:
        raise NotOurs("a letter has the name of a function")
    return function.name, used


def _look(node: Any, local: set[str], used: set[str]) -> None:
    """Go through an expression; every node must be of the plain kinds."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, _PLAIN):
            raise NotOurs(f"it holds a {type(here).__name__}")
        if isinstance(here, tree.Name):
            if here.id not in local:
                used.add(here.id)
        elif isinstance(here, tree.Constant):
            if type(here.value) not in (int, float, complex, bool):
                raise NotOurs("it holds a constant that is no number")
        elif isinstance(here, tree.Call):
            called: Any = here.func
            if _is_reduction(called):
                used.add(called.value.id)
                waiting += here.args
                continue
            if here.keywords or not isinstance(called, tree.Name) or called.id in local:
                raise NotOurs("it calls something other than a function by its name")
        for field in here._fields:
            part = getattr(here, field, None)
            waiting += part if isinstance(part, list) else [part] if isinstance(part, tree.AST) else []


def _is_reduction(function: Any) -> bool:
    """Whether a function called is that of several conditions at once."""
    is_named = isinstance(function, tree.Attribute) and isinstance(function.value, tree.Name)
    return is_named and function.attr == _REDUCED and function.value.id in ("logical_or", "logical_and")
