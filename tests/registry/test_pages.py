"""Every page of every entry: mathematics and no code, all letters explained, lines that fit, examples that run."""

import ast
import math
import re
import shlex

import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, OutOfDomain
from theorem_engine.language.figure import figures
from theorem_engine.showing.commandline.commands import app
from theorem_engine.showing.example import example_of
from theorem_engine.showing.figure_page import figure_page
from theorem_engine.showing.page import entry_text
from theorem_engine.showing.page_rules import bad_pages

ENTRIES = te.entries()
#: Examples that take long are left to the campaign.
HEAVY = {entry.id for entry in ENTRIES if entry.costly} | {"duranthon2026.information-sum-rule"}
EXAMPLES = [pytest.param(e, id=e.id, marks=pytest.mark.campaign if e.id in HEAVY else ()) for e in ENTRIES]


# whether a regime holds at a point is not under test here
pytestmark = pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_the_pages_are_mathematics_whole_explained_and_fit(entry):
    """One test for the three forms: a large statement is written once for all of them."""
    assert list(bad_pages(entry)) == []


@pytest.mark.parametrize("entry", EXAMPLES)
def test_the_example_on_the_page_runs_and_gives_what_is_printed(entry):
    """The call, the command and the numbers are read off the page as a person would copy them."""
    example = example_of(entry)
    assert example is not None, "write one in examples.toml"
    lines = entry_text(entry).split("\nExample\n")[1].splitlines()
    python = [line.strip() for line in lines if line.startswith(("  >>>", "  ..."))]
    call = ast.parse("".join(re.sub(r"^(>>>|\.\.\.)", "", line) for line in python).strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    values = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    prediction = te.predict(ast.literal_eval(call.args[0]), **values)
    printed = [line.split(" = ") for line in map(str.strip, lines) if re.fullmatch(r"\w+ = \S+", line)]
    assert next(name for name, _ in printed) == entry.main_output
    for name, text in printed:
        value = prediction.outputs[name]
        if text in ("True", "False") or isinstance(value, str):
            assert str(value) == text
            continue
        number = float(text)
        digits = len(re.sub(r"^0\.0*|e.*|\W", "", text.lstrip("-")))
        slack = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1) if number and math.isfinite(number) else 0
        assert value == number or abs(value - number) <= slack + 2 * float(prediction.errors[name] or 0)
    start = next(k for k, line in enumerate(lines) if line.startswith("  $ "))
    command = ""
    for line in lines[start:]:
        command += line.rstrip("\\") + " "
        if not line.endswith("\\"):
            break
    words = shlex.split(command)
    assert words[:3] == ["$", "theorem-engine", "predict"]
    assert {w.partition("=")[0]: w.partition("=")[2] for w in words[4:]} == {k: str(v) for k, v in values.items()}
    assert words[3] == entry.id


def test_an_example_runs_as_a_command():
    example = example_of(te.entry("marion2025.oracle-risk"))
    words = shlex.split(" ".join(line.rstrip("\\") for line in example.command()))[2:]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert example.prints[0].split(" = ")[1][:6] in done.output


@pytest.mark.parametrize("figure", figures(), ids=lambda f: f.id)
def test_every_figure_has_a_page_that_fits(figure):
    page = str(figure_page(figure.id))
    assert figure.title.split()[0] in page
    assert not [line for line in page.splitlines() if len(line) > 80]
    for name in figure.options():
        assert f"  {name} = " in page
    assert "--out" in page


def test_cases_stand_behind_a_brace():
    text = entry_text(te.entry("duranthon2026.bayes-risk"))
    assert "if task = spiked" in text
    assert "if task = max, ν = ∞" in text
    assert "⎧" in text
    assert "⎩" in text


@pytest.mark.parametrize(("chosen", "expected"), [({"task": "max", "nu": "inf"}, "risk = Δ²\n"),
                                                  ({"task": "max"}, "if ν = ∞")])  # fmt: skip
def test_the_case_asked_for_is_shown(chosen, expected):
    text = entry_text(te.entry("duranthon2026.bayes-risk"), chosen)
    assert expected in text
    assert "spiked;" not in text.split("Given")[0]


def test_every_nonlinearity_has_its_own_moments_on_the_page():
    """The second moment of sign is one, and the first coefficient of tanh is no constant."""
    text = entry_text(te.entry("liao2026.hermite"))
    for name in te.entry("liao2026.hermite").given[0].domain.names:
        assert name in text
    assert "a1 = E_ξ[1 − tanh(ξ)²]" in text


@pytest.mark.parametrize(("words", "error"), [({"tsk": "max"}, BadRequest), ({"task": "mx"}, OutOfDomain)])
def test_a_case_that_does_not_exist_is_refused(words, error):
    with pytest.raises(error, match="task"):
        entry_text(te.entry("duranthon2026.bayes-risk"), words)


def test_the_conventions_of_papers_that_share_a_letter_are_stated():
    first, second = (entry_text(te.entry(id)) for id in ("marion2025.risk", "liao2026.ridge-error"))
    assert "γ is the standard deviation" in first
    assert "γ is the ridge penalty" in second


def test_a_letter_that_may_be_left_out_has_its_case_on_the_page():
    text = entry_text(te.entry("liao2026.limits"))
    assert "Where γ is given:\n    wide = 1/√(1 + (4 a₁² + 4 b²)/γ)" in text


def test_conditions_that_only_simplify_are_no_cases_of_their_own():
    """Where k is parallel to mu its part across vanishes in the general matrix too; the rank does change."""
    statement = entry_text(te.entry("liao2026.kernel-linearization")).split("\nGiven\n")[0]
    assert statement.count("M₁₁ =") == 1
    assert "M₂₁ =" not in statement
    for condition, rank in (("|μ|² = 0", 1), ("|w_K|² = 0", 2), ("|w_K|² = 0, |μ|² = 0", 0)):
        assert f"  Where {condition}:\n    rank = {rank}\n" in statement


def test_second_derivatives_of_what_is_minimised_are_a_hessian():
    statement = " ".join(entry_text(te.entry("duranthon2026.mismatched-minimum")).split("\nGiven\n")[0].split())
    assert "of the Hessian matrix in x = (m_kk, m_kv, m_vk, m_vv) M_ij = ∂²h₁/(∂x_i ∂x_j)" in statement
    assert "h₅ =" not in statement


def test_a_choice_of_options_stands_alone_where_all_its_cases_are_the_same():
    text = entry_text(te.entry("duranthon2026.softmax-optimality"))
    assert "temperature = ⎧ √ν   if task = spiked\n" in text


def test_the_words_of_a_page_have_signs_where_people_write_them():
    """Greek letters, powers, arrows; names that are typed with their values stay as they are typed."""
    for id in ("liao2026.limits", "liao2026.noise-resolvent", "marion2025.stochastic-pgd", "classics.hopfield"):
        words = entry_text(te.entry(id)).split("\nAssumes\n")[1].split("\nExample\n")[0]
        # outputs that were checked are named as they are typed
        words = re.sub(r"agrees:(?:\s+\w+,?)+", "", words)
        found = re.search(r"->|>=|<=|\boo\b|\^[0-9]|sqrt\(|(?<=[ (])(?:mu|nu|eta|gamma|lam|kappa)(?=[ ,;])", words)
        assert found is None, words[found.start() - 40 : found.end() + 20]
