"""Every output of every entry has a check that can fail, or words why it has none."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.checking.evidence import plain_point
from theorem_engine.checking.simulators import (
    consistent_outputs,
    covered_outputs,
    named_simulators,
    unchecked_outputs,
)

ENTRIES = te.entries()
#: Outputs with words instead of a check, of all entries together; to be raised only with a reason.
MOST_UNCHECKED = 30


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_output_is_measured_or_consistent_or_explained(entry):
    measured, consistent, explained = covered_outputs(entry), consistent_outputs(entry), unchecked_outputs(entry)
    assert set(entry.outputs) == set(measured) | set(consistent) | set(explained)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_no_output_is_excused_that_a_simulator_measures(entry):
    explained = unchecked_outputs(entry)
    assert not set(explained) & set(covered_outputs(entry))
    assert set(explained) <= set(entry.outputs)
    assert all(len(because.split()) > 5 for because in explained.values())


def test_few_outputs_have_words_only_and_every_entry_measures_something():
    excused = [f"{entry.id} {output}" for entry in ENTRIES for output in unchecked_outputs(entry)]
    assert len(excused) <= MOST_UNCHECKED, excused
    only_consistent = [entry.id for entry in ENTRIES if not covered_outputs(entry)]
    assert only_consistent == []


CHEAP = [entry for entry in ENTRIES if not entry.costly]


@pytest.mark.parametrize("entry", CHEAP, ids=str)
def test_simulators_return_nothing_that_they_do_not_declare(entry):
    from theorem_engine.asking.evaluation import named_point
    from theorem_engine.asking.point import read_point
    from theorem_engine.checking.campaign import campaign_points

    (point,) = campaign_points(entry, 1, 7)
    plain = plain_point(named_point(entry, read_point(entry, point)))
    for name, simulator in named_simulators(entry):
        if simulator.deterministic:
            # a computation may take long at any point, and is compared where it is tested
            continue
        told = dict.fromkeys(simulator.takes, 0.5)
        small = {"size": 40} if simulator.size else {}
        try:
            found = simulator({**plain, **told, **small}, np.random.default_rng(0), 2)
        except ValueError:
            # outside of what this simulator is for
            continue
        names = {output.partition(".")[0] for output in found} - {"accuracy"}
        assert names & set(entry.outputs) <= set(simulator.covers), name
