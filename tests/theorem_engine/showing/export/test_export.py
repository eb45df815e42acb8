"""Exported code is run: C by a strict compiler, Python with NumPy alone, and compared with the engine."""

import json
import shutil
import subprocess
import sys

import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, NotAvailable, UnknownParameter

#: Entry, what is fixed, how points of the code are written as queries, and the points, ends of domains among them.
CASES = {
    "gaussian.erf-mean": ({}, None, [{"t": 0.3, "g": 0.7}, {"t": 0, "g": 0}, {"t": -4, "g": 2}]),
    "gaussian.erf-square": ({}, None, [{"t": 0.3, "g": 0.7}, {"t": 0, "g": 0}, {"t": 0, "g": 50}, {"t": 3, "g": 0.01}]),
    "gaussian.erf-miss": ({}, None, [{"t": 0.3, "g": 0.7}, {"t": 0, "g": 0}, {"t": 2, "g": 5}]),
    "gaussian.erf-moments": ({}, None, [{"t": 0.3, "g": 0.7}, {"t": 0, "g": 0}, {"t": -1, "g": 3}]),
    "marion2025.risk": (
        {},
        None,
        [
            {"kappa": 0.5, "nu": 0.4, "theta": 0.1, "eta": 0.1, "rho": 0.1, "lam": 0.3, "gamma": 0.7, "d": 99, "L": 10},
            {"kappa": 1, "nu": 1, "theta": 0, "eta": 0, "rho": 0, "lam": 2, "gamma": 0.7, "d": 400, "L": 2, "eps": 0.5},
            {"kappa": -1, "nu": 0, "theta": 0, "eta": 0, "rho": 0, "lam": 0.01, "gamma": 1, "d": 2, "L": 50},
        ],
    ),
    "marion2025.manifold-risk": (
        {},
        None,
        [
            {"kappa": 0, "nu": 0, "lam": 0.5, "gamma": 0.7, "d": 20, "L": 4},
            {"kappa": 1, "nu": 1, "lam": 0.5, "gamma": 0.7, "d": 20, "L": 4},
        ],
    ),
    "marion2025.oracle-risk": ({"L": 10}, None, [{"lam": 0.1, "gamma": 0.7, "d": 400}, {"lam": 3, "gamma": 2, "d": 2}]),
    "marion2025.linear-risk": ({}, None, [{"gamma": 1, "L": 10}, {"gamma": 0.001, "L": 2, "eps": 2}]),
    "marion2025.fixed-points": ({}, None, [{"lam": 0.3, "gamma": 0.7, "d": 100, "L": 10}]),
    "liao2026.ridge-error": (
        {},
        None,
        [{"c": 0.5, "snr": 2, "gamma": 0.3}, {"c": 1, "snr": 0, "gamma": 1e-8}, {"c": 40, "snr": 9, "gamma": 1e6}],
    ),
    "liao2026.noise-resolvent": (
        {},
        lambda p: {**{k: v for k, v in p.items() if k != "b2"}, "second_moment": p["b2"] + p["a1"] ** 2},
        [
            {"c": 0.5, "a1": 0.5, "b2": 0.75, "gamma": 0.3, "diagonal": 0},
            {"c": 2, "a1": 0, "b2": 1, "gamma": 1, "diagonal": 0.5},
        ],
    ),
    "duranthon2026.linear-risk": (
        {"task": "spiked"},
        None,
        [{"nu": 2, "L": 5, "delta": 0}, {"nu": 0, "L": 1, "delta": 1}, {"nu": 1e6, "L": 1000, "delta": 0.1}],
    ),
    "duranthon2026.element-wise-bound": (
        {"task": "spiked"}, None, [{"nu": 2, "L": 5, "delta": 0}, {"nu": 0, "L": 2, "delta": 0}],
    ),
    # a mean over competing tokens, of many and of two; small means beside it
    "duranthon2026.softmax-optimality": (
        {"task": "spiked"}, None, [{"nu": 2, "L": 5, "delta": 0}, {"nu": 0.3, "L": 2}, {"nu": 12, "L": 10**6}],
    ),
    # the root of one equation, on both sides of a transition, and of an equation with a mean in it
    "classics.lasso": ({}, None, [{"delta": 0.6, "rho": 0.1, "s2": 0.2, "theta": 1.5}]),
    "classics.spiked-wigner": ({}, None, [{"snr": 0.5}, {"snr": 1.01}, {"snr": 3}]),
    # two phases, and a function of a plan of which a part is not needed
    "classics.bbp": ({}, None, [{"g": 0.5, "spike": 1.2}, {"g": 0.5, "spike": 5}, {"g": 2, "spike": 9}]),
    "classics.logistic-ridge": ({}, None, [{"alpha": 2, "lam": 1}]),
}  # fmt: skip
#: What double precision and fixed nodes leave, relative to the larger of the value and one.
CLOSE = 1e-11

DRIVER = """
import json, runpy, sys
room = runpy.run_path(sys.argv[1])
points = json.loads(sys.argv[3])
found = [{k: float(v) for k, v in room[sys.argv[2]](**point).items()} for point in points]
foreign = [name for name in ("theorem_engine", "sympy", "scipy", "mpmath") if name in sys.modules]
print(json.dumps({"found": found, "foreign": foreign}))
"""


def expected(id, fixed, query, point):
    letters = query(point) if query else point
    outputs = te.predict(id, **{**fixed, **letters}).outputs
    return {name: float(value) for name, value in outputs.items() if isinstance(value, (int, float))}


def check(found, wanted):
    assert wanted.keys() <= found.keys()
    for name, value in wanted.items():
        assert abs(found[name] - value) <= CLOSE * max(1.0, abs(value)), name


@pytest.mark.parametrize("id", CASES)
def test_exported_python_needs_numpy_alone_and_gives_the_engines_digits(id, tmp_path):
    fixed, query, points = CASES[id]
    path = tmp_path / "exported.py"
    path.write_text(te.export(id, to="python", at=fixed), encoding="utf-8")
    name = id.replace(".", "_").replace("-", "_")
    # -I: neither the current folder nor any setting of the user's is seen
    command = [sys.executable, "-I", "-c", DRIVER, str(path), name, json.dumps(points)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=120)
    answer = json.loads(done.stdout)
    assert answer["foreign"] == []
    assert done.stderr == ""
    for point, found in zip(points, answer["found"], strict=True):
        check(found, expected(id, fixed, query, point))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("id", CASES)
def test_exported_c_compiles_without_a_warning_and_gives_the_engines_digits(id, tmp_path):
    fixed, query, points = CASES[id]
    code = te.export(id, to="c", at=fixed)
    path, program = tmp_path / "exported.c", tmp_path / "exported"
    path.write_text(code, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["gcc", *flags, "-c", "-o", str(tmp_path / "part.o"), str(path)], check=True, timeout=120)
    subprocess.run(["gcc", *flags, "-DEXAMPLE", "-o", str(program), str(path), "-lm"], check=True, timeout=120)
    order = next(line for line in code.splitlines() if line.startswith("/* cc ")).split("a.out ")[1].split()[:-1]
    defaults = {letter.name: letter for letter in te.entry(id).given}
    for point in points:
        words = {name.lower(): value for name, value in point.items()}
        numbers = [words.get(n.lower()) for n in order]
        numbers = [float(defaults[n.lower()].default) if v is None else v for n, v in zip(order, numbers, strict=True)]
        done = subprocess.run(
            [str(program), *map(repr, numbers)], capture_output=True, text=True, check=True, timeout=60
        )
        found = {k: float(v) for k, v in (line.split(" = ") for line in done.stdout.splitlines())}
        check(found, expected(id, fixed, query, point))


def test_the_code_takes_arrays_and_refuses_letters_outside_their_domains(tmp_path):
    room = {"__name__": "exported"}
    exec(te.export("liao2026.ridge-error", to="python"), room)
    function = room["liao2026_ridge_error"]
    both = function(c=[0.5, 2.0], gamma=0.3, snr=[[1.0], [2.0]])["error"]
    assert both.shape == (2, 2)
    assert both[1, 0] == function(c=0.5, gamma=0.3, snr=2.0)["error"]
    with pytest.raises(ValueError, match=r"gamma is in \(0, oo\)"):
        function(c=0.5, gamma=0.0)


def test_a_letter_can_be_fixed_in_the_code():
    code = te.export("gaussian.erf-mean", to="python", at={"g": "1/2"})
    room = {"__name__": "exported"}
    exec(code, room)
    value = te.predict("gaussian.erf-mean", t="0.3", g="1/2").value
    assert room["gaussian_erf_mean"](t=0.3)["value"] == pytest.approx(value, rel=1e-15)
    assert "g = 0.5" in code


def test_a_distribution_of_lengths_can_be_fixed():
    code = te.export("duranthon2026.linear-risk", to="python", at={"task": "spiked", "L": "uniform(2,5)"})
    room = {"__name__": "exported"}
    exec(code, room)
    value = te.predict("duranthon2026.linear-risk", task="spiked", L="uniform(2,5)", nu=2).value
    assert room["duranthon2026_linear_risk"](nu=2.0)["risk"] == pytest.approx(value, rel=1e-14)


def test_the_error_of_generated_nodes_is_stated_in_the_code():
    for to in ("python", "c"):
        code = te.export("marion2025.oracle-risk", to=to)
        assert "largest difference from the engine at 8 points" in " ".join(code.replace("\n *", " ").split())


@pytest.mark.parametrize(
    ("id", "at", "operator"),
    [
        ("duranthon2026.population-risk", {"task": "max"}, "TokenMean of two"),
        ("marion2025.pgd", {}, "Recurrence"),
        ("marion2025.gradient-flow", {}, "Flow"),
        ("marion2025.optimal-rate", {}, "Minimum"),
        ("marion2025.transverse-stability", {}, "Eigenvalues"),
        ("duranthon2026.learning-curve", {"task": "spiked"}, "ChannelMean"),
    ],
)
@pytest.mark.parametrize("to", ["python", "c"])
def test_what_has_no_form_in_code_is_refused_by_its_name(id, at, operator, to):
    with pytest.raises(NotAvailable, match=operator) as refused:
        te.export(id, to=to, at=at)
    assert id in str(refused.value)


@pytest.mark.parametrize("entry", [e for e in te.entries() if not e.costly], ids=str)
def test_every_entry_is_exported_to_latex_and_json(entry):
    latex = te.export(entry.id, to="latex")
    assert latex.count("{") == latex.count("}")
    assert latex.startswith("%")
    data = json.loads(te.export(entry.id, to="json"))
    assert data["entry"] == entry.id
    assert data["equations"]
    assert {symbol for o in data["outputs"].values() for symbol in o["symbols"]}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("id", ["classics.marchenko-pastur", "liao2026.spiked-resolvent"])
def test_functions_of_a_complex_letter_are_exported(id, tmp_path):
    point = {"g": 0.5} if id.startswith("classics") else {"c": 1.5, "snr": 3}
    wanted = te.predict(id, z="1/2+1/8j", **point)
    room = {"__name__": "exported"}
    exec(te.export(id, to="python"), room)
    found = room[id.replace(".", "_").replace("-", "_")](z=0.5 + 0.125j, **point)
    (tmp_path / "exported.c").write_text(te.export(id, to="c"), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DEXAMPLE"]
    subprocess.run(["gcc", *flags, "exported.c", "-o", "exported", "-lm"], check=True, cwd=tmp_path, timeout=120)
    words = [*map(repr, map(float, point.values())), "0.5", "0.125"]
    lines = subprocess.run([tmp_path / "exported", *words], capture_output=True, text=True, check=True).stdout
    printed = {name: complex(value) for name, value in (line.split(" = ") for line in lines.splitlines())}
    for name, value in found.items():
        assert abs(value - wanted.outputs[name]) <= 1e-13 * max(1, abs(value)), name
        assert abs(printed[name] - wanted.outputs[name]) <= 1e-13 * max(1, abs(value)), name
    assert not any(isinstance(found[n], complex) for n in found if not isinstance(wanted.outputs[n], complex))


def test_requests_that_make_no_sense_are_refused():
    with pytest.raises(BadRequest, match="nearest: python"):
        te.export("gaussian.erf-mean", to="pyhton")
    with pytest.raises(UnknownParameter, match="no parameter 'tt'"):
        te.export("gaussian.erf-mean", to="c", at={"tt": 1})
    with pytest.raises(BadRequest, match="no output 'valu'"):
        te.export("gaussian.erf-mean", to="c", outputs=["valu"])
    assert "double variance" in te.export("gaussian.erf-miss", to="c", outputs=["variance"])
    assert "double value" not in te.export("gaussian.erf-miss", to="c", outputs=["variance"])
