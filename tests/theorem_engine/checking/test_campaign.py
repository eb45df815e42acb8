"""Campaigns: nothing finished is lost or repeated, whatever is killed; failures are reasons; reports tell all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, JournalError, TheoremEngineError
from theorem_engine.checking.campaign import FAMILY_ALARM, Task, campaign_points, run_campaign, second_looks
from theorem_engine.checking.report import report_html, report_text, write_reports
from theorem_engine.showing.commandline.commands import app
from theorem_engine.sweeping.executors import Serial
from theorem_engine.sweeping.journal import Journal

FAST = ("gaussian.erf-mean", "gaussian.erf-square", "gaussian.erf-miss", "marion2025.linear-risk")
SETTINGS = {"samples": 20_000, "jobs": 1}


class Counting(Serial):
    """Runs here, counts what it ran, and gives up when told to."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.ran = []
        self.stop_after = stop_after

    def map(self, function, items):
        for item in items:
            if self.stop_after is not None and len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            self.ran.append(item.id)
            yield function(item)


def _lines(folder):
    return list(Journal(folder / "journal.jsonl").records())


# Resuming


def test_a_stopped_campaign_goes_on_where_it_was(tmp_path):
    first = Counting(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        run_campaign(FAST, folder=tmp_path, executor=first, **SETTINGS)
    assert len(_lines(tmp_path)) == 2
    second = Counting()
    campaign = run_campaign(FAST, folder=tmp_path, executor=second, **SETTINGS)
    assert first.ran + second.ran == list(FAST)
    assert campaign.resumed == 2
    whole = run_campaign(FAST, folder=tmp_path / "other", **SETTINGS)
    assert [_without_time(r) for r in campaign.results] == [_without_time(r) for r in whole.results]


def _without_time(result):
    return {name: value for name, value in result.items() if name != "seconds"}


def test_a_line_cut_short_by_a_kill_is_done_again_and_the_others_stay(tmp_path):
    run_campaign(FAST[:2], folder=tmp_path, **SETTINGS)
    path = tmp_path / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 40])
    again = Counting()
    campaign = run_campaign(FAST[:2], folder=tmp_path, executor=again, **SETTINGS)
    assert again.ran == [FAST[1]]
    assert len(campaign.results) == 2
    assert run_campaign(FAST[:2], folder=tmp_path, executor=Counting(), **SETTINGS).resumed == 2


def test_other_settings_are_other_checks(tmp_path):
    run_campaign(FAST[:1], folder=tmp_path, **SETTINGS)
    assert run_campaign(FAST[:1], folder=tmp_path, seed=1, **SETTINGS).resumed == 0
    assert run_campaign(FAST[:1], folder=tmp_path, samples=10_000, jobs=1).resumed == 0
    assert run_campaign(FAST[:1], folder=tmp_path, fresh=True, **SETTINGS).resumed == 0


def test_killing_the_process_loses_nothing_that_was_finished(tmp_path):
    """A real kill, at whatever moment it comes: what the journal holds is not done again."""
    program = (
        "from pathlib import Path\nfrom theorem_engine.checking.campaign import run_campaign\n"
        f"run_campaign({FAST!r}, samples=300_000, jobs=1, folder=Path({str(tmp_path)!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=Path(te.__file__).parent.parent)
    while not _lines(tmp_path) and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = [record["result"]["entry"] for record in _lines(tmp_path)]
    assert finished
    rest = Counting()
    campaign = run_campaign(FAST, samples=300_000, folder=tmp_path, executor=rest, jobs=1)
    assert rest.ran == [id for id in FAST if id not in finished]
    assert [result["entry"] for result in campaign.results] == list(FAST)


def test_workers_write_their_own_results_and_agree_with_one_process(tmp_path):
    alone = run_campaign(FAST, folder=tmp_path / "one", **SETTINGS)
    together = run_campaign(FAST, folder=tmp_path / "two", samples=20_000, jobs=2)
    assert [_without_time(r) for r in alone.results] == [_without_time(r) for r in together.results]
    assert len(_lines(tmp_path / "two")) == len(FAST)


def test_what_more_samples_may_settle_gets_a_second_look_with_the_time_left():
    tasks = [Task(id, {}, 10.0, None, 0, 1e-3, "") for id in FAST[:3]]
    settled = {"verdict": "agrees", "seconds": 1.0, "rows": [{"z": 0.1}]}
    unsettled = {"verdict": "cannot tell", "seconds": 10.0, "rows": [{"z": 0.1}]}
    hopeless = {"verdict": "cannot tell", "seconds": 1.0, "rows": []}
    done = dict(zip((task.key for task in tasks), (settled, unsettled, hopeless), strict=True))
    second = second_looks(tasks, done, 30.0)
    assert list(second) == [tasks[1].key]
    again = second[tasks[1].key]
    assert again.seconds == 18.0
    assert again.seed != tasks[1].seed
    assert second_looks(tasks, done, 20.0) == {}


# Failures


def test_a_folder_that_cannot_be_written_is_a_clear_error_before_any_work(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    counting = Counting()
    with pytest.raises(JournalError, match="cannot be written"):
        run_campaign(FAST, folder=tmp_path / "file" / "folder", executor=counting, **SETTINGS)
    assert counting.ran == []
    assert issubclass(JournalError, TheoremEngineError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_a_clear_error():
    with pytest.raises(JournalError, match="No space left"):
        Journal(Path("/dev/full")).append({"key": "x"})


def test_a_check_that_fails_for_any_reason_does_not_stop_the_others(tmp_path, monkeypatch):
    from theorem_engine.checking import verdict as checking

    real = checking.check_point

    def fragile(entry, *rest):
        if entry.id == FAST[1]:
            raise RuntimeError("by design")
        return real(entry, *rest)

    monkeypatch.setattr(checking, "check_point", fragile)
    campaign = run_campaign(FAST, folder=tmp_path, **SETTINGS)
    assert campaign.results[1]["verdict"] == "cannot tell"
    assert "RuntimeError: by design" in campaign.results[1]["reason"]
    assert len(campaign.results) == len(FAST)


@pytest.mark.parametrize("bad", [{"points": 0}, {"jobs": 0}, {"seconds": -1}])
def test_bad_settings_are_refused(tmp_path, bad):
    with pytest.raises(BadRequest):
        run_campaign(FAST, folder=tmp_path, **bad)


# Reports


def test_the_report_states_the_false_alarm_rate_and_what_could_not_be_told(tmp_path):
    campaign = run_campaign(FAST, folder=tmp_path, samples=100, jobs=1)
    assert campaign.count("cannot tell") > 0
    text, page = report_text(campaign), report_html(campaign)
    for report in (text, page):
        assert f"at most {FAMILY_ALARM:g}" in report
        assert "samples show deviations above" in report
    assert "<script" not in page
    assert "http" not in page
    names = [path.name for path in write_reports(campaign)]
    assert names == ["report.json", "report.html"]
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data["family_false_alarm"] == FAMILY_ALARM
    assert data["checks"] == len(FAST)


def test_points_depend_on_the_seed_and_the_entry_alone():
    entry = te.entry("marion2025.risk")
    assert campaign_points(entry, 2, 7) == campaign_points(entry, 2, 7)
    assert campaign_points(entry, 1, 7)[0] == campaign_points(entry, 2, 7)[0]
    assert campaign_points(entry, 1, 7) != campaign_points(entry, 1, 8)


# The command


def test_the_command_checks_a_point(tmp_path):
    result = CliRunner().invoke(app, ["check", "gaussian.erf-mean", "t=0.3", "g=0.7", "--samples", "400000", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)[0]["verdict"] == "agrees"


def test_the_command_runs_a_campaign_and_resumes_it(tmp_path):
    words = [
        "check",
        *FAST[:2],
        "--samples",
        "20000",
        "--points",
        "1",
        "--jobs",
        "1",
        "--tolerate-undecided",
        "--out",
        str(tmp_path),
    ]
    first, second = (CliRunner().invoke(app, words) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert "2 checks were finished before" in second.stdout
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("how", [["--variant", "tokens=correlated"], ["--tokens", "correlated"]], ids=str)
def test_the_command_exits_with_one_if_a_theorem_is_refuted(how):
    words = ["check", "marion2025.oracle-risk", "lam=0.3", "gamma=0.7", "d=12", "L=5"]
    result = CliRunner().invoke(app, [*words, *how, "--samples", "50000"])
    assert result.exit_code == 1
    assert "DISAGREES" in result.stdout


@pytest.mark.parametrize(
    "words",
    [[], ["gaussian.erf-mean", "--all"], ["gaussian.erf-mean", "--seconds", "soon"],
     ["gaussian.erf-mean", "t=1", "g=1", "--variant", "tokens"],
     ["gaussian.erf-maen", "--samples", "9"], ["gaussian.erf-mean", "--out", "/dev/null/x"]],
)  # fmt: skip
def test_errors_of_the_command_exit_with_two(words):
    assert CliRunner().invoke(app, ["check", *words]).exit_code == 2


# The fast campaign of every test run, and the full one

PAPERS = ("gaussian", "marion2025")


def test_no_theorem_is_refuted_in_a_fast_campaign(tmp_path):
    """All entries of two papers at fixed seeds; the family-wise false-alarm rate is one percent."""
    ids = [entry.id for entry in te.entries() if entry.paper in PAPERS]
    campaign = run_campaign(ids, samples=60_000, jobs=1, seed=1, folder=tmp_path)
    assert campaign.count("disagrees") == 0, report_text(campaign)
    assert campaign.count("agrees") >= 8, report_text(campaign)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_no_theorem_is_refuted_and_few_are_left_open(tmp_path):
    campaign = run_campaign(seconds=600, points=2, seed=2, folder=tmp_path)
    assert campaign.count("disagrees") == 0, report_text(campaign)
    assert campaign.count("cannot tell") <= 0.1 * len(campaign.results), report_text(campaign)
