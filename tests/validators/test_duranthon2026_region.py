"""The squared error on nodes, and the signal at which the mismatched minimum appears."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.validators import duranthon2026_region as region
from theorem_engine.validators.duranthon2026 import attention_risk


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_the_error_on_nodes_is_that_of_drawn_tokens(task):
    """Off the manifold and with a part beside k* and v*; four standard errors of the draws, and 0.01 of the nodes."""
    point = {"task": task, "nu": 2.0, "L": 3, "activation": "softmax"}
    place = (0.9, -0.3, 0.4, 0.25, 0.8, -0.2)
    nodes = region.Nodes(point, np.random.default_rng(3), 3, 13)
    key, value = np.split(np.array(place), 2)
    # attention_risk makes its own vectors of the overlaps
    named = {"m_kk": key[0], "m_kv": key[1], "m_vk": value[0], "m_vv": value[1], "q_kk": key @ key,
             "q_vv": value @ value, "q_kv": key @ value}  # fmt: skip
    drawn = attention_risk({**point, **named}, np.random.default_rng(4), 200_000)["risk"]
    assert abs(nodes.risk(place, 2.0) - drawn.mean()) < 4 * drawn.std() / np.sqrt(len(drawn)) + 0.01


@pytest.mark.campaign
@pytest.mark.parametrize("L", [3, 7])
def test_the_border_of_the_minimum_is_where_the_entry_has_it(L):
    """Forty sets of nodes, four standard errors."""
    point = {"task": "spiked", "L": L, "activation": "softmax"}
    found = region.border_of_minimum(point, np.random.default_rng(5), 40)["nu_low"]
    known = float(te.predict("duranthon2026.mismatched-region", **point)["nu_low"])
    assert abs(found.mean() - known) < 4 * found.std() / np.sqrt(len(found))


def test_sequences_of_random_length_are_refused():
    point = {"task": "spiked", "L": {3: 0.5, 4: 0.5}, "activation": "softmax"}
    with pytest.raises(ValueError, match="several lengths"):
        region.border_of_minimum(point, np.random.default_rng(6), 1)
