"""An executor that keeps what is finished."""

import math

import pytest

import theorem_engine as te
from theorem_engine.base.errors import JournalError
from theorem_engine.sweeping.executors import Serial
from theorem_engine.sweeping.resumed import Resumed

SEEN = []


def double(x):
    SEEN.append(x)
    if x == 3 and len(SEEN) < 4:
        raise KeyboardInterrupt
    return {"value": 2.0 * x, "list": [x, True, "word"], "bound": math.inf}


def test_what_was_finished_before_a_stop_is_not_run_again(tmp_path):
    SEEN.clear()
    path = tmp_path / "folder" / "journal.jsonl"
    with pytest.raises(KeyboardInterrupt):
        list(Resumed(path, Serial()).map(double, [1, 2, 3, 4]))
    found = list(Resumed(path, Serial()).map(double, [1, 2, 3, 4]))
    assert SEEN == [1, 2, 3, 3, 4]
    assert found == [{"value": 2.0 * x, "list": [x, True, "word"], "bound": math.inf} for x in (1, 2, 3, 4)]


def test_other_items_are_other_computations(tmp_path):
    SEEN.clear()
    SEEN.extend([0, 0, 0])
    path = tmp_path / "journal.jsonl"
    list(Resumed(path, Serial()).map(double, [5, 6]))
    list(Resumed(path, Serial()).map(double, [6, 7]))
    assert SEEN[3:] == [5, 6, 7]


def test_a_sweep_resumes_with_the_same_numbers(tmp_path):
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": [1, 2], "draws": 256}
    path = tmp_path / "journal.jsonl"
    first, again = (te.sweep("duranthon2026.bayes-learner", **given, executor=Resumed(path, Serial())) for _ in "ab")
    assert len([line for line in path.read_text().splitlines() if line]) == 2
    assert first.equals(again)
    assert first.equals(te.sweep("duranthon2026.bayes-learner", **given))


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be written"):
        list(Resumed(tmp_path / "file" / "journal.jsonl", Serial()).map(double, [1]))
