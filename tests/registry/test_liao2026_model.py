"""The model of liao2026: what a query shows of it, and how its entries are written."""

import importlib
import inspect
import pkgutil

import pytest

import theorem_engine as te
from theorem_engine.language.entry import Entry
from theorem_engine.registry import liao2026

ID = "liao2026.interpolation-error"


def test_the_point_shows_the_way_taken_and_the_letters_that_follow():
    found = te.predict(ID, p=50000, n=200000, gamma=1, nonlinearity="linear", snr=4, weights="aligned")
    assert list(found.point) == ["p", "n", "nonlinearity", "snr", "weights", "gamma", "diagonal"]
    assert found.point.canonical == {
        "c": 0.25, "a1": 1.0, "b2": 0.0, "key_norm2": 4.0, "query_norm2": 4.0, "key_query": 4.0, "key_along": 2.0,
        "query_along": 2.0,
    }  # fmt: skip
    head = str(found).splitlines()[0]
    assert "weights=aligned" in head
    assert "key_norm2" not in head
    assert "mu_key" not in head


@pytest.mark.parametrize("snr", [0, 1])
def test_ways_to_give_the_same_vectors_agree(snr):
    model = {"c": "0.5", "gamma": 1, "a1": "0.5", "second_moment": 1, "snr": snr}
    word = te.predict(ID, **model, weights="aligned")
    products = dict.fromkeys(("key_norm2", "query_norm2", "mu_key", "mu_query", "key_query"), snr)
    numbers = te.predict(ID, **model, **products)
    assert numbers.value == pytest.approx(word.value, rel=0, abs=word.error + numbers.error)
    assert numbers.point.canonical["key_along"] == word.point.canonical["key_along"] == snr


def test_an_explanation_takes_a_nonlinearity():
    told = te.explain("liao2026.null-error", nonlinearity="tanh")
    assert {"c", "gamma", "diagonal"} == {q.name for q in told.quantities if q.role == "given"}
    assert "GaussianMean" in str(told)


def test_no_function_of_the_paper_takes_more_than_eight_parameters():
    for module in pkgutil.iter_modules(liao2026.__path__):
        found = importlib.import_module(f"theorem_engine.registry.liao2026.{module.name}")
        bodies = [e.body for e in vars(found).values() if isinstance(e, Entry)]
        for function in (*bodies, *(f for _, f in inspect.getmembers(found, inspect.isfunction))):
            if function.__module__ == found.__name__:
                assert len(inspect.signature(function).parameters) <= 8, function
