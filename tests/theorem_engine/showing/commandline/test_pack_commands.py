"""Packs on the command line: --pack before and behind a command, new, and broken packs that hurt nobody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.theorem_engine.command_line import data_of, error_of, output_of, run
from theorem_engine.language import catalogue, packs
from theorem_engine.showing import index
from theorem_engine.showing.skeleton import make_pack

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def wire(tmp_path, monkeypatch):
    """A generated pack that no command knows, forgotten afterwards."""
    make_pack("hot-wire", tmp_path)
    monkeypatch.setattr(index, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(catalogue, "_told", set())
    yield tmp_path / "hot-wire"
    for name in ("hotwire", "bad"):
        if name in packs.packs():
            catalogue.forget_pack(packs.packs()[name])
            packs.remove(name)


def test_a_pack_stands_before_or_behind_a_command(wire):
    question = ("predict", "hotwire.rectified-mean", "a=1", "s=0.5", "--json")
    before = json.loads(output_of("--pack", str(wire), *question))
    behind = json.loads(output_of(*question, f"--pack={wire}"))
    assert before["value"] == behind["value"] == pytest.approx(1.0042453513)


def test_every_command_about_entries_takes_those_of_a_pack(wire):
    asked = ("hotwire.rectified-mean", "a=1", "s=0.5", "--pack", str(wire))
    assert "E max(0, a + s G)" in output_of("show", asked[0], "--pack", str(wire))
    assert [row["id"] for row in data_of("find", "rectified Gaussian", "--pack", str(wire))] == [
        "hotwire.rectified-mean", "hotwire.rectified",
    ]  # fmt: skip
    assert len(output_of("sweep", asked[0], "a=0:1:3", "s=1", "--pack", str(wire)).splitlines()) == 4
    assert "evaluate" in output_of("explain", *asked)
    assert "AGREES" in output_of("check", *asked, "--samples", "200000")
    assert "unpublished" in output_of("cite", asked[0], "--pack", str(wire))
    assert "mean" in output_of("show", asked[0], "--latex", "--pack", str(wire))


def test_a_broken_pack_is_told_by_a_search_which_works_all_the_same(wire, tmp_path):
    (tmp_path / "bad.py").write_text("\n\nraise RuntimeError('no')\n")
    for _ in range(2):
        # from the papers, then from the index
        done = run("find", "oracle", "--json", "--pack", str(tmp_path / "bad.py"), "--pack", str(wire))
        assert done.exit_code == 0
        assert "marion2025.oracle-risk" in [row["id"] for row in json.loads(done.stdout)]
        (line,) = done.stderr.splitlines()
        assert (
            line
            == f"PackWarning: pack bad ({tmp_path / 'bad.py'}): bad.py, line 3: it does not import: RuntimeError: no"
        )
    refused = error_of("predict", "bad.thing", "x=1", "--pack", str(tmp_path / "bad.py"))
    assert refused.startswith(f"BrokenPack: pack bad ({tmp_path / 'bad.py'}): bad.py, line 3")
    assert output_of("predict", "gaussian.erf-mean", "t=1", "g=1", "--pack", str(tmp_path / "bad.py"))


def test_a_path_that_is_no_pack_is_one_sentence():
    assert error_of("find", "--pack", "/no/where").startswith("BrokenPack: --pack: there is no pack at '/no/where'")
    assert "stands without a path" in error_of("find", "--pack")


@pytest.mark.parametrize("name", ["numpy", "gaussian", "Heat", "a b", "../x", "class", "x;y", "", "a--b", "a" * 41])
def test_new_refuses_names_that_are_none_or_are_taken(name, tmp_path):
    assert "choose another" in error_of("new", name, "--into", str(tmp_path)) or "is no name for a pack" in error_of(
        "new", name, "--into", str(tmp_path)
    )
    assert list(tmp_path.iterdir()) == []


def test_new_writes_over_nothing(wire):
    before = (wire / "README.md").read_bytes()
    assert "is there already" in error_of("new", "hot-wire", "--into", str(wire.parent))
    assert (wire / "README.md").read_bytes() == before


def test_the_skeleton_passes_its_own_tests(tmp_path):
    make_pack("hot-plate", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"], cwd=tmp_path / "hot-plate",
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
