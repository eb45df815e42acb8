"""A program as C99 that needs math.h alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.c import C99CodePrinter

from theorem_engine.showing.export.c_text import ELIMINATION, EQUATIONS, FINDER, HELPERS, LINEAR, SOLVER, USES
from theorem_engine.showing.export.program import (
    Find,
    Function,
    Guard,
    Line,
    Program,
    Solve,
    Sum,
    chosen,
    needed_helpers,
    parts_of,
)
from theorem_engine.showing.export.tables import Table
from theorem_engine.showing.export.task import Task


class _Printer(C99CodePrinter):
    """SymPy's C printer without macros that strict C99 lacks, and with all numbers in double precision."""

    #: Quantities that are complex; a function of one is printed as that of complex.h.
    complex_ones: frozenset[Any] = frozenset()

    def type_of(self, symbol: Any) -> str:
        """How a quantity is declared."""
        return "double complex" if symbol in self.complex_ones else "double"

    def _print_Function(self, expr: Any) -> str:
        text = str(super()._print_Function(expr))
        return f"c{text}" if self._is_complex(expr) else text

    def _print_exp(self, expr: Any) -> str:
        return f"{self._prefix(expr)}exp({self._print(expr.args[0])})"

    def _is_complex(self, expr: Any) -> bool:
        return bool(self.complex_ones and self.complex_ones & expr.free_symbols)

    def _prefix(self, expr: Any) -> str:
        return "c" if self._is_complex(expr) else ""

    def _print_Integer(self, expr: Any) -> str:
        return f"{float(expr.p)!r}"

    def _print_Rational(self, expr: Any) -> str:
        return f"{float(expr.p)!r}/{float(expr.q)!r}" if max(abs(expr.p), expr.q) < 2**53 else f"{expr.p / expr.q!r}"

    def _print_NumberSymbol(self, expr: Any) -> str:
        return f"{float(expr)!r}"

    def _print_BooleanTrue(self, expr: Any) -> str:
        return "1.0"

    def _print_BooleanFalse(self, expr: Any) -> str:
        return "0.0"

    def _print_Infinity(self, expr: Any) -> str:
        return "INFINITY"

    def _print_NegativeInfinity(self, expr: Any) -> str:
        return "(-INFINITY)"

    def _print_Pow(self, expr: Any) -> str:
        base, power = expr.as_base_exp()
        if power == sympy.S.Half:
            return f"{self._prefix(base)}sqrt({self._print(base)})"
        if power == -sympy.S.Half:
            return f"1.0/{self._prefix(base)}sqrt({self._print(base)})"
        if power.is_Integer and power < 0:
            return (
                f"1.0/{self._print(sympy.Pow(base, -power, evaluate=False))}"
                if power != -1
                else f"1.0/({self._print(base)})"
            )
        return f"{self._prefix(expr)}pow({self._print(base)}, {self._print(power)})"

    def _print_sign(self, expr: Any) -> str:
        return f"sign({self._print(expr.args[0])})"

    def _print_Piecewise(self, expr: Any) -> str:
        return chosen(self, expr, "NAN", "(({condition}) ? ({value}) : ({rest}))")


def write_c(program: Program, task: Task, tables: Sequence[Table], remark: str) -> str:
    """The source file as text."""
    printer = _Printer({"user_functions": {h: h for h in HELPERS}, "allow_unknown_functions": True, "math_macros": {}})
    printer.complex_ones = program.complex_ones
    groups = [s for s in parts_of(program) if isinstance(s, Solve)]
    roots = [s for s in parts_of(program) if isinstance(s, Find)]
    comment = "\n".join(f" * {line}".rstrip() for line in (task.title, "", *task.lines(remark))).replace("*/", "* /")
    used = needed_helpers(program, _Printer(), HELPERS, USES, "C")
    headers = "#include <complex.h>\n#include <math.h>\n" if program.complex_ones else "#include <math.h>\n"
    parts = [f"/*\n{comment}\n */\n", headers, "".join(HELPERS[name] for name in used)]
    parts += [_table(t) for t in tables]
    parts += [EQUATIONS] if groups or roots else []
    parts += [FINDER] if roots else []
    if groups:
        most = max(len(group.unknowns) for group in groups)
        parts += [f"enum {{ MOST = {most} }};\n", ELIMINATION]
        parts += [LINEAR] if any(group.is_linear for group in groups) else []
        parts += [SOLVER] if any(not group.is_linear for group in groups) else []
    adapted = {id(group.function): (len(group.unknowns), len(group.arguments)) for group in groups}
    adapted |= {id(root.function): (1, len(root.arguments)) for root in roots}
    for function in program.functions:
        parts.append(_function(function, printer))
        if id(function) in adapted:
            parts.append(_adapter(function, *adapted[id(function)]))
    parts += [_main(program, task, printer), _example(program, task)]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _table(found: Table) -> str:
    def array(name: str, values: Sequence[float]) -> str:
        rows = [values[i : i + 4] for i in range(0, len(values), 4)]
        inside = "\n".join("    " + " ".join(f"{v!r}," for v in row) for row in rows)
        return f"static const double {name}[{len(values)}] = {{\n{inside}\n}};"

    name = found.name
    return f"/* {found.meaning} */\n{array(f'{name}_NODES', found.nodes)}\n{array(f'{name}_WEIGHTS', found.weights)}"


def _function(function: Function, printer: Any) -> str:
    inputs = ", ".join(f"{printer.type_of(s)} {s.name}" for s in function.inputs)
    # a function without complex inputs has none among its results
    kind = "double complex" if printer.complex_ones & set(function.inputs) else "double"
    head = f"static void {function.name}({inputs}{', ' if inputs else ''}{kind} *out) {{"
    return "\n".join([head, *_body(function, printer), "}"])


def _body(function: Function, printer: Any) -> list[str]:
    count = len(function.results)
    used = _used(function)
    lines = [f"    (void){s.name};" for s in function.inputs if s not in used]
    for step in function.steps:
        lines += ["    " + text for text in _step(step, printer, count)]
        # a group is solved as a whole, also where not all of it is used
        lines += [f"    (void){s.name};" for s in getattr(step, "unknowns", ()) if s not in used]
    return [*lines, *(f"    out[{i}] = {s.name};" for i, s in enumerate(function.results))]


def _used(function: Function) -> set[Any]:
    used = set(function.results)
    for step in function.steps:
        if isinstance(step, Line):
            used |= step.expression.free_symbols
        elif isinstance(step, Guard):
            used |= step.relation.free_symbols
            used |= set(step.otherwise.inputs) if step.otherwise is not None else set()
        else:
            used |= set(step.arguments)
            if isinstance(step, Find):
                used |= set(step.ends)
            if isinstance(step, Solve):
                used |= {s for branch in step.starts for s in branch}
    return used


def _step(step: Any, printer: Any, count: int) -> list[str]:
    if isinstance(step, Line):
        return [f"const {printer.type_of(step.symbol)} {step.symbol.name} = {printer.doprint(step.expression)};"]
    if isinstance(step, Guard) and step.otherwise is not None:
        inside = ", ".join([*(s.name for s in step.otherwise.inputs), "out"])
        return [
            f"if ({printer.doprint(step.relation)}) {{",
            f"    {step.otherwise.name}({inside});",
            "    return;",
            "}",
        ]
    if isinstance(step, Guard):
        return [
            f"if ({printer.doprint(step.relation)}) {{ /* another case: export it with --at */",
            f"    for (int i = 0; i < {count}; i++) out[i] = NAN;",
            "    return;",
            "}",
        ]
    arguments = [s.name for s in step.arguments]
    if isinstance(step, Sum):
        return _sum(step, arguments)
    return _find(step, arguments) if isinstance(step, Find) else _solve(step, arguments)


def _sum(step: Sum, arguments: Sequence[str]) -> list[str]:
    size = len(step.results)
    names = [s.name for s in step.results]
    table = step.kind.upper()
    part = f"part_{names[0]}"
    return [
        f"double {', '.join(f'{n} = 0.0' for n in names)}, {part}[{size}];",
        f"for (int k = 0; k < (int)(sizeof({table}_NODES) / sizeof(*{table}_NODES)); k++) {{",
        f"    {step.function.name}({', '.join([f'{table}_NODES[k]', *arguments])}, {part});",
        *(f"    {n} += {table}_WEIGHTS[k] * {part}[{i}];" for i, n in enumerate(names)),
        "}",
    ]


def _find(step: Find, arguments: Sequence[str]) -> list[str]:
    name = step.result.name
    low, high = step.ends
    inside = f"{step.function.name}_flat, {low.name}, {high.name}, {int(step.takes_last)}, given_{name}"
    return [
        f"const double given_{name}[] = {{{', '.join(arguments) or '0.0'}}};",
        f"const double {name} = find_root({inside});",
    ]


def _solve(step: Solve, arguments: Sequence[str]) -> list[str]:
    size = len(step.unknowns)
    first = step.unknowns[0].name
    parameters, solution = f"given_{first}", f"found_{first}"
    lines = [f"double {parameters}[] = {{{', '.join(arguments) or '0.0'}}}, {solution}[{size}];"]
    if step.is_linear:
        lines.append(f"solve_linear({size}, {step.function.name}_flat, {parameters}, {solution});")
    else:
        starts = ", ".join(s.name for branch in step.starts for s in branch)
        signs = ", ".join(str(int(p)) for p in step.positive)
        along = -1 if step.along is None else step.along
        lines += [
            f"const double starts_{first}[] = {{{starts}}};",
            f"const int positive_{first}[] = {{{signs}}};",
            f"solve_group({size}, {step.function.name}_flat, positive_{first}, {len(step.starts)}, starts_{first}, "
            f"{parameters}, {along}, {solution});",
        ]
    return [*lines, *(f"const double {s.name} = {solution}[{i}];" for i, s in enumerate(step.unknowns))]


def _adapter(function: Function, unknowns: int, parameters: int) -> str:
    calls = [f"x[{i}]" for i in range(unknowns)] + [f"parameters[{i}]" for i in range(parameters)]
    unused = "" if parameters else "    (void)parameters;\n"
    return (
        f"static void {function.name}_flat(const double *x, const double *parameters, double *flat) {{\n{unused}"
        f"    {function.name}({', '.join(calls)}, flat);\n}}"
    )


def _main(program: Program, task: Task, printer: Any) -> str:
    """The function of the inputs: a structure with all outputs, NaN outside the domains."""
    main, names = program.main, list(task.outputs)
    types = dict(zip(names, map(printer.type_of, main.results), strict=True))
    fields = " ".join(f"{types[name]} {_field(name)};" for name in names)
    kinds = [printer.type_of(s) for s in main.inputs]
    inputs = ", ".join(f"{kind} {a.name}" for kind, a in zip(kinds, task.arguments, strict=True)) or "void"
    kind = "double complex" if "double complex" in kinds else "double"
    tests = [f"    if (!({test})) inside = 0; /* {a} is in {domain} */" for a, test, domain in task.domain_tests()]
    call = ", ".join([*(a.name for a in task.arguments), "out"])
    lines = [
        _function(main, printer),
        "",
        f"typedef struct {{ {fields} }} {task.name}_outputs;",
        "",
        f"{task.name}_outputs {task.name}({inputs});",
        "",
        "/* all outputs; NaN where a letter is outside its domain or the equations could not be solved */",
        f"{task.name}_outputs {task.name}({inputs}) {{",
        f"    {kind} out[{len(names)}];",
        f"    {task.name}_outputs outputs;",
        "    int inside = 1;",
        *tests,
        f"    for (int i = 0; i < {len(names)}; i++) out[i] = NAN;",
        f"    if (inside) {main.name}({call});",
        *(
            f"    outputs.{_field(name)} = {'creal' if types[name] != kind else ''}(out[{i}]);"
            if kind != "double"
            else f"    outputs.{_field(name)} = out[{i}];"
            for i, name in enumerate(names)
        ),
        "    return outputs;",
        "}",
    ]
    return "\n".join(lines)


def _field(name: str) -> str:
    """A member of the structure; words of the language get an underscore."""
    return f"{name}_" if name in ("double", "float", "int", "long", "short", "signed", "union", "register") else name


def _example(program: Program, task: Task) -> str:
    # a complex letter is two numbers on the command line, and a complex output is printed as a+bj
    words = [w for a in task.arguments for w in ([f"RE_{a.name}", f"IM_{a.name}"] if a.is_complex else [a.name])]
    usage = " ".join(words).upper()
    count = len(words)
    places = iter(range(1, count + 1))

    def read() -> str:
        return f"atof(argv[{next(places)}])"

    numbers = ", ".join(f"{read()} + I * {read()}" if a.is_complex else read() for a in task.arguments)

    def shown(name: str, symbol: Any) -> str:
        field = f"outputs.{_field(name)}"
        if symbol in program.complex_ones:
            return f'    printf("{name} = %.17g%+.17gj\\n", creal({field}), cimag({field}));'
        return f'    printf("{name} = %.17g\\n", {field});'

    prints = "\n".join(shown(name, s) for name, s in zip(task.outputs, program.main.results, strict=True))
    unused = "" if words else "    (void)argv;\n"
    return f"""
/* cc -std=c99 -DEXAMPLE file.c -lm && ./a.out {usage} */
#ifdef EXAMPLE
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {{
    {task.name}_outputs outputs;
{unused}    if (argc != {count + 1}) return 2;
    outputs = {task.name}({numbers});
{prints}
    return 0;
}}
#endif
"""
