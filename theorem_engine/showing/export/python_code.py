"""A program as Python that needs NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sympy.printing.numpy import NumPyPrinter

from theorem_engine.showing.export.program import (
    Find,
    Function,
    Guard,
    Line,
    Program,
    Solve,
    Sum,
    chosen,
    has_step,
    needed_helpers,
)
from theorem_engine.showing.export.python_text import FINDER, HELPERS, SOLVER, USES
from theorem_engine.showing.export.tables import Table
from theorem_engine.showing.export.task import Task


class _Printer(NumPyPrinter):
    """SymPy's NumPy printer with branches and maxima that broadcast."""

    def _print_Integer(self, expr: Any) -> str:
        return f"{expr.p}" if abs(expr.p) < 2**53 else f"{float(expr.p)!r}"

    def _print_Rational(self, expr: Any) -> str:
        return f"{expr.p}/{expr.q}" if max(abs(expr.p), expr.q) < 2**53 else f"{expr.p / expr.q!r}"

    def _print_Max(self, expr: Any) -> str:
        return self._fold("numpy.maximum", expr)

    def _print_Min(self, expr: Any) -> str:
        return self._fold("numpy.minimum", expr)

    def _fold(self, function: str, expr: Any) -> str:
        first, *rest = (str(self._print(arg)) for arg in expr.args)
        for other in rest:
            first = f"{function}({first}, {other})"
        return first

    def _print_Piecewise(self, expr: Any) -> str:
        return chosen(self, expr, "math.nan", "numpy.where({condition}, {value}, {rest})")


def write_python(program: Program, task: Task, tables: Sequence[Table], remark: str) -> str:
    """The module as text; without a remark, without the text for readers at its head."""
    printer = _Printer(
        {"fully_qualified_modules": True, "allow_unknown_functions": True, "user_functions": {h: h for h in HELPERS}}
    )
    bodies = [_function(f, printer) for f in program.functions] + [_main(program.main, task, printer)]
    text = "\n\n".join(bodies)
    used = needed_helpers(program, _Printer(), HELPERS, USES, "Python")
    parts = [
        f'"""{_prose(task, remark)}\n"""\n' if remark else "",
        "import math\nimport sys\n\nimport numpy\n",
        "".join(HELPERS[h] for h in used),
        "\n".join(_table(t) for t in tables),
        SOLVER if has_step(program, Solve) else "",
        FINDER if has_step(program, Find) else "",
        f"\n{text}\n",
        _caller(program, task),
    ]
    return "\n".join(part for part in parts if part)


def _prose(task: Task, remark: str) -> str:
    lines = [task.title, "", *task.lines(remark)]
    return "\n".join(line.replace("\\", "\\\\").replace('"', "'") for line in lines)


def _table(found: Table) -> str:
    return "\n".join(
        [
            f"# {found.meaning}",
            f"{found.name}_NODES = numpy.array([\n{_numbers(found.nodes)}\n])",
            f"{found.name}_WEIGHTS = numpy.array([\n{_numbers(found.weights)}\n])",
        ]
    )


def _numbers(values: Sequence[float]) -> str:
    rows = [values[i : i + 4] for i in range(0, len(values), 4)]
    return "\n".join("    " + " ".join(f"{v!r}," for v in row) for row in rows)


def _function(function: Function, printer: Any, first: Sequence[str] = ()) -> str:
    lines = [f"def {function.name}({', '.join(s.name for s in function.inputs)}):", *first]
    for step in function.steps:
        lines.extend("    " + text for text in _step(step, printer))
    lines.append(f"    return ({', '.join(s.name for s in function.results)},)")
    return "\n".join(lines)


def _step(step: Any, printer: Any) -> list[str]:
    if isinstance(step, Line):
        return [f"{step.symbol.name} = {printer.doprint(step.expression)}"]
    if isinstance(step, Guard):
        if step.otherwise is not None:
            inside = ", ".join(s.name for s in step.otherwise.inputs)
            return [f"if {printer.doprint(step.relation)}:", f"    return {step.otherwise.name}({inside})"]
        said = str(step.relation).replace('"', "'")
        return [
            f"if {printer.doprint(step.relation)}:",
            f'    raise ValueError("{said} is another case: export it with --at")',
        ]
    arguments = ", ".join(s.name for s in step.arguments)
    if isinstance(step, Sum):
        nodes, weights = f"{step.kind.upper()}_NODES", f"{step.kind.upper()}_WEIGHTS"
        call = f"{step.function.name}({', '.join(filter(None, ('z', arguments)))})"
        results = "".join(f"{s.name}, " for s in step.results).strip()
        if step.function.is_plain:
            whole = call.replace("(z", f"({nodes}", 1)
            return [f"{results} = (numpy.sum({weights} * part) for part in {whole})"]
        return [f"{results} = {weights} @ numpy.array([{call} for z in {nodes}], dtype=float)"]
    if isinstance(step, Find):
        low, high = step.ends
        inside = f"{step.function.name}, {low.name}, {high.name}, {step.takes_last}, [{arguments}]"
        return [f"{step.result.name} = find_root({inside})"]
    unknowns = "".join(f"{s.name}, " for s in step.unknowns).strip()
    listed = f"[{arguments}]"
    if step.is_linear:
        return [f"{unknowns} = solve_linear({step.function.name}, {len(step.unknowns)}, {listed})"]
    starts = ", ".join("[" + ", ".join(s.name for s in branch) + "]" for branch in step.starts)
    return [
        f"{unknowns} = solve_group({step.function.name}, [{starts}], {list(step.positive)}, {listed}, {step.along})"
    ]


def _main(function: Function, task: Task, printer: Any) -> str:
    first = [
        f"    if not ({test}):\n        raise ValueError({f'{name} is in {domain}'!r})"
        for name, test, domain in task.domain_tests()
    ]
    return _function(function, printer, first)


def _caller(program: Program, task: Task) -> str:
    inner = program.main.name
    complex_outputs = [n for n, s in zip(task.outputs, program.main.results, strict=True) if s in program.complex_ones]
    kind = "complex" if complex_outputs else "float"
    column = f"(column if name in {complex_outputs} else column.real)" if complex_outputs else "column"
    kinds = {a.name: "complex" if a.is_complex else "float" for a in task.arguments}
    if complex_outputs:
        listed = ", ".join(f"numpy.asarray({a.name}, dtype={kinds[a.name]})" for a in task.ordered())
        read = f"float(text) if name not in {[n for n, k in kinds.items() if k == 'complex']} else complex(text)"
    else:
        listed = f"*(numpy.asarray(v, dtype=float) for v in ({', '.join(a.name for a in task.ordered())},))"
        read = "float(text)"
    signature = ", ".join(f"{a.name}={a.default}" if a.default is not None else a.name for a in task.ordered())
    outputs = ", ".join(repr(name) for name in task.outputs)
    order = [a.name for a in task.arguments]
    call = ", ".join(f"point[{[a.name for a in task.ordered()].index(name)}]" for name in order)
    return (
        f'''
def {task.name}({signature}):
    """All outputs by name; letters are numbers, or arrays that go together point by point."""
    arrays = numpy.broadcast_arrays({listed})
    with numpy.errstate(all="ignore"):
        rows = [[{kind}(v) for v in {inner}({call})] for point in zip(*(a.ravel() for a in arrays))]
    columns = numpy.array(rows).T
    if numpy.isnan(columns).any():
        raise ArithmeticError("there is no finite value at this point")
    shape = arrays[0].shape
    return {{name: {column}.reshape(shape)[()] for name, column in zip([{outputs}], columns)}}


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    for name, value in {task.name}(**{{name: {read} for name, text in given.items()}}).items():
        print(f"{{name}} = {{value!r}}")
'''
        if order
        else f'''
def {task.name}():
    """All outputs by name."""
    return dict(zip([{outputs}], map(float, {inner}())))


if __name__ == "__main__":
    for name, value in {task.name}().items():
        print(f"{{name}} = {{value!r}}")
'''
    )
