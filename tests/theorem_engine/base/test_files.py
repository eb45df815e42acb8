"""Files are whole or not there: on a full disk, without permission, and where a file is already."""

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import error_of, output_of, run
from theorem_engine.base import files
from theorem_engine.base.errors import BadRequest, DeclarationError, FileError
from theorem_engine.base.files import write_whole
from theorem_engine.checking.campaign import Campaign
from theorem_engine.checking.report import write_reports
from theorem_engine.language import figure as declared
from theorem_engine.language.panel import Curve, Panel
from theorem_engine.language.references import _read, bibtex
from theorem_engine.numerics.compiled import call_compiled
from theorem_engine.showing import index
from theorem_engine.showing import plot as drawing
from theorem_engine.sweeping.tables import write_dataset

ROOT = Path(te.__file__).parent.parent
SWEEP = ("sweep", "gaussian.erf-mean", "t=0:1:2000", "g=1")
#: A limit on the size of files stops every write to the disk at that size, as a full disk does.
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from theorem_engine.showing.commandline.commands import main
main()
"""


def _limited(*words):
    # a cache of its own size would be stopped too
    return subprocess.run([sys.executable, "-B", "-c", LIMITED, *words], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def full(monkeypatch):
    """A disk that takes a few bytes and then no more."""
    real = os.write

    def write(handle, data):
        if handle <= 2:
            return real(handle, data)
        if len(data) > 10:
            return real(handle, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "write", write)


# A full disk


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no limits on the size of files")
@pytest.mark.parametrize("ending", ["nc", "csv"])
def test_a_sweep_onto_a_full_disk_is_an_error_and_leaves_nothing(tmp_path, ending):
    """HDF5 itself, when the disk is full, ends the process by a segmentation fault (status -11)."""
    place = tmp_path / f"curve.{ending}"
    done = _limited(*SWEEP, "--out", str(place))
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"FileError: {place} cannot be written: File too large; nothing was written\n"
    assert list(tmp_path.iterdir()) == []
    place.write_text("kept")
    assert _limited(*SWEEP, "--out", str(place), "--overwrite").returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    assert place.read_text() == "kept"


def test_every_kind_of_file_stays_as_it_was_on_a_full_disk(tmp_path, full):
    data = te.sweep("gaussian.erf-mean", t=[0, 1], g=1)
    drawn = drawing.Drawn(_parabola(), data)
    campaign = Campaign((), 0.01, 0, 0, tmp_path / "campaign")
    campaign.folder.mkdir()
    writers = {
        "a.nc": lambda path: write_dataset(data, path),
        "a.csv": lambda path: write_dataset(data, path),
        "a.png": drawn.save,
        "a.svg": drawn.save,
        "a.pdf": drawn.save,
        "campaign/report.json": lambda _: write_reports(campaign),
    }
    for name, write in writers.items():
        path = tmp_path / name
        path.write_text("kept")
        with pytest.raises(FileError, match="No space left on device; nothing was written"):
            write(path)
        assert path.read_text() == "kept"
    assert not list(tmp_path.rglob("*.part"))


def _parabola():
    figure = declared.Figure("test.parabola", "t", None, "", lambda: None)
    figure.panels(lambda data: [Panel([Curve(data.t, data.value)])])
    return figure


def test_an_index_on_a_full_disk_costs_time_only(tmp_path, full, monkeypatch):
    monkeypatch.setattr(index, "cache_folder", lambda: tmp_path)
    assert len([row for row in index.all_rows() if row.kind != "figure"]) == len(te.entries())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [("predict", "gaussian.erf-mean", "t=1", "g=1"), SWEEP, ("find", "--json")])
def test_a_full_disk_behind_stdout_is_an_error(words):
    with open("/dev/full", "w") as stdout:
        done = subprocess.run(
            [sys.executable, "-c", "from theorem_engine.showing.commandline.commands import main; main()", *words],
            cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "OSError: [Errno 28] No space left on device\n"


def test_machine_code_that_cannot_be_kept_is_used_all_the_same():
    """numba compiles, keeps, then runs; each of several nested functions may fail to be kept, once."""
    failures = iter([OSError(28, "full"), OSError(28, "full")])

    def compiled(x):
        for error in failures:
            raise error
        return x + 1

    assert call_compiled(compiled, 1) == 2


# A file that is there already


@pytest.mark.parametrize("name", ["curve.csv", "curve.nc"])
def test_a_file_is_replaced_only_when_asked(tmp_path, name):
    place = tmp_path / name
    words = ("sweep", "gaussian.erf-mean", "t=0:1:3", "g=1", "--out", str(place))
    output_of(*words)
    first = place.read_bytes()
    place.write_text("precious")
    assert (
        error_of(*words) == f"BadRequest: {place} is there already; choose another name, or replace it with --overwrite"
    )
    assert place.read_text() == "precious"
    output_of(*words, "--overwrite")
    assert len(place.read_bytes()) == len(first)


def test_a_figure_is_replaced_only_when_asked(tmp_path, monkeypatch):
    made = []
    figure = declared.Figure(
        "test.made", "t", None, "", lambda: made.append(1) or te.sweep("gaussian.erf-mean", t=[0, 1], g=1)
    )
    figure.panels(lambda data: [Panel([Curve(data.t, data.value)])])
    monkeypatch.setitem(declared._figures, "test.made", figure)
    place = tmp_path / "a.png"
    place.write_text("precious")
    assert "is there already" in error_of("figure", "test.made", "--out", str(place))
    assert made == []
    output_of("figure", "test.made", "--out", str(place), "--overwrite")
    assert place.read_bytes().startswith(b"\x89PNG")


def test_reports_of_somebody_else_are_left_alone(tmp_path):
    words = (
        "check",
        "gaussian.erf-mean",
        "--samples",
        "100",
        "--jobs",
        "1",
        "--tolerate-undecided",
        "--out",
        str(tmp_path),
    )
    (tmp_path / "report.html").write_text("precious")
    assert "is there already" in error_of(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "precious"
    output_of(*words, "--overwrite")
    # from now on it is a campaign's folder
    output_of(*words)


def test_overwrite_without_a_file_is_refused():
    assert "--overwrite" in error_of("sweep", "gaussian.erf-mean", "t=1", "g=1", "--overwrite")
    assert run("figure", "--overwrite").exit_code == 2


def test_a_file_made_while_the_numbers_were_computed_is_left_alone(tmp_path, monkeypatch):
    """Between the look at the folder and the writing: only the system can say whether the name is free."""
    place = tmp_path / "x.csv"
    real = os.link

    def link(source, target):
        place.write_text("precious")
        return real(source, target)

    monkeypatch.setattr(files.os, "link", link)
    with pytest.raises(BadRequest, match="is there already"):
        write_whole(place, "new", overwrite=False)
    assert place.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


# Writing


def test_links_stay_links_and_permissions_stay(tmp_path):
    place = tmp_path / "file"
    place.write_text("old")
    place.chmod(0o640)
    (tmp_path / "link").symlink_to(place)
    write_whole(tmp_path / "link", "new \ud800 text")
    assert (tmp_path / "link").is_symlink()
    assert place.read_text(encoding="utf-8") == "new \\ud800 text"
    assert place.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadRequest, match="not a plain file"):
        write_whole(tmp_path / "folder", "text")
    with pytest.raises(FileError, match=r"No such file or directory|cannot find"):
        write_whole(tmp_path / "none" / "file", "text")


def test_a_reader_never_sees_half_a_file(tmp_path):
    place = tmp_path / "file"
    texts = {letter * 200_000 for letter in "abcd"}
    write_whole(place, "a" * 200_000)
    writers = [threading.Thread(target=lambda t=t: [write_whole(place, t) for _ in range(5)]) for t in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert place.read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# Caches and lists that were written by something else


BROKEN = [
    "null", "3", "[]", '"x"', "{}", '{"state": []}', '{"state": "STATE", "rows": 3}',
    '{"state": "STATE", "rows": [null]}',
    '{"state": "STATE", "rows": [[]]}', '{"state": "STATE", "rows": {"a": 1}}', '{"state": "STATE", "rows": "abc"}',
    "[" * 100_000, '{"state": ' * 50_000, "\x00", '{"state": "STATE", "rows": ' + "[" * 90_000 + "]" * 90_000 + "}",
]  # fmt: skip


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setattr(index, "cache_folder", lambda: tmp_path)
    index.all_rows()
    (path,) = tmp_path.iterdir()
    return path


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_malformed_index_is_made_anew(cached, text):
    good = cached.read_bytes()
    cached.write_text(text.replace("STATE", index._state()))
    assert "marion2025.risk" in output_of("find", "risk")
    assert cached.read_bytes() == good


@pytest.mark.parametrize("value", [None, 3, {}, [[1]], [None], {"a": {"b": []}}], ids=str)
@pytest.mark.parametrize("field", ["id", "text", "needs", "source"])
def test_a_row_with_a_field_of_another_kind_is_made_anew(cached, field, value):
    """The checksum is right: the kinds are looked at too."""
    good = cached.read_bytes()
    bad = json.loads(good)
    bad["rows"][0][field] = value
    bad["sum"] = index._digest(bad["rows"])
    cached.write_text(json.dumps(bad))
    assert "marion2025.risk" in output_of("find", "risk")
    assert cached.read_bytes() == good


def test_a_file_with_its_old_size_and_time_but_another_content_is_seen(tmp_path, monkeypatch):
    path = tmp_path / "risk.py"
    path.write_text("x = 1")
    monkeypatch.setattr(index, "_places", lambda: [tmp_path])
    before, facts = index._state(), path.stat()
    path.write_text("x = 2")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert index._state() != before


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("work = 3", "'work' is no table"),
        ("work = [1, 2]", "'work' is no table"),
        ('work = "text"', "'work' is no table"),
        ("[[work]]\ntitle = 'x'", "'work' is no table"),
        ("[work]\ntitle = ['x']", "'title' of work 'work'"),
        ("[work]\ntitle = 1.5", "'title' of work 'work'"),
        ("[work.title]\nx = 1", "'title' of work 'work'"),
        ("[work]\nyear = true", "'year' of work 'work'"),
        ("[work]\ntype = 3", "'type' of work 'work'"),
        ("[work", "cannot be read"),
        ("x = \xff", "cannot be read"),
    ],
)
def test_a_malformed_bibliography_is_refused_with_file_and_work(tmp_path, text, named):
    path = tmp_path / "references.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DeclarationError, match=named) as refused:
        _read(path, 0, 0)
    assert str(path) in str(refused.value)


def test_a_good_bibliography_is_read(tmp_path):
    path = tmp_path / "references.toml"
    path.write_text("[work]\ntype = 'misc'\nyear = 2025\n")
    assert bibtex("work", _read(path, 0, 0)["work"]) == "@misc{work,\n  year = {2025},\n}"
