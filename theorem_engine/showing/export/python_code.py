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
from theorem_engine.showing.export.tables import Table
from theorem_engine.showing.export.task import Task

#: Functions that NumPy lacks.
HELPERS = {
    "erf": "erf = numpy.vectorize(math.erf, otypes=[float])\n",
    "erfc": "erfc = numpy.vectorize(math.erfc, otypes=[float])\n",
    "erfcx": '''
@numpy.vectorize
def erfcx(x):
    """exp(x^2) erfc(x); by its continued fraction where the exponential would lose digits."""
    if x < 5:
        return math.exp(x * x) * math.erfc(x) if x > -26 else math.inf
    fraction = x
    for k in range(60, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (math.sqrt(math.pi) * fraction)

''',
    "normal_pdf": "\ndef normal_pdf(x):\n    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)\n\n",
    "normal_cdf": "\ndef normal_cdf(x):\n    return erfc(-x / math.sqrt(2)) / 2\n\n",
    "mills": "\ndef mills(x):\n    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))\n\n",
    "softplus": "\ndef softplus(x):\n    return numpy.logaddexp(0.0, x)\n\n",
    "log_softplus": (
        "\ndef log_softplus(x):\n"
        "    return numpy.where(x < -37.0, x, numpy.log(numpy.logaddexp(0.0, numpy.maximum(x, -37.0))))\n\n"
    ),
    "positive_part": "\ndef positive_part(x):\n    return numpy.maximum(x, 0.0)\n\n",
}
_USES = {"normal_cdf": ("erfc",), "mills": ("erfcx",)}

SOLVER = '''
def solve_group(system, starts, positive, parameters, along):
    """Solution x = F(x) by Newton's method, in the logarithm of positive unknowns.

    ``system`` gives F and its Jacobian. Where Newton's step fails the averaged map (x + F(x))/2 takes its place;
    where that fails too, easier values of the parameter ``along`` are solved first and followed back.
    """
    for start in starts:
        x, gap = newton(system, start, positive, parameters)
        for power in range(1, 17 if along is not None and not gap <= 1e-9 else 0):
            eased = list(parameters)
            eased[along] = parameters[along] * 4.0**power
            x, gap = newton(system, start, positive, eased)
            if gap <= 1e-9:
                for back in range(power - 1, -1, -1):
                    eased[along] = parameters[along] * 4.0**back
                    x, gap = newton(system, x, positive, eased)
                break
        if gap <= 1e-9:
            return x
    raise ArithmeticError("the self-consistent equations could not be solved at this point")


def newton(system, start, positive, parameters):
    size = len(start)
    positive = numpy.array(positive)
    x = numpy.where(positive, numpy.maximum(start, 1e-300), start)
    best, smallest, idle = x, math.inf, 0
    for _ in range(80):
        flat = numpy.array([float(v) for v in system(*x, *parameters)])
        value, slopes = flat[:size], flat[size:].reshape(size, size)
        gap = float(numpy.max(abs(x - value) / numpy.maximum(numpy.maximum(abs(x), abs(value)), 1e-300)))
        gap = gap if math.isfinite(gap) else math.inf
        idle = 0 if gap < 0.9 * smallest else idle + 1
        if gap < smallest:
            best, smallest = x, gap
        if smallest <= 4e-15 or (smallest <= 1e-11 and idle) or (smallest <= 1e-9 and idle >= 4):
            break
        scale = numpy.where(positive, x, 1.0)
        try:
            move = numpy.linalg.solve((numpy.eye(size) - slopes) * scale, value - x)
        except numpy.linalg.LinAlgError:
            move = numpy.full(size, math.nan)
        new = numpy.where(positive, x * numpy.exp(numpy.clip(move, -3.0, 3.0)), x + move)
        if idle >= 8 or not numpy.all(numpy.isfinite(new)):
            averaged = (x + value) / 2
            new = numpy.where(numpy.isfinite(averaged) & (~positive | (averaged > 0)), averaged, x)
        x = new
    return best, smallest


def solve_linear(system, size, parameters):
    """Solution of x = F(x) for F affine: one step from the origin."""
    flat = numpy.array([float(v) for v in system(*([0.0] * size), *parameters)])
    return numpy.linalg.solve(numpy.eye(size) - flat[size:].reshape(size, size), flat[:size])

'''

FINDER = '''
def find_root(function, low, high, last, parameters):
    """Where the function changes its sign first (or last) between two ends; infinite if it never does."""
    low = max(low, -1e6)
    high = (low * 1e12 if low > 0 else 1e6) if math.isinf(high) else high
    places = [float(x) for x in (numpy.geomspace if low > 0 else numpy.linspace)(low, high, 129)]
    values = [float(function(x, *parameters)[0]) for x in places]
    pairs = list(zip(places[:-1], values[:-1], places[1:], values[1:]))
    for a, at_a, b, at_b in reversed(pairs) if last else pairs:
        if at_a == 0:
            return a
        if math.isfinite(at_a) and math.isfinite(at_b) and (at_a < 0) != (at_b < 0):
            return narrow(lambda x: float(function(x, *parameters)[0]), a, at_a, b, at_b)
    return places[-1] if values[-1] == 0 else math.inf


def narrow(function, a, at_a, b, at_b):
    """The sign change between a and b: secants that halve the value kept too long, every third step a bisection."""
    for step in range(300):
        if at_b == 0 or abs(b - a) <= 4e-16 * max(abs(a), abs(b)):
            break
        x = b - at_b * (b - a) / (at_b - at_a)
        if step % 3 == 2 or not min(a, b) < x < max(a, b):
            x = (a + b) / 2
        at_x = function(x)
        if (at_x < 0) == (at_b < 0):
            b, at_b, at_a = x, at_x, at_a / 2
        else:
            a, at_a, b, at_b = b, at_b, x, at_x
    return b

'''


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
    used = needed_helpers(program, _Printer(), HELPERS, _USES, "Python")
    parts = [
        f'"""{_prose(task, remark)}\n"""\n' if remark else "",
        "import math\nimport sys\n\nimport numpy\n",
        "".join(HELPERS[h] for h in used),
        "\n".join(_table(t) for t in tables),
        SOLVER if has_step(program, Solve) else "",
        FINDER if has_step(program, Find) else "",
        f"\n{text}\n",
        _caller(task, program.main.name),
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


def _caller(task: Task, inner: str) -> str:
    signature = ", ".join(f"{a.name}={a.default}" if a.default is not None else a.name for a in task.ordered())
    names = ", ".join(a.name for a in task.ordered())
    outputs = ", ".join(repr(name) for name in task.outputs)
    order = [a.name for a in task.arguments]
    call = ", ".join(f"point[{[a.name for a in task.ordered()].index(name)}]" for name in order)
    return (
        f'''
def {task.name}({signature}):
    """All outputs by name; letters are numbers, or arrays that go together point by point."""
    arrays = numpy.broadcast_arrays(*(numpy.asarray(v, dtype=float) for v in ({names},)))
    with numpy.errstate(all="ignore"):
        rows = [[float(v) for v in {inner}({call})] for point in zip(*(a.ravel() for a in arrays))]
    columns = numpy.array(rows).T
    if numpy.isnan(columns).any():
        raise ArithmeticError("there is no finite value at this point")
    shape = arrays[0].shape
    return {{name: column.reshape(shape)[()] for name, column in zip([{outputs}], columns)}}


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    for name, value in {task.name}(**{{name: float(text) for name, text in given.items()}}).items():
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
