"""An entry as text in another language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy

from theorem_engine.asking.point import as_sympy
from theorem_engine.base.errors import BadRequest, NotAvailable, nearest
from theorem_engine.base.exact import to_text
from theorem_engine.base.text import error_text
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.letters import ABSENT
from theorem_engine.language.statement import leaves, strip
from theorem_engine.planning.plan import make_plan
from theorem_engine.showing.export.c_code import write_c
from theorem_engine.showing.export.measured import draw_samples, largest_gap
from theorem_engine.showing.export.program import (
    Builder,
    Function,
    Guard,
    Line,
    Names,
    Program,
    called,
    complex_quantities,
)
from theorem_engine.showing.export.python_code import write_python
from theorem_engine.showing.export.tables import LEVELS, table
from theorem_engine.showing.export.task import Task, make_task

FORMS = ("latex", "python", "c", "json")
#: A difference from the engine that is enough, and one that no code is handed out with.
ENOUGH, WORST = 1e-13, 1e-6


def export(id: str, *, to: str, at: Mapping[str, Any] | None = None, outputs: Sequence[str] | None = None) -> str:
    """An entry as stand-alone text: "latex", "json", or code in "python" (with NumPy alone) or "c" (C99, math.h alone).

    ``at`` fixes letters and chooses options; the others become arguments. What has no form in stand-alone code is
    refused by the name of the operator.

    >>> "def marion2025_linear_risk(gamma, L" in export("marion2025.linear-risk", to="python")
    True
    """
    entry = find_entry(id)
    if to not in FORMS:
        raise BadRequest(f"to={str(to)[:40]!r} is not one of {', '.join(FORMS)}{nearest(str(to)[:40], FORMS, 1)}")
    task = make_task(entry, at or {}, outputs)
    if to == "latex":
        return _latex(task)
    if to == "json":
        return _json(task)
    try:
        return _code(task, to)
    except NotAvailable as error:
        raise error if entry.id in str(error) else NotAvailable(f"{entry.id}: {error}") from None


def _equations(task: Task) -> list[tuple[Any, Any]]:
    return [(s, strip(e)) for s, e in task.statement.equations.items() if not s.name.startswith("d(")]


def _latex(task: Task) -> str:
    rows = [f"  {sympy.latex(left)} &= {sympy.latex(right)}" for left, right in _equations(task)]
    fixed = [f"  {sympy.latex(x)} &= {to_text(v)}" for x, v in task.fixed.items()]
    return "\n".join(
        [f"% {task.title} {task.entry.source}", r"\begin{align*}", " \\\\\n".join([*fixed, *rows]), r"\end{align*}", ""]
    )


def _json(task: Task) -> str:
    entry = task.entry
    data = {
        "entry": entry.id,
        "title": entry.title,
        "source": str(entry.source),
        "regime": str(entry.regime),
        "letters": [
            {"name": x.name, "latex": x.latex_name, "meaning": x.meaning, "domain": x.domain.to_json()}
            for x in task.statement.given
        ],
        "fixed": {x.name: to_text(v) for x, v in task.fixed.items()},
        "options": {
            x.name: str(task.options[x.name]) for x in entry.options if task.options.get(x.name) not in (None, ABSENT)
        },
        "excluded": [str(relation) for relation in task.excluded],
        "equations": [
            {
                "left": str(left),
                "right": str(right),
                "latex": f"{sympy.latex(left)} = {sympy.latex(right)}",
                "tree": _tree(right),
            }
            for left, right in _equations(task)
        ],
        "outputs": {
            name: {"meaning": meaning.meaning, "symbols": [str(s) for s in leaves(task.statement.outputs[name])]}
            for name, meaning in entry.outputs.items()
            if name in task.statement.outputs
        },
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _tree(node: Any) -> Any:
    """An expression as nested lists: the operation, then its parts; letters and whole numbers as text."""
    if isinstance(node, (sympy.Symbol, sympy.Integer)) or not node.args:
        return str(node)
    return [type(node).__name__, *(_tree(part) for part in node.args)]


def _code(task: Task, to: str) -> str:
    program = make_program(task)
    samples = draw_samples(task)
    remark, text = "", ""
    for level in range(LEVELS if program.kinds else 1):
        tables = [table(kind, level) for kind in program.kinds]
        gap, count = largest_gap(task, write_python(program, task, tables, ""), samples)
        if samples and not gap <= WORST and level == (LEVELS - 1 if program.kinds else 0):
            raise NotAvailable(
                f"{task.entry.id}: stand-alone code with fixed nodes differs from the engine by {error_text(gap)} at "
                "points of the typical ranges"
            )
        remark = _remark(gap, count, len(samples), bool(tables))
        text = (write_python if to == "python" else write_c)(program, task, tables, remark)
        if gap <= ENOUGH:
            break
    return text


def _remark(gap: float, count: int, drawn: int, has_tables: bool) -> str:
    """What is known of the error of the code."""
    if not drawn:
        return "The code was compared with the engine at no point: none could be drawn. Its error is not known."
    refused = f" At {drawn - count} more points it says that it has no value." if count < drawn else ""
    size = error_text(max(gap, 1e-16))
    steep = " Rules with fixed nodes lose digits where integrands are steep: compare there with the engine."
    return (
        f"The largest difference from the engine at {count} points drawn from the typical ranges of the letters is "
        f"{size}, relative to the larger of the value and 1.{refused}{steep if has_tables else ''}"
    )


def _other_case(task: Task, relation: Any, builder: Builder) -> Function | None:
    """The function of the case in which a condition is met, if it is a phase and has the same outputs."""
    # where an equation holds is one value of a letter, for which code of its own is exported
    if isinstance(relation, sympy.Eq):
        return None
    other = task.met(relation)
    if other is None:
        return None
    function = _case(other, builder)
    builder.functions.append(function)
    return function


def make_program(task: Task) -> Program:
    """The statement as functions, lines, sums and groups."""
    names = Names()
    names.fresh(task.name)
    builder = Builder(names, task.fixed)
    main = _case(task, builder)
    letters = [names.of(a.letter) for a in task.arguments if a.is_complex]
    return Program(main, called(main, builder.functions), list(builder.kinds), complex_quantities(main, letters))


def _case(task: Task, builder: Builder) -> Function:
    """The function of one case; where a condition on letters leads to another statement, it calls that of the other."""
    names = builder.names
    numbers = {x: v for x, v in task.fixed.items() if not (isinstance(v, Distribution) and v.single() is None)}
    first: list[Any] = []
    for argument in task.arguments:
        if names.of(argument.letter).name != argument.name:
            raise NotAvailable(f"{argument.name} is a word of the language; fix that letter with at")
    for letter, value in numbers.items():
        exact = value.single() if isinstance(value, Distribution) else value
        first.append(Line(names.of(letter), as_sympy(exact)))
    for relation in task.excluded:
        if relation.free_symbols <= set(task.statement.given):
            first.append(Guard(names.plain(relation), _other_case(task, relation, builder)))
    plan = make_plan(task.statement.given, task.statement.equations, list(task.outputs.values()), task.entry.id)
    main = builder.function("evaluate", plan, first)
    return replace(main, inputs=tuple(names.of(a.letter) for a in task.arguments))
