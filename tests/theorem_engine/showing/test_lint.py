"""Lint: each rule finds what it is for, with the place and the fix, and a good pack has no findings."""

import json

import pytest

from tests.theorem_engine.command_line import run
from theorem_engine.base.errors import BadRequest
from theorem_engine.language import catalogue, packs
from theorem_engine.showing.lint import lint
from theorem_engine.showing.skeleton import make_pack

HEAD = """
import sympy
from sympy import Rational, S, sqrt
from theorem_engine import *
from theorem_engine import Interval, Output, Source, lemma, notation, POSITIVE, REAL, Partial, OpenFunction
var = notation("sick")
x = var("x", "x", "a number", POSITIVE, typical=(1, 2))
y = var("y", "y", "another", POSITIVE, typical=(1, 2))
WORDS = {"title": "T", "source": Source.unpublished("a test"), "given": (x,), "outputs": {"value": "a value"},
         "checks": ("draws.value",)}
"""
DRAWS = """
from theorem_engine import simulator

@simulator(covers=("value",))
def value(point, rng, count):
    return {"value": 3 * point["x"] + rng.standard_normal(count)}

@simulator(covers=("value",))
def blind(point, rng, count):
    return {"value": 3 * point["x"] + 1e4 * rng.standard_normal(count)}

@simulator(covers=("value",))
def more(point, rng, count):
    return {"value": 3 * point["x"] + rng.standard_normal(count), "other": rng.standard_normal(count)}

@simulator(covers=("value",))
def raising(point, rng, count):
    raise KeyError("nothing")
"""
LAW = """
@lemma("sick.law", **{{**WORDS{changes}}})
def law({parameters}):
    "Words."
    return {{{equations}}}
"""
EXAMPLES = '["sick.law"]\npoint = { x = 1 }\nprints = ["value = 3"]\n'


def law(equations, changes="", parameters="x"):
    return LAW.format(equations=equations, changes=f", {changes}" if changes else "", parameters=parameters)


@pytest.fixture
def linted(tmp_path):
    """Lints a pack made of a law and what stands before it."""

    def examine(text, methods=""):
        folder = tmp_path / "sick"
        folder.mkdir()
        files = {"law.py": HEAD + text, "draws.py": DRAWS, "methods.py": methods, "examples.toml": EXAMPLES}
        for name, content in files.items():
            (folder / name).write_text(content)
        return lint(folder, seconds=1)

    yield examine
    catalogue.forget_pack(packs.Pack("sick", "sick", tmp_path / "sick", ""))
    packs.remove("sick")


def test_a_good_pack_has_no_findings(linted):
    report = linted(law('"value": 3 * x'))
    assert str(report).endswith("1 entry, nothing found."), report


WRONG = """
class envelope(OpenFunction):
    "x + 1e-6 in double precision, x at many digits."
    nargs = 1
    meanings = {"float64": "sick.methods:wrong", "multiprecision": "sick.methods:right"}
"""
#: What is wrong, the text, the rule, and a word of the finding and of its fix.
SICK = [
    ("undeclared letter", law('"value": 3 * x + y'), "letters", "y is used by value", "add the letter to `given`"),
    ("a float", law('"value": 0.3 * 10 * x'), "floats", "binary number", "Rational"),
    ("outputs differ", law('"other": 3 * x'), "equations", "differ in other, value", "agree"),
    ("no domain", 'x = var("x", "x", "a number", typical=(1, 2))\n' + law('"value": 3 * x', '"given": (x,)'),
     "domains", "the letter x has no domain", "POSITIVE"),
    ("no meaning", law('"value": 3 * x', '"outputs": {"value": ""}'), "words", "value has no meaning", "say what"),
    ("no marks", law('"value": 3 * x', '"marks": ""'), "words", "no provenance", "marks"),
    ("out of range", law('"value": 3 * x', '"outputs": {"value": Output("v", Interval(0, 1))}'), "range",
     "outside its range", "declared range"),
    ("no value", law('"value": 3 * x + sqrt(1 - x**2)', '"given": (x,)'), "range", "value", "narrow the domains"),
    ("no simulator", law('"value": 3 * x', '"checks": ()'), "simulator", "nothing can refute it", "checks="),
    ("no such simulator", law('"value": 3 * x', '"checks": ("draws.vlaue",)'), "simulator", "nearest: value", "exists"),
    ("an output is not covered", law('"value": 3 * x, "other": x', '"outputs": {"value": "v", "other": "o"}'),
     "simulator", "no simulator covers the output other", "Unchecked"),
    ("it covers more than it says",
     law('"value": 3 * x, "other": 0 * x', '"outputs": {"value": "v", "other": "o"}, "checks": ("draws.more", '
         'Unchecked("other", because="it is zero whatever the number is, so nothing needs measuring"))'),
     "simulator", "returns other and does not say", "covers="),
    ("it raises", law('"value": 3 * x', '"checks": ("draws.raising",)'), "simulator", "raises KeyError", "mend it"),
    ("the simulator is the formula's neighbour", "def near(point, rng, count):\n    return {'value': 3 * point['x'] + "
     "rng.standard_normal(count)}\nfrom theorem_engine.validators.simulator import Simulator\n"
     "near = Simulator(near, covers=('value',))\n" + law('"value": 3 * x', '"checks": (near,)'),
     "wall", "could repeat the formula", "a module of their own"),
    ("LaTeX", 'x = var("x", r"\\fraktur{x}", "a number", POSITIVE, typical=(1, 2))\n' +
     law('"value": 3 * x', '"given": (x,)'), "latex", "fraktur is no command", "amsmath"),
    ("LaTeX with an open brace", 'x = var("x", r"x_{1", "a number", POSITIVE, typical=(1, 2))\n' +
     law('"value": 3 * x', '"given": (x,)'), "latex", "'x_{1', does not render", "amsmath"),
    ("unused needs", law('"value": 3 * x', '"needs": {"f": "gaussian.erf-mean"}', "x, *, f"), "needs",
     "gaussian.erf-mean (as f) and applies it nowhere", "take it out of `needs`"),
    ("a wrong derivative", law('"value": 3 * x, Partial("value", x): 4 * x / x', ""), "derivatives",
     "the slope 3.0", "leave it out"),
    ("the simulator disagrees", law('"value": 4 * x'), "check", "its simulators disagree", "one of the two is wrong"),
    ("mutants survive", law('"value": 3 * x', '"checks": ("draws.blind",)'), "mutants", "are not refuted",
     "designed_points"),
    ("a cycle of letters", law('y: x * sympy.exp(-y) + y**2 * x, "value": y'), "cycle", "no method was declared",
     "Unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "says", "fix"), [case[1:] for case in SICK], ids=[case[0] for case in SICK])
def test_each_rule_finds_what_it_is_for(linted, text, rule, says, fix):
    report = linted(text)
    found = [f for f in report.findings if f.rule == rule]
    assert found, report
    assert any(says in f.says and fix in f.fix for f in found), report
    assert all(f.entry == "sick.law" and f.place.startswith("law.py:") for f in found)
    assert {f.rule for f in report.findings} <= {rule, "mutants", "check", "text", "latex"}, report


def test_an_error_that_is_claimed_too_small_is_found(linted):
    """A function whose double-precision code is off by a millionth, where its author's digits are right."""
    methods = "def wrong(x):\n    return 3 * x + 1e-6\n\ndef right(x):\n    return 3 * x\n"
    report = linted(WRONG + law('"value": envelope(x)'), methods=methods)
    assert [f.rule for f in report.findings if "claims an error of" in f.says] == ["error"] * 2, report


def test_a_pack_that_does_not_load_is_one_finding(linted):
    report = linted("1 / 0")
    (found,) = report.findings
    assert found.rule == "load"
    assert "law.py, line" in found.says
    assert "ZeroDivisionError" in found.says


def test_a_name_that_is_no_pack_is_refused():
    with pytest.raises(BadRequest, match="no pack 'gausian'; nearest: gaussian"):
        lint("gausian")


def test_the_command_prints_findings_and_its_status_tells(tmp_path):
    make_pack("well", tmp_path)
    law_file = tmp_path / "well" / "well" / "law.py"
    try:
        done = run("lint", str(tmp_path / "well"), "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["findings"] == []
        law_file.write_text(law_file.read_text().replace('checks=("draws.rectified",),', ""))
        done = run("lint", str(tmp_path / "well"), "--seconds", "1")
        assert done.exit_code == 1
        assert "law.py:8: well.rectified-mean [simulator] no simulator measures it" in done.stdout
        assert "fix: write one" in done.stdout
    finally:
        catalogue.forget_pack(packs.packs()["well"])
        packs.remove("well")
