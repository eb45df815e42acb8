"""Every entry names a simulator or an exact cross-check that exists."""

import inspect

import pytest

import theorem_engine as te
from theorem_engine.base.errors import DeclarationError
from theorem_engine.checking.simulators import find_simulator, named_simulators

ENTRIES = te.entries()


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_check_of_an_entry_is_a_function_of_the_validators(entry):
    found = named_simulators(entry)
    assert found, f"{entry.id} names no simulator and no exact cross-check"
    for name, function in found:
        assert function.__module__.startswith("theorem_engine.validators."), name
        assert list(inspect.signature(function).parameters)[:3] == ["point", "rng", "count"], name


def test_a_check_that_does_not_exist_is_refused_with_the_nearest_name():
    with pytest.raises(DeclarationError, match="erf_mean"):
        find_simulator("gaussian.erf_maen")
    with pytest.raises(DeclarationError, match="no module"):
        find_simulator("gauss.erf_mean")
