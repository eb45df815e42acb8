"""What a declaration must and must not say; each rule with its own test."""

import pytest
import sympy

import theorem_engine as te
from theorem_engine import Output, Source
from theorem_engine.base.errors import DeclarationError, DuplicateEntry, MissingDefinition, UnknownEntry
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import _check_declaration, lemma
from theorem_engine.language.letters import Letter

x = Letter("x", "test", meaning="a number")
y = Letter("y", "test", meaning="another")
HOME = "theorem_engine.registry.gaussian.error_function"


def declare(body, **changes):
    """A well-formed declaration with some words changed, taken out of the registry again."""
    te.entries()  # the home module is loaded, so that its references are known
    body.__module__ = HOME
    words = {
        "title": "T", "source": Source("2410.01537", "Lemma 99"), "given": (x,), "outputs": {"value": Output("v")},
        **changes,
    }  # fmt: skip
    name = words.pop("id", "gaussian.test-entry")
    entry = lemma(name, **words)(body)
    catalogue.forget(entry)
    return entry


def good(x):
    """A statement."""
    return {"value": x**2}


def test_a_good_declaration_is_an_entry():
    entry = declare(good)
    assert entry.id == "gaussian.test-entry"
    assert entry.kind == "lemma"
    assert entry.statement().outputs.keys() == {"value"}


BAD_IDS = ["", "gaussian", "Gaussian.x", "gaussian.Test", "gaussian.two words", "gaussian.a_b", "a.b.c"]


@pytest.mark.parametrize("name", BAD_IDS)
def test_an_id_has_a_paper_and_a_meaning(name):
    with pytest.raises(DeclarationError, match="is no id"):
        declare(good, id=name)


def test_a_missing_docstring_is_refused():
    def silent(x):
        return {"value": x}

    with pytest.raises(DeclarationError, match="docstring"):
        declare(silent)


def test_an_id_used_twice_names_both_places():
    with pytest.raises(DuplicateEntry, match=r"declared twice: in .*error_function and in .*error_function"):
        declare(good, id="gaussian.erf-mean")


def test_an_unknown_source_is_refused():
    with pytest.raises(DeclarationError, match=r"references\.toml"):
        declare(good, source=Source("nowhere"))


def test_an_unknown_provenance_mark_is_refused():
    with pytest.raises(DeclarationError, match="no provenance mark"):
        declare(good, marks="X")


def test_a_parameter_that_is_not_given_is_refused():
    def odd(z):
        """A statement."""
        return {"value": z}

    with pytest.raises(DeclarationError, match="'z' is not in `given`"):
        declare(odd)


def test_an_undeclared_need_is_refused():
    def odd(x, *, zeta):
        """A statement."""
        return {"value": zeta(x)}

    with pytest.raises(DeclarationError, match="'zeta' is not in `needs"):
        declare(odd)


def test_an_unknown_need_is_reported_when_the_statement_is_written():
    def odd(x, *, zeta):
        """A statement."""
        return {"value": zeta(x)}

    entry = declare(odd, needs={"zeta": "gaussian.erf-sqare"})
    with pytest.raises(UnknownEntry, match=r"nearest: gaussian\.erf-square"):
        entry.statement()


def test_a_letter_that_is_neither_given_nor_defined_is_reported():
    entry = declare(lambda_with_doc(lambda x: {"value": x + y}))
    with pytest.raises(MissingDefinition, match="y is used by value but neither given nor defined"):
        entry.statement()


def test_outputs_declared_and_returned_must_match():
    entry = declare(lambda_with_doc(lambda x: {"other": x}))
    with pytest.raises(DeclarationError, match="differ in other, value"):
        entry.statement()


def test_a_float_in_a_statement_is_refused():
    entry = declare(lambda_with_doc(lambda x: {"value": 0.5 * x}))
    with pytest.raises(DeclarationError, match="binary number"):
        entry.statement()


def test_a_letter_listed_twice_is_refused():
    with pytest.raises(DeclarationError, match="listed twice"):
        declare(good, given=(x, x))


def test_labels_give_aliases_unless_they_are_guesses():
    known = declare(good, source=Source("2410.01537", "Lemma 99"))
    guessed = declare(good, source=Source("2410.01537", "Lemma 99", guessed=True))
    assert known.all_aliases() == ("gaussian.lemma-99",)
    assert guessed.all_aliases() == ()


def test_an_alias_finds_its_entry():
    assert te.entry("marion2025.theorem-1").id == "marion2025.risk"
    assert te.predict("marion2025.proposition-3", gamma=1, L=2).entry.id == "marion2025.linear-risk"


def test_letters_of_two_papers_are_different_symbols():
    here, there = Letter("nu", "here"), Letter("nu", "there")
    assert here != there
    assert here + there != 2 * here
    assert Letter("nu", "here") == here
    assert sympy.latex(Letter("nu", "here", latex=r"\nu") ** 2) == r"\nu^{2}"


def test_checks_run_on_the_declaration_alone():
    _check_declaration(te.entry("gaussian.erf-mean"))


def lambda_with_doc(function):
    function.__doc__ = "A statement."
    return function
