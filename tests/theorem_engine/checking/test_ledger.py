"""The ledger: what was checked is written down, read by pages, and void once the equations change."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import DeclarationError
from theorem_engine.checking import ledger
from theorem_engine.checking.campaign import run_campaign
from theorem_engine.checking.ledger import UNCHECKED, evidence_of, ledger_folder, write_ledger
from theorem_engine.checking.mutants import mutants
from theorem_engine.showing.commandline.commands import app

ROOT = Path(te.__file__).parent.parent
FAST = ("gaussian.erf-mean", "marion2025.linear-risk")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A ledger of two entries."""
    folder = tmp_path_factory.mktemp("ledger")
    campaign = run_campaign(FAST, samples=200_000, jobs=1, seed=3, folder=folder / "run", designed=True)
    return campaign, folder, write_ledger(campaign, "2026-01-02", folder)


def test_a_campaign_is_written_paper_by_paper_with_all_that_was_measured(kept):
    campaign, _, written = kept
    assert [path.name for path in written] == ["gaussian.json", "marion2025.json"]
    record = json.loads(written[0].read_text())["entries"]["gaussian.erf-mean"]
    assert (record["date"], record["seed"], record["version"]) == ("2026-01-02", 3, te.__version__)
    assert len(record["checks"]) == 3
    for check, result in zip(record["checks"], campaign.results, strict=False):
        assert check["verdict"] == result["verdict"]
        assert [row["z"] for row in check["rows"]] == pytest.approx([row["z"] for row in result["rows"]], rel=1e-2)
        assert all(0 < row["sees"] < 0.1 and row["samples"] > 1000 for row in check["rows"])


def test_the_same_campaign_writes_the_same_bytes(kept, tmp_path):
    campaign, _, written = kept
    again = write_ledger(campaign, "2026-01-02", tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_entries_that_were_not_checked_again_keep_their_records(kept, tmp_path):
    campaign, _, _ = kept
    write_ledger(campaign, "2026-01-02", tmp_path)
    other = run_campaign(("gaussian.erf-miss",), samples=2000, jobs=1, folder=tmp_path / "run", designed=True)
    write_ledger(other, "2026-03-04", tmp_path)
    entries = json.loads((tmp_path / "gaussian.json").read_text())["entries"]
    assert {id: record["date"] for id, record in entries.items()} == {
        "gaussian.erf-mean": "2026-01-02", "gaussian.erf-miss": "2026-03-04",
    }  # fmt: skip


def test_what_the_ledger_says_of_an_entry_covers_its_outputs_and_states_the_power(kept):
    _, folder, _ = kept
    found = evidence_of(te.entry("gaussian.erf-mean"), folder)
    assert found.verdict in ("agrees", "cannot tell")
    assert found.points == 3
    assert set(found.outputs) == set(te.entry("gaussian.erf-mean").outputs)
    for words in ("2026-01-02", "seed 3", "3 points", "largest |z|"):
        assert words in str(found)


def test_any_change_of_the_equations_makes_an_entry_unchecked(kept):
    _, folder, _ = kept
    entry = te.entry("marion2025.linear-risk")
    assert evidence_of(entry, folder).verdict != UNCHECKED
    for mutant in list(mutants(entry))[::7]:
        found = evidence_of(mutant.entry, folder)
        assert found.verdict == UNCHECKED
        assert "not those that were checked" in str(found)


def test_an_entry_that_nobody_checked_says_so(tmp_path):
    assert str(evidence_of(te.entry("gaussian.erf-mean"), tmp_path)).startswith("unchecked: no campaign")


def test_a_damaged_ledger_is_a_sentence_and_is_written_anew(kept, tmp_path):
    campaign, _, _ = kept
    (tmp_path / "gaussian.json").write_text('{"paper": "gaussian", "entries": {"gaussian.erf-mean": 3}}')
    with pytest.raises(DeclarationError, match="is no ledger"):
        evidence_of(te.entry("gaussian.erf-mean"), tmp_path)
    write_ledger(campaign, "2026-01-02", tmp_path)
    assert evidence_of(te.entry("gaussian.erf-mean"), tmp_path).points == 3


def test_fingerprints_are_the_same_in_another_process(kept):
    """Hashes of strings differ from process to process; fingerprints must not."""
    _, folder, _ = kept
    program = (
        "import pathlib, theorem_engine as te\nfrom theorem_engine.checking.ledger import evidence_of\n"
        f"print(*(evidence_of(te.entry(id), pathlib.Path({str(folder)!r})).date and "
        f"evidence_of(te.entry(id), pathlib.Path({str(folder)!r})).verdict for id in {FAST!r}), sep=',')"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    ).stdout  # fmt: skip
    assert UNCHECKED not in out
    assert out.strip().split(",") == [evidence_of(te.entry(id), folder).verdict for id in FAST]


# The ledger that is shipped


def test_the_shipped_ledger_has_no_disagreement_and_no_unknown_entry():
    known = {entry.id for entry in te.entries()}
    for path in ledger_folder().glob("*.json"):
        entries = ledger.read_paper(path.stem, ledger_folder())
        assert set(entries) <= known
        for id, record in entries.items():
            assert all(check["verdict"] != "disagrees" for check in record["checks"]), id


def test_show_prints_the_verdict_with_date_and_seed():
    text = CliRunner().invoke(app, ["show", "gaussian.erf-mean"]).stdout
    record = ledger.read_paper("gaussian", ledger_folder())["gaussian.erf-mean"]
    evidence = " ".join(text[text.index("Evidence") :].split())
    assert f"{record['date']}, seed {record['seed']}, version" in evidence
    data = json.loads(CliRunner().invoke(app, ["show", "gaussian.erf-mean", "--json"]).stdout)
    assert data["evidence"]["seed"] == record["seed"]


def test_the_command_writes_the_ledger_of_a_campaign_only(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ledger_folder", lambda: tmp_path / "evidence")
    words = [
        "check",
        "gaussian.erf-mean",
        "--samples",
        "2000",
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "run"),
        "--ledger",
    ]
    assert CliRunner().invoke(app, words).exit_code in (0, 3)
    assert json.loads((tmp_path / "evidence" / "gaussian.json").read_text())["paper"] == "gaussian"
    assert CliRunner().invoke(app, ["check", "gaussian.erf-mean", "t=1", "g=1", "--ledger"]).exit_code == 2
