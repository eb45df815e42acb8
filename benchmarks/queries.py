"""Start-up and warm queries."""

import sys

import theorem_engine as te
from benchmarks.timing import best, line, seconds_of


def report():
    """Ratios of start-up, and microseconds of warm closed forms."""
    sympy = seconds_of(sys.executable, "-c", "import sympy")
    find = seconds_of(sys.executable, "-m", "theorem_engine.showing.commandline.commands", "find", "risk")
    line("`theorem-engine find` over `import sympy`", f"{find / sympy:.2f}", "wanted: at most 1.5")
    closed = {
        "marion2025.linear-risk": {"gamma": 0.7, "L": 10},
        "marion2025.oracle-risk": {"lam": 0.1, "gamma": "sqrt(1/2)", "d": 400, "L": 10},
        "gaussian.erf-square": {"t": 0.3, "g": 0.07},
    }
    for name, point in closed.items():
        te.predict(name, **point)
        warm = best(lambda n=name, p=point: [te.predict(n, **p) for _ in range(200)]) / 200
        line(f"warm predict of {name}, microseconds", f"{1e6 * warm:.0f}", "wanted: at most 200")
