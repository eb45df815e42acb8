"""The store of runs: whatever stops a sweep, it goes on where it was and ends with the same file."""

import json
import math
import os
import random
import signal
import time
import warnings

import mpmath
import numpy as np
import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import data_of, error_of, output_of
from theorem_engine.base.errors import BadRequest, FolderInUse, JournalError
from theorem_engine.sweeping import rows, store
from theorem_engine.sweeping.executors import Serial
from theorem_engine.sweeping.locking import only_one
from theorem_engine.sweeping.packing import packed, unpacked
from theorem_engine.sweeping.resumed import Resumed

QUERY = {"gamma": te.grid("1/2", 3, 12), "d": 50, "L": 4}
ID = "marion2025.optimal-lambda"


def swept(root, **more):
    return te.sweep(ID, store=root, executor=Serial(), **{**QUERY, **more})


def only_run(root):
    (run,), _ = store.runs_of(root)
    return run


@pytest.fixture
def computed(monkeypatch, tmp_path):
    """A file with a line for every point that is computed, in whatever process."""
    log = tmp_path / "computed"
    log.touch()
    plain = rows.predict

    def noted(id, **parameters):
        found = plain(id, **parameters)
        _ = found.errors
        with log.open("a") as file:
            file.write(f"{float(parameters['gamma'])}\n")
        return found

    monkeypatch.setattr(rows, "predict", noted)
    return lambda: log.read_text().split()


def test_a_stored_sweep_is_the_sweep(tmp_path, computed):
    data = swept(tmp_path / "runs")
    assert data.identical(te.sweep(ID, **QUERY, executor=Serial()))
    assert len(computed()) == 24
    assert swept(tmp_path / "runs").identical(data)
    assert len(computed()) == 24
    run = only_run(tmp_path / "runs")
    assert (run.done, run.is_finished) == (12, True)
    assert run.asked["entry"] == ID


def killed_after(seconds, root):
    """Run the sweep in a process of its own and kill it after so many seconds; whether it was still at work."""
    with warnings.catch_warnings():
        # the fork of a process that has threads, which the child leaves alone
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            swept(root)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kept(root):
    runs, _ = store.runs_of(root)
    return runs[0].done if runs else 0


def survive(tmp_path, computed, kills):
    begin = time.perf_counter()
    swept(tmp_path / "whole")
    whole = time.perf_counter() - begin
    before, moments, root = len(computed()), random.Random(7), tmp_path / "runs"
    at_work = 0
    for _ in range(kills):
        done, spent = kept(root), len(computed())
        at_work += killed_after(moments.uniform(0, 2 * whole / kills), root)
        # what was finished before is not computed again; one point may be cut off between its value and its line
        assert kept(root) - done <= len(computed()) - spent <= kept(root) - done + 1
    swept(root)
    assert len(computed()) - before <= 12 + kills
    assert len(set(computed()[before:])) == 12
    assert at_work
    first, second = only_run(tmp_path / "whole"), only_run(root)
    assert (first.folder / "result.nc").read_bytes() == (second.folder / "result.nc").read_bytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_sweep_killed_at_any_moment_ends_with_the_same_file(tmp_path, computed):
    survive(tmp_path, computed, 5)


@pytest.mark.campaign
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_sweep_killed_fifty_times_ends_with_the_same_file(tmp_path, computed):
    survive(tmp_path, computed, 50)


def test_an_interrupt_says_how_to_go_on(tmp_path, computed, monkeypatch, capsys):
    noted = rows.predict

    def interrupted(id, **parameters):
        if len(computed()) == 5:
            raise KeyboardInterrupt
        return noted(id, **parameters)

    monkeypatch.setattr(rows, "predict", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path)
    message = capsys.readouterr().err
    assert "5 of 12 points are finished and kept in" in message
    assert "--resume" in message
    monkeypatch.setattr(rows, "predict", noted)
    swept(tmp_path)
    assert len(computed()) == 12


def test_another_query_is_another_run(tmp_path):
    swept(tmp_path, gamma=[1, 2])
    swept(tmp_path, gamma=[1, 3])
    swept(tmp_path, gamma=[1, 2], errors=False)
    assert len(store.runs_of(tmp_path)[0]) == 3


def test_a_changed_theorem_is_never_answered_from_the_store(tmp_path, monkeypatch):
    swept(tmp_path, gamma=[1, 2])
    monkeypatch.setattr("theorem_engine.asking.fingerprint.engine_digest", lambda: "another engine")
    swept(tmp_path, gamma=[1, 2])
    assert len(store.runs_of(tmp_path)[0]) == 2


@pytest.mark.parametrize("damage", ["cut", "noise", "foreign lines"])
def test_a_damaged_journal_is_told_and_its_points_are_computed_again(tmp_path, computed, capsys, damage):
    expected = swept(tmp_path / "runs", gamma=[1, 2])
    path = only_run(tmp_path / "runs").folder / "journal.jsonl"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "noise":
        path.write_bytes(os.urandom(200))
    else:
        keys = [json.loads(line)["key"] for line in path.read_text().splitlines() if line]
        path.write_text("".join(f'{{"key": "{key}", "result": 0.5}}\n' for key in keys))
    assert swept(tmp_path / "runs", gamma=[1, 2]).identical(expected)
    assert "set aside" in capsys.readouterr().err
    assert len(computed()) == (3 if damage == "cut" else 4)


def test_a_foreign_folder_is_moved_aside(tmp_path, capsys):
    swept(tmp_path, gamma=[1, 2])
    run = only_run(tmp_path)
    (run.folder / "run.json").write_text("{}")
    swept(tmp_path, gamma=[1, 2])
    assert "is no run of this sweep and was moved to" in capsys.readouterr().err
    runs, others = store.runs_of(tmp_path)
    assert [r.name for r in runs] == [run.name]
    assert [path.name for path in others] == [f"{run.name}.set-aside-1"]
    assert (others[0] / "journal.jsonl").exists()


def test_a_store_that_is_no_folder_or_is_in_use_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadRequest, match="is no folder"):
        swept(tmp_path / "file")
    with pytest.raises(JournalError, match="cannot be written"):
        swept(tmp_path / "file" / "deeper")


def test_no_pickle_is_read(tmp_path):
    """A journal line that would be code to another reader is a line without a result here."""
    swept(tmp_path, gamma=[1])
    path = only_run(tmp_path).folder / "journal.jsonl"
    path.write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert np.isfinite(swept(tmp_path, gamma=[1])["lam_star"].values).all()


@pytest.mark.parametrize(
    "value",
    [
        1,
        0.1,
        -0.0,
        True,
        "word",
        None,
        math.inf,
        [1.5, -math.inf],
        {"a": {"b": [1, "x"]}},
        2 - 3j,
        complex(math.inf, 0.5),
    ],
)
def test_values_come_back_as_they_were(value):
    assert unpacked(json.loads(json.dumps(packed(value), allow_nan=False))) == value


def test_arrays_and_many_digits_come_back_to_the_last_bit():
    array = np.array([[0.1, math.inf], [1e-300, -2.0]])
    assert (unpacked(json.loads(json.dumps(packed(array)))) == array).all()
    with mpmath.workdps(60):
        third, zero, far = mpmath.mpf(1) / 3, mpmath.mpf(0), mpmath.mpf("-inf")
        for number in (third, -third, zero, far, mpmath.mpf(10) ** 400):
            assert unpacked(json.loads(json.dumps(packed(number)))) == number
    assert packed(np.float64(0.5)) == 0.5
    assert packed(np.bool_(True)) is True


def test_sweeps_with_many_digits_are_kept_too(tmp_path):
    given = {"gamma": [1, 2], "L": 3, "digits": 40, "executor": Serial()}
    first, again = (te.sweep("marion2025.linear-risk", store=tmp_path, **given) for _ in "ab")
    assert first.identical(again)
    assert str(again["excess_text"].values[0]).startswith("0.66666666666666666666666666666666")


def test_points_finished_out_of_order_are_kept(tmp_path):
    """A worker writes what it has finished, whether or not an earlier one is still at work."""

    class LastFirst:
        def map(self, function, items):
            results = {i: function(item) for i, item in reversed(list(enumerate(items))) if i}
            raise KeyboardInterrupt(results)

    with pytest.raises(KeyboardInterrupt):
        list(Resumed(tmp_path / "j.jsonl", LastFirst()).map(abs, [-1, -2, -3]))
    assert len(list(Resumed(tmp_path / "j.jsonl", Serial()).journal.records())) == 2


def test_a_run_at_work_is_not_cleared_away(tmp_path):
    swept(tmp_path, gamma=[1])
    run = only_run(tmp_path)
    with only_one(run.folder / "journal.jsonl.lock", "test"):
        assert store.collect(tmp_path, 1) == []
    assert [r.name for r in store.collect(tmp_path, 0)] == [run.name]
    assert list(tmp_path.iterdir()) == []
    assert issubclass(FolderInUse, JournalError)


def test_the_command_line_keeps_goes_on_and_clears_away(tmp_path, computed, monkeypatch):
    monkeypatch.setattr("theorem_engine.base.files.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache")
    query = ("sweep", ID, "gamma=1,2", "d=50", "L=4", "--jobs", "1")
    plain = output_of(*query)
    assert store.runs_of(tmp_path / "cache" / "runs") == ([], [])
    assert output_of(*query, "--resume") == plain
    assert len(computed()) == 4
    assert output_of(*query, "--resume") == plain
    assert len(computed()) == 4
    assert output_of(*query, "--store", str(tmp_path / "mine")) == plain
    (listed,) = data_of("runs", "list")["runs"]
    assert listed["finished"] is True
    assert listed["finished_points"] == 2
    assert ID in output_of("runs", "list", "--store", str(tmp_path / "mine"))
    assert '"gamma": ["1", "2"]' in output_of("runs", "show", ID)
    assert error_of("runs", "show", "nothing").startswith("BadRequest: no run is called 'nothing'")
    assert output_of("runs", "gc").startswith("0 runs")
    assert output_of("runs", "gc", "--all", "--dry-run").startswith("would remove")
    assert "1 runs" in output_of("runs", "gc", "--all")
    assert data_of("runs", "list")["runs"] == []
    assert error_of("runs", "gc", "--days", "some").startswith("BadRequest: --days 'some'")
    assert error_of("runs", "list", "--store", str(tmp_path / "none")).startswith("BadRequest: --store")
