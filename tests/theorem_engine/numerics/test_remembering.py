"""Values that were made once: the same errors with and without them, and no memory that grows."""

import gc

import pytest

import theorem_engine as te
from theorem_engine.base import reports
from theorem_engine.numerics import remembering

POINTS = {
    "duranthon2026.gradient-descent": {
        "task": "spiked", "nu": 2, "L": 3, "activation": "softmax", "m_kk": "0.3", "m_kv": "0.1", "m_vk": "0.1",
        "m_vv": "0.4", "q_kk": "0.2", "q_vv": "0.3", "q_kv": "0.1", "eta": "0.1", "steps": 3,
    },
    "duranthon2026.bayes-risk": {"task": "max", "nu": 2, "L": 4},
    "duranthon2026.softplus-risk": {"task": "spiked", "nu": 2, "L": 3, "m_kk": 1},
}  # fmt: skip


@pytest.mark.parametrize("id", POINTS)
def test_errors_are_the_same_whether_their_values_are_remembered_or_made_anew(id, monkeypatch):
    found = te.predict(id, **POINTS[id]).errors
    forgotten = te.predict(id, **POINTS[id])
    remembering._recent.clear()
    assert forgotten.errors == found
    with monkeypatch.context() as patched:
        patched.setattr(remembering, "MOST", 1)
        assert te.predict(id, **POINTS[id]).errors == found


def test_values_are_made_once_inside_a_block_and_anew_outside():
    made = []

    def make():
        made.append(1)
        return len(made)

    with remembering.remembering():
        assert [remembering.remembered(("f", 1.0), make) for _ in range(3)] == [1, 1, 1]
        assert remembering.remembered(("f", 2.0), make) == 2
        assert [remembering.remembered(("f", [1.0]), make) for _ in range(2)] == [3, 4]
    assert [remembering.remembered(("f", 1.0), make) for _ in range(2)] == [5, 6]


def test_what_nobody_listened_to_is_made_anew_where_somebody_listens():
    made = []

    def make():
        made.append(reports.is_heard())
        return len(made)

    with remembering.remembering():
        assert remembering.remembered(("f",), make) == 1
        with reports.listening():
            assert [remembering.remembered(("f",), make) for _ in range(2)] == [2, 2]
        assert remembering.remembered(("f",), make) == 2
    assert made == [False, True]


def test_only_the_last_memories_are_kept():
    kept = []
    for i in range(50):
        with remembering.remembering() as memory:
            remembering.remembered(("f", i), lambda: 1)
        kept.append(remembering.handed_on(memory))
    del memory
    gc.collect()
    assert [bool(known()) for known in kept] == [False] * 42 + [True] * 8
