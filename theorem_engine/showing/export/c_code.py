"""A program as C99 that needs math.h alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.c import C99CodePrinter

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

#: Functions that math.h lacks.
HELPERS = {
    "erfcx": """
/* exp(x^2) erfc(x); by its continued fraction where the exponential would lose digits */
static double erfcx(double x) {
    double fraction = x;
    if (x < 5.0) return exp(x * x) * erfc(x);
    for (int k = 60; k > 0; k--) fraction = x + 0.5 * k / fraction;
    return 1.0 / (1.7724538509055160273 * fraction);
}
""",
    "normal_pdf": "static double normal_pdf(double x) { return exp(-0.5 * x * x) / 2.5066282746310005024; }\n",
    "normal_cdf": "static double normal_cdf(double x) { return 0.5 * erfc(-x / 1.4142135623730950488); }\n",
    "mills": "static double mills(double x) { return 1.2533141373155002512 * erfcx(x / 1.4142135623730950488); }\n",
    "softplus": "static double softplus(double x) { return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)); }\n",
    "log_softplus": (
        "static double log_softplus(double x) {\n"
        "    return x < -37.0 ? x : log(x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)));\n}\n"
    ),
    "positive_part": "static double positive_part(double x) { return x > 0.0 ? x : 0.0; }\n",
    "sign": "static double sign(double x) { return (x > 0.0) - (x < 0.0); }\n",
    "loggamma": "static double loggamma(double x) { return lgamma(x); }\n",
}
_USES = {"mills": ("erfcx",)}

EQUATIONS = "typedef void (*equations)(const double *x, const double *parameters, double *flat);\n"

FINDER = """
static double value_at(equations function, double x, const double *parameters) {
    double value;
    function(&x, parameters, &value);
    return value;
}

/* the sign change between a and b: secants that halve the value kept too long, every third step a bisection */
static double narrow(equations function, const double *parameters, double a, double at_a, double b, double at_b) {
    for (int step = 0; step < 300; step++) {
        double x, at_x;
        if (!(fabs(at_b) > 0.0) || fabs(b - a) <= 4e-16 * fmax(fabs(a), fabs(b))) break;
        x = b - at_b * (b - a) / (at_b - at_a);
        if (step % 3 == 2 || !(fmin(a, b) < x && x < fmax(a, b))) x = (a + b) / 2.0;
        at_x = value_at(function, x, parameters);
        if ((at_x < 0.0) == (at_b < 0.0)) at_a /= 2.0;
        else a = b, at_a = at_b;
        b = x, at_b = at_x;
    }
    return b;
}

/* where the function changes its sign first (or last) between two ends; infinite if it never does */
static double find_root(equations function, double low, double high, int last, const double *parameters) {
    enum { PLACES = 129 };
    double places[PLACES], values[PLACES];
    low = fmax(low, -1e6);
    if (isinf(high)) high = low > 0.0 ? low * 1e12 : 1e6;
    for (int i = 0; i < PLACES; i++) {
        const double share = (double)i / (PLACES - 1);
        places[i] = low > 0.0 ? low * pow(high / low, share) : low + (high - low) * share;
        if (i == PLACES - 1) places[i] = high;
        values[i] = value_at(function, places[i], parameters);
    }
    for (int k = 0; k < PLACES - 1; k++) {
        const int i = last ? PLACES - 2 - k : k;
        if (fabs(values[i]) <= 0.0) return places[i];
        if (isfinite(values[i]) && isfinite(values[i + 1]) && (values[i] < 0.0) != (values[i + 1] < 0.0))
            return narrow(function, parameters, places[i], values[i], places[i + 1], values[i + 1]);
    }
    return fabs(values[PLACES - 1]) <= 0.0 ? places[PLACES - 1] : INFINITY;
}
"""

LINEAR = """
/* solution of the n equations in rows of n + 1 numbers, by elimination with row pivots; 0 if they are singular */
static int eliminate(int n, double *rows, double *x) {
    const int width = n + 1;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(rows[i * width + k]) > fabs(rows[pivot * width + k])) pivot = i;
        if (!(fabs(rows[pivot * width + k]) > 0.0) || !isfinite(rows[pivot * width + k])) return 0;
        for (int j = 0; j < width && pivot != k; j++) {
            const double kept = rows[k * width + j];
            rows[k * width + j] = rows[pivot * width + j];
            rows[pivot * width + j] = kept;
        }
        for (int i = k + 1; i < n; i++) {
            const double factor = rows[i * width + k] / rows[k * width + k];
            for (int j = k; j < width; j++) rows[i * width + j] -= factor * rows[k * width + j];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        double rest = rows[k * width + n];
        for (int i = k + 1; i < n; i++) rest -= rows[k * width + i] * x[i];
        x[k] = rest / rows[k * width + k];
        if (!isfinite(x[k])) return 0;
    }
    return 1;
}

/* x = F(x) for F affine, one step from the origin; NaN if the equations are singular */
static void solve_linear(int n, equations system, const double *parameters, double *x) {
    double flat[MOST * (MOST + 1)], rows[MOST * (MOST + 1)];
    for (int i = 0; i < n; i++) x[i] = 0.0;
    system(x, parameters, flat);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) rows[i * (n + 1) + k] = (i == k) - flat[n * (i + 1) + k];
        rows[i * (n + 1) + n] = flat[i];
    }
    if (!eliminate(n, rows, x))
        for (int i = 0; i < n; i++) x[i] = NAN;
}
"""

SOLVER = """
/* Newton's method for x = F(x), in the logarithm of positive unknowns; where its step fails the averaged map
   (x + F(x))/2 takes its place. Returns the relative residual. */
static double newton(int n, equations system, const int *positive, const double *parameters, double *x) {
    double flat[MOST * (MOST + 1)], rows[MOST * (MOST + 1)], best[MOST], move[MOST], next[MOST];
    double smallest = INFINITY;
    int idle = 0;
    for (int i = 0; i < n; i++) best[i] = x[i] = positive[i] ? fmax(x[i], 1e-300) : x[i];
    for (int step = 0; step < 80; step++) {
        double gap = 0.0;
        int usable;
        system(x, parameters, flat);
        for (int i = 0; i < n; i++) {
            const double part = fabs(x[i] - flat[i]) / fmax(fmax(fabs(x[i]), fabs(flat[i])), 1e-300);
            gap = isfinite(part) ? fmax(gap, part) : INFINITY;
            if (!isfinite(part)) break;
        }
        idle = gap < 0.9 * smallest ? 0 : idle + 1;
        if (gap < smallest) {
            smallest = gap;
            for (int i = 0; i < n; i++) best[i] = x[i];
        }
        if (smallest <= 4e-15 || (smallest <= 1e-11 && idle) || (smallest <= 1e-9 && idle >= 4)) break;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++)
                rows[i * (n + 1) + k] = ((i == k) - flat[n * (i + 1) + k]) * (positive[k] ? x[k] : 1.0);
            rows[i * (n + 1) + n] = flat[i] - x[i];
        }
        usable = eliminate(n, rows, move) && idle < 8;
        for (int i = 0; i < n && usable; i++) {
            next[i] = positive[i] ? x[i] * exp(fmax(-3.0, fmin(3.0, move[i]))) : x[i] + move[i];
            usable = isfinite(next[i]);
        }
        for (int i = 0; i < n; i++) {
            const double averaged = 0.5 * (x[i] + flat[i]);
            if (usable) x[i] = next[i];
            else if (isfinite(averaged) && (averaged > 0.0 || !positive[i])) x[i] = averaged;
        }
    }
    for (int i = 0; i < n; i++) x[i] = best[i];
    return smallest;
}

/* Newton from each start; where it fails, easier values of the parameter `along` are solved first and followed back.
   NaN where nothing helps. */
static void solve_group(int n, equations system, const int *positive, int branches, const double *starts,
                        double *parameters, int along, double *x) {
    for (int b = 0; b < branches; b++) {
        double gap;
        for (int i = 0; i < n; i++) x[i] = starts[b * n + i];
        gap = newton(n, system, positive, parameters, x);
        if (!(gap <= 1e-9) && along >= 0) {
            const double asked = parameters[along];
            double factor = 1.0;
            int power = 0;
            while (!(gap <= 1e-9) && power < 16) {
                power++;
                factor *= 4.0;
                parameters[along] = asked * factor;
                for (int i = 0; i < n; i++) x[i] = starts[b * n + i];
                gap = newton(n, system, positive, parameters, x);
            }
            while (power > 0) {
                power--;
                factor /= 4.0;
                parameters[along] = asked * factor;
                gap = newton(n, system, positive, parameters, x);
            }
            parameters[along] = asked;
        }
        if (gap <= 1e-9) return;
    }
    for (int i = 0; i < n; i++) x[i] = NAN;
}
"""


class _Printer(C99CodePrinter):
    """SymPy's C printer without macros that strict C99 lacks, and with all numbers in double precision."""

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
            return f"sqrt({self._print(base)})"
        if power == -sympy.S.Half:
            return f"1.0/sqrt({self._print(base)})"
        if power.is_Integer and power < 0:
            return (
                f"1.0/{self._print(sympy.Pow(base, -power, evaluate=False))}"
                if power != -1
                else f"1.0/({self._print(base)})"
            )
        return f"pow({self._print(base)}, {self._print(power)})"

    def _print_sign(self, expr: Any) -> str:
        return f"sign({self._print(expr.args[0])})"

    def _print_Piecewise(self, expr: Any) -> str:
        return chosen(self, expr, "NAN", "(({condition}) ? ({value}) : ({rest}))")


def write_c(program: Program, task: Task, tables: Sequence[Table], remark: str) -> str:
    """The source file as text."""
    printer = _Printer({"user_functions": {h: h for h in HELPERS}, "allow_unknown_functions": True, "math_macros": {}})
    groups = [s for s in parts_of(program) if isinstance(s, Solve)]
    roots = [s for s in parts_of(program) if isinstance(s, Find)]
    comment = "\n".join(f" * {line}".rstrip() for line in (task.title, "", *task.lines(remark))).replace("*/", "* /")
    used = needed_helpers(program, _Printer(), HELPERS, _USES, "C")
    parts = [f"/*\n{comment}\n */\n", "#include <math.h>\n", "".join(HELPERS[name] for name in used)]
    parts += [_table(t) for t in tables]
    parts += [EQUATIONS] if groups or roots else []
    parts += [FINDER] if roots else []
    if groups:
        most = max(len(group.unknowns) for group in groups)
        parts += [f"enum {{ MOST = {most} }};\n", LINEAR if any(g.is_linear for g in groups) else _only_elimination()]
        parts += [SOLVER] if any(not group.is_linear for group in groups) else []
    adapted = {id(group.function): (len(group.unknowns), len(group.arguments)) for group in groups}
    adapted |= {id(root.function): (1, len(root.arguments)) for root in roots}
    for function in program.functions:
        parts.append(_function(function, printer))
        if id(function) in adapted:
            parts.append(_adapter(function, *adapted[id(function)]))
    parts += [_main(program, task, printer), _example(task)]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _only_elimination() -> str:
    """The parts of the linear solver that Newton's method uses."""
    return LINEAR[: LINEAR.index("/* x = F(x) for F affine")]


def _table(found: Table) -> str:
    def array(name: str, values: Sequence[float]) -> str:
        rows = [values[i : i + 4] for i in range(0, len(values), 4)]
        inside = "\n".join("    " + " ".join(f"{v!r}," for v in row) for row in rows)
        return f"static const double {name}[{len(values)}] = {{\n{inside}\n}};"

    name = found.name
    return f"/* {found.meaning} */\n{array(f'{name}_NODES', found.nodes)}\n{array(f'{name}_WEIGHTS', found.weights)}"


def _function(function: Function, printer: Any) -> str:
    inputs = ", ".join(f"double {s.name}" for s in function.inputs)
    head = f"static void {function.name}({inputs}{', ' if inputs else ''}double *out) {{"
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
        else:
            used |= set(step.arguments)
            if isinstance(step, Find):
                used |= set(step.ends)
            if isinstance(step, Solve):
                used |= {s for branch in step.starts for s in branch}
    return used


def _step(step: Any, printer: Any, count: int) -> list[str]:
    if isinstance(step, Line):
        return [f"const double {step.symbol.name} = {printer.doprint(step.expression)};"]
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
    fields = " ".join(f"double {_field(name)};" for name in names)
    inputs = ", ".join(f"double {a.name}" for a in task.arguments) or "void"
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
        f"    double out[{len(names)}];",
        f"    {task.name}_outputs outputs;",
        "    int inside = 1;",
        *tests,
        f"    for (int i = 0; i < {len(names)}; i++) out[i] = NAN;",
        f"    if (inside) {main.name}({call});",
        *(f"    outputs.{_field(name)} = out[{i}];" for i, name in enumerate(names)),
        "    return outputs;",
        "}",
    ]
    return "\n".join(lines)


def _field(name: str) -> str:
    """A member of the structure; words of the language get an underscore."""
    return f"{name}_" if name in ("double", "float", "int", "long", "short", "signed", "union", "register") else name


def _example(task: Task) -> str:
    names = [a.name for a in task.arguments]
    usage = " ".join(name.upper() for name in names)
    count = len(names)
    numbers = ", ".join(f"atof(argv[{i + 1}])" for i in range(count))
    prints = "\n".join(f'    printf("{name} = %.17g\\n", outputs.{_field(name)});' for name in task.outputs)
    unused = "" if names else "    (void)argv;\n"
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
