"""Journals under damage: whatever the bytes, resuming goes on, and nothing is believed that was not written."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import FolderInUse, JournalError, NotAvailable
from theorem_engine.checking.campaign import run_campaign
from theorem_engine.checking.report import report_html, report_text, write_reports
from theorem_engine.showing.commandline.commands import app
from theorem_engine.sweeping.executors import Processes, Serial
from theorem_engine.sweeping.journal import Journal
from theorem_engine.sweeping.locking import only_one
from theorem_engine.sweeping.resumed import Resumed

ROOT = Path(te.__file__).parent.parent
FAST = ("gaussian.erf-mean", "gaussian.erf-miss")
SETTINGS = {"samples": 2_000, "jobs": 1}
WORDS = ("check", *FAST, "--samples", "2000", "--points", "1", "--jobs", "1", "--tolerate-undecided", "--out")
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The journal of a finished campaign, and its results."""
    folder = tmp_path_factory.mktemp("whole")
    campaign = run_campaign(FAST, folder=folder, **SETTINGS)
    return (folder / "journal.jsonl").read_bytes(), campaign.results


def _resumed(folder, content):
    (folder / "journal.jsonl").write_bytes(content)
    return run_campaign(FAST, folder=folder, **SETTINGS)


def _without_time(results):
    return [{name: value for name, value in result.items() if name != "seconds"} for result in results]


# Texts


@pytest.mark.parametrize(
    "text", ["a\u2028b", "a\u2029b", "a\x85b", "a\x0bb\x0cc\x1cd\x1ee", "a\nb\rc", "\ud800", "é€𝄞", ""]
)
def test_any_text_comes_back_as_it_was(tmp_path, text):
    journal = Journal(tmp_path / "journal.jsonl")
    record = {"key": "k", "result": {"reason": text, "number": 0.1, "list": [1, None, True]}}
    journal.append(record)
    journal.append({})
    assert list(journal.records()) == [record, {}]
    assert journal.damaged == []


def test_texts_written_by_hand_are_read_too(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps({"reason": "a\u2028b\x85c"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert list(Journal(path).records()) == [{"reason": "a\u2028b\x85c"}]


# Damage


def test_a_changed_digit_is_not_believed(tmp_path, whole):
    """A byte that leaves good JSON behind: only the checksum can tell."""
    content, results = whole
    place = re.search(rb'"estimate": -?[0-9]\.', content).end()
    digit = b"7" if content[place : place + 1] != b"7" else b"3"
    campaign = _resumed(tmp_path, content[:place] + digit + content[place + 1 :])
    assert (campaign.resumed, campaign.set_aside) == (1, 1)
    assert _without_time(campaign.results) == _without_time(results)


FOREIGN = [
    b"null", b"[]", b"3", b'"text"', b"{}", b'{"key": 3}', b'{"key": ["KEY"], "result": {}}', b'{"key": "KEY"}',
    b'{"key": "KEY", "result": null}', b'{"key": "KEY", "result": []}', b'{"key": "KEY", "result": {}}',
    b'{"key": "KEY", "result": {"verdict": "agrees"}}', b'{"key": "KEY", "result": {"verdict": ["agrees"], "rows": 5}}',
    b'{"key": "KEY", "result": RESULT, "sum": 5}', b"{" * 100_000, b"[" * 100_000, b'{"a":' * 100_000,
    b'{"key": "KEY", "result": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", b'{"key": "KEY", "result": 1e999}',
    b"\xff\xfe\x00", b'{"key": "KEY", "result": ' + b"9" * 5000 + b"}", b'{"key": "KEY", "result": NaN}',
    b"\x00" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("line", FOREIGN, ids=range(len(FOREIGN)))
def test_a_foreign_record_is_set_aside(tmp_path, whole, line):
    content, results = whole
    key = json.loads(content.split(b"\n")[1])["key"].encode()
    # after the good ones: the last word would count
    campaign = _resumed(tmp_path, content + b"\n" + line.replace(b"KEY", key) + b"\n")
    assert (campaign.resumed, campaign.set_aside) == (2, 1)
    assert campaign.results == results


WRONG = [
    ("verdict", "perhaps"), ("verdict", None), ("reason", 3), ("entry", None), ("point", []), ("point", {"t": 1}),
    ("samples", "many"), ("samples", True), ("seconds", None), ("seconds", -1), ("rows", None), ("rows", [[]]),
    ("rows", [{}]), ("rows", {"z": 1}), ("notes", "text"), ("false_alarm", "small"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_a_result_of_a_wrong_shape_is_set_aside(tmp_path, whole, name, value):
    """Written by the journal itself, checksum and all."""
    content, results = whole
    record = json.loads(content.split(b"\n")[1])
    (tmp_path / "journal.jsonl").write_bytes(content)
    Journal(tmp_path / "journal.jsonl").append({"key": record["key"], "result": {**record["result"], name: value}})
    campaign = run_campaign(FAST, folder=tmp_path, **SETTINGS)
    assert (campaign.resumed, campaign.set_aside) == (2, 1)
    assert campaign.results == results


def _damaged(content, rng):
    """Cut, flipped, doubled, shuffled, filled."""
    data = bytearray(content)
    kind = rng.integers(6)
    a, b = sorted(int(i) for i in rng.integers(len(data), size=2))
    if kind == 0:
        del data[a:]
    elif kind == 1:
        del data[a:b]
    elif kind == 2:
        for place in rng.integers(len(data), size=int(rng.integers(1, 8))):
            data[place] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        data[a:a] = data[a:b]
    elif kind == 4:
        data[a:b] = bytes(rng.integers(256, size=min(b - a, 300), dtype=np.uint8))
    else:
        data[a : a + 512] = bytes(512)
    return bytes(data)


def test_no_damage_stops_a_campaign_or_changes_a_verdict(tmp_path, whole):
    """Sixty damaged journals with a fixed seed: what is read is what was written, the rest is done again."""
    content, results = whole
    rng = np.random.default_rng(12)
    for _ in range(60):
        campaign = _resumed(tmp_path, _damaged(content, rng))
        assert _without_time(campaign.results) == _without_time(results)
    report_text(campaign)
    report_html(campaign)
    write_reports(campaign)


def test_the_command_says_what_it_set_aside(tmp_path):
    assert CliRunner().invoke(app, [*WORDS, str(tmp_path)]).exit_code == 0
    with (tmp_path / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"key": 1, "result": "wrong"}\n{"key": "cut sh')
    again = CliRunner().invoke(app, [*WORDS, str(tmp_path)])
    assert again.exit_code == 0
    assert "2 checks were finished before" in again.stdout
    assert again.stderr == "2 lines of the journal are no record of a check and were set aside.\n"
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["set_aside"] == 2


def triple(x):
    return 3 * x


def test_a_resumed_computation_sets_damage_aside_too(tmp_path, capsys):
    path = tmp_path / "journal.jsonl"
    list(Resumed(path, Serial()).map(triple, [1, 2]))
    key = json.loads(path.read_bytes().split(b"\n")[1])["key"]
    with path.open("ab") as stream:
        stream.write(b'{"key": ["x"]}\n[1]\n{"key": "' + key.encode() + b'", "result": {"float": "word"}}\n{"cut')
    assert list(Resumed(path, Serial()).map(triple, [1, 2, 3])) == [3, 6, 9]
    assert "4 lines hold no result" in capsys.readouterr().err


# One at a time


def test_a_second_campaign_in_the_same_folder_is_refused_while_the_first_runs(tmp_path):
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom theorem_engine.sweeping.locking import only_one\n"
        f"with only_one(Path({str(tmp_path / 'lock')!r}), 'test'):\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(FolderInUse, match=f"process {holder.pid} of .* is at work there"):
        run_campaign(FAST, folder=tmp_path, **SETTINGS)
    refused = CliRunner().invoke(app, [*WORDS, str(tmp_path)])
    assert refused.exit_code == 2
    assert refused.stderr.startswith("FolderInUse: no second campaign in ")
    assert not (tmp_path / "journal.jsonl").exists()
    # killed without a word: its lock file stays, its lock does not
    holder.kill()
    holder.communicate()
    assert (tmp_path / "lock").exists()
    assert run_campaign(FAST, folder=tmp_path, **SETTINGS).resumed == 0


def test_two_campaigns_at_once_do_the_work_once(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from theorem_engine.showing.commandline.commands import main; main()",
        *WORDS,
        str(tmp_path),
    ]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in "ab"]
    told = [process.communicate()[1].decode() for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) in ([0, 2], [0, 0])
    assert all(("FolderInUse" in text) == (code == 2) for text, code in zip(told, codes, strict=True))
    assert len(list(Journal(tmp_path / "journal.jsonl").records())) == len(FAST)


def test_a_process_may_enter_what_it_holds(tmp_path):
    with only_one(tmp_path / "lock", "first"), only_one(tmp_path / "lock", "second"):
        pass


# Kills, interrupts and permissions


@needs_kill
def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    (tmp_path / "work_of_workers.py").write_text(
        "import os, time\n\n\ndef work(path):\n    open(path, 'w').write(str(os.getpid()))\n"
        "    end = time.monotonic() + 120\n    while time.monotonic() < end:\n        sum(range(10_000))\n"
    )
    places = [str(tmp_path / name) for name in ("a", "b")]
    program = (
        "from theorem_engine.sweeping.executors import Processes\nimport work_of_workers\n"
        f"list(Processes(2).map(work_of_workers.work, {places!r}))\n"
    )
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONPATH": paths},
                               stderr=subprocess.DEVNULL)  # fmt: skip
    while not all(Path(place).exists() and Path(place).read_text() for place in places):
        assert process.poll() is None
        time.sleep(0.05)
    workers = [int(Path(place).read_text()) for place in places]
    assert all(_lives(pid) for pid in workers)
    process.kill()
    process.wait()
    # the work would have gone on for two minutes
    begin = time.monotonic()
    while any(_lives(pid) for pid in workers) and time.monotonic() - begin < 60:
        time.sleep(0.1)
    assert not any(_lives(pid) for pid in workers)


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # an ended process that nobody has asked about yet is not alive
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@needs_kill
def test_a_worker_that_is_killed_is_told_in_a_sentence():
    """signal.raise_signal is a function that every worker can import."""
    with pytest.raises(NotAvailable, match="a worker process was ended from outside"):
        list(Processes(2).map(signal.raise_signal, [signal.SIGKILL, signal.SIGKILL]))


def _heeding_interrupts():
    """A test run started in the background hands on that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@needs_kill
def test_an_interrupt_leaves_a_journal_that_is_whole(tmp_path):
    """Ctrl-C at whatever moment: the command ends at once, and what was finished is resumed."""
    ids = [entry.id for entry in te.entries() if entry.paper in ("gaussian", "marion2025") and not entry.costly]
    words = ["check", *ids, "--points", "1", "--samples", "400000", "--jobs", "1", "--out", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "theorem_engine", *words], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=_heeding_interrupts)  # fmt: skip
    journal = Journal(tmp_path / "journal.jsonl")
    while not list(journal.records()) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode != 0
    assert b"Traceback" not in told
    finished = len(list(journal.records()))
    assert finished
    assert journal.damaged == []
    assert run_campaign(ids, samples=400_000, jobs=1, folder=tmp_path).resumed == finished


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_without_permission_is_refused_in_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(JournalError, match="cannot be written: Permission denied"):
            run_campaign(FAST, folder=tmp_path / "inside", **SETTINGS)
    finally:
        tmp_path.chmod(0o700)
