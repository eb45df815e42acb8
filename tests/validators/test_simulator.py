"""What simulators say about themselves: frozen, callable as before, found by every process."""

import inspect
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.sources import function_text
from theorem_engine.checking.simulators import named_simulators
from theorem_engine.language.regime import Limit
from theorem_engine.validators import gaussian, marion2025
from theorem_engine.validators.simulator import Simulator, as_simulator, simulator

ALL = sorted({(name, found) for entry in te.entries() for name, found in named_simulators(entry)}, key=lambda x: x[0])


@simulator(scale=2.0, variants={"law": ("normal", "uniform")})
def noise(point, rng, count):
    """Noise."""
    return {"value": rng.random(count)}


def test_facts_are_frozen_and_unknown_ones_refused():
    assert noise.scale == 2.0
    with pytest.raises(FrozenInstanceError):
        noise.scale = 3.0
    with pytest.raises(TypeError, match="oder"):
        simulator(oder=1.0)(lambda point, rng, count: {})


def test_a_simulator_is_called_and_read_like_its_function():
    drawn = noise({}, np.random.default_rng(1), 3)["value"]
    assert np.array_equal(drawn, np.random.default_rng(1).random(3))
    assert (noise.__name__, noise.__doc__) == ("noise", "Noise.")
    assert list(inspect.signature(noise).parameters) == ["point", "rng", "count"]
    assert "rng.random(count)" in function_text(noise)


def test_a_simulator_travels_by_name():
    assert pickle.loads(pickle.dumps(marion2025.attention_risk)) is marion2025.attention_risk


def test_a_plain_function_states_nothing():
    found = as_simulator(gaussian.erf_mean)
    assert isinstance(found, Simulator)
    assert as_simulator(found) is found
    stated = (found.exact, found.deterministic, found.size, found.orders, found.takes, found.variants)
    assert not any(stated)


@pytest.mark.parametrize(("name", "found"), ALL, ids=[name for name, _ in ALL])
def test_facts_of_a_simulator_do_not_contradict_each_other(name, found):
    assert not (found.exact and found.size)
    assert not (found.deterministic and (found.random_letter or found.systematic))
    assert bool(found.size) == bool(found.cost)
    assert all(len(values) > 1 for values in found.variants.values())


@pytest.mark.parametrize("entry", [e for e in te.entries() if isinstance(e.regime, Limit)], ids=str)
def test_outputs_that_a_simulator_is_told_are_outputs_or_letters(entry):
    known = {*entry.outputs, *(x.name for x in entry.given)}
    for name, found in named_simulators(entry):
        assert set(found.takes) <= known, name
