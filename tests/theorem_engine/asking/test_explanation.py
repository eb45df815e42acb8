"""Explanations: the graph that is walked, in order, with unique names."""

import json
import re
from types import SimpleNamespace

import pytest
import sympy

import theorem_engine as te
from theorem_engine.asking import explanation as explaining
from theorem_engine.asking.explanation import Explanation
from theorem_engine.base.errors import BadNumber, BadRequest, MissingParameter, UnknownEntry, UnknownParameter
from theorem_engine.base.reports import Note
from theorem_engine.language.statement import Unknown
from theorem_engine.planning.plan import make_plan

ENTRIES = te.entries()
POINT = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 400, "L": 10}
a, u, x, y, z = sympy.symbols("a u x y z")


def made_up(equations, targets, inputs=(a,), **rest):
    """An explanation of equations that belong to no entry."""
    return Explanation(
        SimpleNamespace(id="test.made-up"), make_plan(inputs, equations, targets, "test.made-up"), {}, **rest
    )


@pytest.fixture(scope="module")
def oracle():
    return te.explain("marion2025.oracle-risk", **POINT)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_entry_is_explained_without_a_point(entry):
    explanation = te.explain(entry.id)
    assert explanation.prediction is None
    names = [quantity.name for quantity in explanation.quantities]
    assert len(set(names)) == len(names)
    assert sum(q.role == "output" for q in explanation.quantities) >= 1
    json.dumps(explanation.to_json(), allow_nan=False)


def test_an_id_alone_evaluates_nothing(monkeypatch):
    monkeypatch.setattr(explaining, "predict", None)
    assert "prediction" in te.explain("gaussian.erf-mean").to_json()


def test_quantities_come_after_what_they_need(oracle):
    seen = set()
    for quantity in oracle.quantities:
        assert set(quantity.needs) <= seen
        seen.add(quantity.name)


def test_letters_of_different_applications_are_told_apart(oracle):
    names = {quantity.name: quantity for quantity in oracle.quantities}
    widths = [q for name, q in names.items() if name.startswith("w@")]
    assert {q.entry for q in widths} == {"gaussian.erf-miss", "gaussian.erf-square"}
    assert all(oracle.applications[q.application].startswith(q.entry + "(") for q in widths)


def test_a_point_is_walked_and_its_methods_report(oracle):
    assert oracle.prediction.value == te.predict("marion2025.oracle-risk", **POINT).value
    assert [row["method"] for row in oracle.methods()] == ["Gauss-Legendre"]
    assert set(oracle.seconds) == {"planning", "compiling", "evaluating"}
    text = str(oracle)
    for part in (
        "applications of other entries",
        "step 1: evaluate",
        "operate: Integral",
        "methods",
        "risk   = 0.1134",
    ):
        assert part in text


def test_digits_are_explained_too():
    explanation = te.explain("gaussian.erf-square", t=1, g=1, digits=30)
    assert explanation.prediction.digits == 30
    with pytest.raises(BadRequest):
        te.explain("gaussian.erf-square", t=1, g=1, digits=0)


def test_bad_queries_are_refused_as_in_predict():
    with pytest.raises(UnknownEntry):
        te.explain("gaussian.erf-men")
    with pytest.raises(MissingParameter, match="needs g"):
        te.explain("gaussian.erf-mean", t=1)
    with pytest.raises(UnknownParameter):
        te.explain("gaussian.erf-mean", t=1, h=1)
    with pytest.raises(BadNumber):
        te.explain("gaussian.erf-mean", t="one", g=1)


def test_a_group_is_shown_with_its_equations():
    explanation = made_up({x: Unknown(sympy.cos(y) + a, 1), y: Unknown(x / 2, (0, 1)), z: x + y}, [z])
    assert explanation.groups() == [["x", "y"]]
    assert "solve a group: Newton, 2 starting point(s)" in str(explanation)
    assert "x = a + cos(y)" in str(explanation)
    assert {q.name for q in explanation.quantities if q.role == "unknown"} == {"x", "y"}


def test_a_group_shows_the_operators_inside_it():
    explanation = made_up({x: Unknown(te.GaussianMean(sympy.tanh(x * u + a), u) / 2, 1)}, [x])
    (step,) = [step for step in explanation.steps() if "solve" in step["does"]]
    assert step["makes"] == {"x": "GaussianMean(tanh(a + u*x), (u,), ())/2"}


def test_operators_are_counted_and_their_parts_named():
    lowest = te.Minimum((y - a) ** 2, {y: (0, 1)})
    explanation = made_up({x: lowest + lowest.at(y)}, [x])
    assert "x = minimum1.value + minimum1.y" in str(explanation)


def test_a_name_used_twice_is_marked():
    from theorem_engine.language.letters import Letter

    first, second = Letter("x", "one", assumptions={}), Letter("x", "two", assumptions={})
    explanation = made_up({first: a + 1, second: first + 1}, [second])
    assert list(explanation.names.values()) == ["a", "x", "x'"]


def test_mermaid_has_every_node_and_every_edge(oracle):
    lines = oracle.mermaid().splitlines()
    assert lines[0] == "flowchart TD"
    nodes = dict(re.findall(r'(n\d+)\W+"([^"]+)"', oracle.mermaid()))
    assert sorted(nodes.values()) == sorted(q.name for q in oracle.quantities)
    edges = [line.split() for line in lines if "-->" in line]
    assert len(edges) == sum(len(q.needs) for q in oracle.quantities) == oracle.plan.graph.number_of_edges()
    assert all(left in nodes and right in nodes for left, _, right in edges)


def test_dot_has_every_node_and_every_edge(oracle):
    text = oracle.dot()
    assert text.startswith("digraph quantities {")
    assert text.count("{") == text.count("}")
    assert text.count("shape=") == len(oracle.quantities)
    assert text.count("->") == oracle.plan.graph.number_of_edges()


def test_signs_with_a_meaning_to_the_drawing_languages_are_escaped():
    odd = sympy.Symbol('a"<#\\')
    explanation = made_up({odd: a + 1}, [odd])
    assert 'a#quot;#lt;#35;\\"' in explanation.mermaid()
    assert r'label="a\"<#\\"' in explanation.dot()


def test_explanations_do_not_depend_on_hashing(oracle):
    assert te.explain("marion2025.oracle-risk", **POINT).mermaid() == oracle.mermaid()


def test_reports_of_any_shape_are_summed_up():
    notes = (Note("rule", [1e-10, [2e-9]]), Note("rule", float("nan"), "7 nodes"), Note("other", None))
    explanation = made_up({x: a + 1}, [x], notes=notes)
    assert explanation.methods() == [
        {"method": "rule", "runs": 2, "errors": [1e-10, 2e-9], "detail": "7 nodes"},
        {"method": "other", "runs": 1, "errors": [], "detail": ""},
    ]
    assert "rule: 2 times, error 1e-10 to 2e-9, 7 nodes" in str(explanation)
    # a remark that is not about errors claims none
    assert str(explanation).endswith("other: once")


def test_html_is_escaped(oracle):
    html = oracle._repr_html_()
    assert "--&gt;" in html
    assert "<pre>" in html
