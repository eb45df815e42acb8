"""Functions, activations and distributions that users write as text: the same numbers as from SymPy."""

import pytest
import sympy

import theorem_engine as te
from tests.theorem_engine.command_line import data_of, error_of
from theorem_engine.base.errors import BadNumber, OutOfDomain

X = sympy.Symbol("x")
TASK = {"task": "spiked", "nu": 2, "L": 3}


def test_a_nonlinearity_as_text_is_the_expression():
    """E[f^2] = 15 - 18 + 9 = 6 and E[xi f] = 0 for the third Hermite polynomial."""
    found = te.predict("liao2026.hermite", nonlinearity="x**3 - 3*x")
    assert found.outputs == te.predict("liao2026.hermite", nonlinearity=X**3 - 3 * X).outputs
    assert found.outputs["second_moment"] == 6
    assert found.outputs["a1"] == 0
    assert data_of("predict", "liao2026.hermite", "nonlinearity=x^3-3*x")["outputs"]["second_moment"] == 6


def test_kinks_of_a_nonlinearity_are_found():
    mine, named = (
        te.predict("liao2026.hermite", nonlinearity="max(0, x)"),
        te.predict("liao2026.hermite", nonlinearity="relu"),
    )
    for output in ("mean", "a1", "a2", "second_moment"):
        assert mine[output].value == pytest.approx(named[output].value, rel=1e-13)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Normalised(exp(x))", "softmax"),
        ("ElementWise(1 + x)", "linear"),
        ("ElementWise(1 + erf(x))", "erf"),
        ("Normalised(softplus(x))", "softplus"),
        ("ElementWise(sigmoid(x))", "sigmoid"),
        ("Normalised(exp(x), extra=1)", "softmax-plus-one"),
        ("Normalised(max(0, x))", "relu"),
    ],
)
def test_an_activation_as_text_is_the_named_one(text, name):
    point = {**TASK, "m_kk": 1, "m_vv": "1/2"}
    mine = te.predict("duranthon2026.manifold-risk", activation=text, **point)
    named = te.predict("duranthon2026.manifold-risk", activation=name, **point)
    assert mine.value == pytest.approx(named.value, rel=1e-12)
    assert mine.error < 1e-9


def test_an_activation_can_be_given_again_as_it_is_shown():
    shown = te.predict(
        "duranthon2026.manifold-risk", activation="Normalised(max(0, x), extra=1/2)", m_kk=1, m_vv=1, **TASK
    )
    again = te.predict(
        "duranthon2026.manifold-risk", activation=shown.to_json()["point"]["activation"], m_kk=1, m_vv=1, **TASK
    )
    assert again == shown


@pytest.mark.parametrize(
    ("letters", "says"),
    [
        ({"nonlinearity": "x**y"}, "two letters"),
        ({"nonlinearity": "tanhh"}, "nearest: tanh"),
        ({"nonlinearity": "1/x"}, "not finite at"),
        ({"nonlinearity": "exp(x^2)"}, "second moment diverges"),
    ],
)
def test_functions_that_cannot_be_meant_are_refused(letters, says):
    with pytest.raises((BadNumber, OutOfDomain), match=says):
        te.predict("liao2026.hermite", **letters)


def test_a_kernel_that_falls_is_refused_with_its_reason():
    with pytest.raises(OutOfDomain, match="does not increase"):
        te.predict("duranthon2026.manifold-risk", activation="Normalised(exp(-x))", m_kk=1, m_vv=1, **TASK)
    with pytest.raises(BadNumber, match="ElementWise"):
        te.predict("duranthon2026.manifold-risk", activation="exp(x)", m_kk=1, m_vv=1, **TASK)


def test_pages_say_how_functions_and_lengths_are_written():
    assert (
        "x^3 - 3*x" in next(x for x in te.entry("liao2026.hermite").given if x.name == "nonlinearity").domain.describe()
    )
    assert (
        "'2:0.5,4:0.5'"
        in next(x for x in te.entry("duranthon2026.linear-risk").given if x.name == "L").domain.describe()
    )


@pytest.mark.parametrize("text", ["2:0.5,4:0.5", "{2: 1/2, 4: 1/2}", " 4:0.5, 2:0.5 "])
def test_a_distribution_of_lengths_is_read_from_text(text):
    """The weights' mean is that of the two lengths, as L enters only through a mean over it here."""
    told = te.predict("duranthon2026.linear-risk", task="spiked", nu=2, L=text)
    assert told == te.predict("duranthon2026.linear-risk", task="spiked", nu=2, L={2: "1/2", 4: "1/2"})
    assert data_of("predict", "duranthon2026.linear-risk", "task=spiked", "nu=2", f"L={text}")["value"] == told.value


@pytest.mark.parametrize("text", ["2:0.5,4:0.6", "2:0.5", "2:", "2:0.5,2:0.5", "a:1", "2:0.5,4"])
def test_what_is_no_distribution_is_refused(text):
    with pytest.raises((BadNumber, OutOfDomain), match="L="):
        te.predict("duranthon2026.linear-risk", task="spiked", nu=2, L=text)


def test_lists_of_functions_and_of_distributions_can_be_swept():
    data = data_of("sweep", "liao2026.hermite", "nonlinearity=max(0,abs(x)-1),x^3")
    assert len(data["coordinates"]["nonlinearity"]["values"]) == 2
    data = data_of("sweep", "duranthon2026.linear-risk", "task=spiked", "nu=2", "L={2:0.5,4:0.5},3")
    assert len(data["coordinates"]["L"]["values"]) == 2
    assert "L=" in error_of("predict", "duranthon2026.linear-risk", "task=spiked", "nu=2", "L=2:9:3")
