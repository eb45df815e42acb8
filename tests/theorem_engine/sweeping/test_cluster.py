"""A real scheduler and two workers on this machine: the same numbers as here, whatever happens to a worker."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import error_of, run
from theorem_engine.base.errors import BadRequest, NotAvailable, OutOfDomain
from theorem_engine.checking.campaign import run_campaign
from theorem_engine.showing.book.build import build_book
from theorem_engine.sweeping import cluster
from theorem_engine.sweeping.cluster import Cluster
from theorem_engine.sweeping.executors import Serial
from theorem_engine.sweeping.journal import Journal

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).resolve().parents[3]
ID = "liao2026.null-error"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(*words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def machines():
    """The address of a scheduler, and the processes of its two workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    processes = [started("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")]
    worker = (
        "distributed.cli.dask_worker",
        address,
        "--host",
        "127.0.0.1",
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
    )
    try:
        processes += [started(*worker) for _ in range(2)]
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_an_unreachable_scheduler_is_an_error_within_ten_seconds():
    sweep = te.sweep
    begin = time.monotonic()
    with pytest.raises(NotAvailable, match="no scheduler answers at"):
        sweep("gaussian.erf-mean", t=[0, 1], g=1, scheduler=f"tcp://127.0.0.1:{free_port()}")
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("address", ["", "nowhere", "http://x", 5])
def test_what_is_no_address_is_refused(address, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 2.0)
    with pytest.raises((BadRequest, NotAvailable)):
        te.sweep("gaussian.erf-mean", t=[0, 1], g=1, scheduler=address)


def test_only_one_place_is_named():
    with pytest.raises(BadRequest, match="give one of them"):
        te.sweep("gaussian.erf-mean", t=[0, 1], g=1, scheduler="tcp://127.0.0.1:1", jobs=2)


def test_a_worker_of_another_engine_is_refused():
    with pytest.raises(NotAvailable, match="another version"):
        cluster._in_worker([1], function=abs, engine="another")


@pytest.mark.campaign
def test_a_cluster_finds_the_numbers_of_one_process(machines, tmp_path):
    address, _ = machines
    axes = {"c": te.grid("1/2", 3, 20), "gamma": te.grid(1, 5, 20), "nonlinearity": "tanh", "errors": False}
    there = te.sweep(ID, scheduler=address, **axes)
    assert there.identical(te.sweep(ID, executor=Serial(), **axes))
    kept = te.sweep(ID, scheduler=address, store=tmp_path, **axes)
    assert kept.identical(there)
    random = {"task": "spiked", "nu": 1, "L": 3, "alpha": [1, 2], "draws": 256}
    drawn = te.sweep("duranthon2026.bayes-learner", scheduler=address, **random)
    assert drawn.identical(te.sweep("duranthon2026.bayes-learner", executor=Serial(), **random))


@pytest.mark.campaign
def test_a_campaign_on_a_cluster_is_that_of_one_process(machines, tmp_path):
    address, _ = machines
    ids = ("gaussian.erf-mean", "marion2025.linear-risk", "gaussian.erf-square")

    def results(folder, **where):
        done = run_campaign(ids, folder=tmp_path / folder, samples=20_000, points=2, **where)
        # as text: a NaN that has travelled is no longer itself
        return done, [json.dumps({k: v for k, v in r.items() if k != "seconds"}) for r in done.results]

    there, found = results("there", scheduler=address)
    _, expected = results("here", executor=Serial())
    assert found == expected
    assert all(result["samples"] >= 20_000 for result in there.results)
    assert there.count("disagrees") == 0
    # the client alone writes: started again, nothing is left to do
    assert len(list(Journal(tmp_path / "there" / "journal.jsonl").records())) == len(found)
    assert results("there", executor=Serial())[0].resumed == len(found)
    done = run("check", "gaussian.erf-mean", "--samples", "20000", "--scheduler", address, "--out",
               str(tmp_path / "c"), "--tolerate-undecided")  # fmt: skip
    assert done.exit_code == 0, done.output


@pytest.mark.campaign
def test_a_book_made_on_a_cluster_is_that_of_one_process(machines, tmp_path):
    address, _ = machines
    ids = ["gaussian.erf-mean", "marion2025.linear-risk"]
    there = build_book(tmp_path / "there", ids, scheduler=address, progress=False)
    here = build_book(tmp_path / "here", ids, jobs=1, progress=False)
    assert there.made == here.made
    assert there.pages == here.pages
    for path in (tmp_path / "here").rglob("*.html"):
        # how far a simulation comes in its time is up to the machine
        other = tmp_path / "there" / path.relative_to(tmp_path / "here")
        assert without_pictures(other) == without_pictures(path)


def without_pictures(path):
    return re.sub(r"<figure>.*?</figure>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_a_campaign_without_its_scheduler_is_an_error_within_ten_seconds(tmp_path):
    begin = time.monotonic()
    with pytest.raises(NotAvailable, match="no scheduler answers at"):
        run_campaign(("gaussian.erf-mean",), folder=tmp_path, scheduler=f"tcp://127.0.0.1:{free_port()}")
    assert time.monotonic() - begin < 10
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadRequest, match="give one of them"):
        run_campaign(("gaussian.erf-mean",), folder=tmp_path, scheduler="tcp://127.0.0.1:1", jobs=2)


class Elsewhere(Serial):
    """Workers that write nothing."""

    is_remote = True


def test_checks_of_workers_elsewhere_are_written_down_here(tmp_path):
    first = run_campaign(("gaussian.erf-mean",), folder=tmp_path / "a", samples=2_000, executor=Elsewhere())
    second = run_campaign(("gaussian.erf-mean",), folder=tmp_path / "b", samples=2_000, executor=Serial())
    lines = [list(Journal(tmp_path / name / "journal.jsonl").records()) for name in ("a", "b")]
    assert [line["key"] for line in lines[0]] == [line["key"] for line in lines[1]]
    assert [r["verdict"] for r in first.results] == [r["verdict"] for r in second.results]


@pytest.mark.campaign
def test_errors_of_points_come_back_as_they_are(machines):
    address, _ = machines
    with pytest.raises(OutOfDomain, match="lam=-1 is outside"):
        list(Cluster(address).map(_predicted, ["0.1", -1]))
    assert "OutOfDomain" in error_of(
        "sweep", "marion2025.oracle-risk", "lam=-1,1", "gamma=1", "d=9", "L=2", "--scheduler", address
    )


def _predicted(lam):
    return float(te.predict("marion2025.oracle-risk", lam=lam, gamma=1, d=9, L=2))


@pytest.mark.campaign
def test_the_loss_of_a_worker_is_survived(machines):
    """The last test of this file: one of its workers is gone after it."""
    address, workers = machines
    axes = {"c": te.grid("1/2", 3, 20), "gamma": te.grid(1, 5, 20), "nonlinearity": "tanh", "errors": False}
    killer = threading.Timer(0.5, workers[0].kill)
    killer.start()
    there = te.sweep(ID, scheduler=address, **axes)
    killer.join()
    assert workers[0].wait(10) != 0
    assert there.identical(te.sweep(ID, executor=Serial(), **axes))
