"""Plans kept on the disk: the same answers without SymPy, and no trust in files that are not ours."""

import json
import os
import subprocess
import sys
import threading
import tomllib
import warnings
from pathlib import Path

import pytest

import theorem_engine as te
from theorem_engine.asking import keeping, kept, kept_files
from theorem_engine.asking.point import read_point
from theorem_engine.asking.prediction_text import prediction_json, prediction_text
from theorem_engine.backends.restoring import NotOurs, restored
from theorem_engine.base.errors import ValidityWarning
from theorem_engine.language.catalogue import find_entry
from theorem_engine.showing.commandline.start import served

ROOT = Path(kept_files.__file__).parents[2]
ORACLE = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": "400", "L": "10"}
#: Entries without a group, a search or a mean in them.
CLOSED = (
    "classics.bbp", "classics.deep-linear-mode", "classics.lda-error", "classics.marchenko-pastur",
    "classics.perceptron-capacity", "classics.ridge-risk", "duranthon2026.ridge-limit", "gaussian.erf-mean",
    "gaussian.erf-miss", "gaussian.erf-moments", "gaussian.erf-square", "liao2026.ridge-error",
    "liao2026.spiked-resolvent", "marion2025.fixed-points", "marion2025.linear-risk", "marion2025.manifold-risk",
    "marion2025.oracle-risk", "marion2025.risk",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def example(id):
    whole = tomllib.loads((ROOT / "registry" / id.partition(".")[0] / "examples.toml").read_text(encoding="utf-8"))
    return {name: str(value) for name, value in whole[id]["point"].items()}


def oracle():
    assert keeping.keep(find_entry("marion2025.oracle-risk"), ORACLE)
    return kept_files.path_of("marion2025.oracle-risk")


@pytest.mark.parametrize("id", CLOSED)
def test_a_kept_plan_gives_the_same_text_and_data_to_the_last_bit(id):
    point = example(id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        expected = te.predict(id, **point)
    assert keeping.keep(expected.entry, point)
    found = kept.answer(id, point)
    assert prediction_text(found) == prediction_text(expected)
    data, wanted = prediction_json(found), prediction_json(expected)
    assert {**data, "seconds": 0} == {**wanted, "seconds": 0}


def test_another_point_of_the_same_shape_is_answered_too():
    oracle()
    for point in ({**ORACLE, "lam": "3/7", "eps": "0.2"}, {**ORACLE, "gamma": "2", "L": "1"}):
        keeping.keep(find_entry("marion2025.oracle-risk"), point)
    point = {"lam": "1.25", "gamma": "sqrt(3)", "d": "17", "L": "3", "eps": "1e-3"}
    expected = te.predict("marion2025.oracle-risk", **point)
    assert prediction_text(kept.answer("marion2025.oracle-risk", point)) == prediction_text(expected)


def test_conditions_decide_between_variants():
    entry = find_entry("classics.bbp")
    weak, strong = ({**example("classics.bbp"), "spike": spike} for spike in ("1.1", "9"))
    names = [len(read_point(entry, point).options) for point in (weak, strong)]
    assert names == [1, 1]
    keeping.keep(entry, strong)
    assert kept.answer(entry.id, weak) is None
    keeping.keep(entry, weak)
    for point in (weak, strong):
        assert prediction_text(kept.answer(entry.id, point)) == prediction_text(te.predict(entry.id, **point))


def test_what_is_out_of_the_ordinary_is_left_to_others(capsys):
    oracle()
    for odd in (
        {"lam": "-1"}, {"lam": "x"}, {"lam": "nan"}, {"L": "2.5"}, {"foo": "1"}, {"lam": "1e400"}, {"d": "0"},
    ):  # fmt: skip
        assert kept.answer("marion2025.oracle-risk", {**ORACLE, **odd}) is None
    assert kept.answer("marion2025.oracle-risk", {"lam": "1"}) is None
    assert kept.answer("marion2025.manifold-risk", ORACLE) is None
    # a Gram matrix that no vectors have
    risk = example("marion2025.risk")
    assert keeping.keep(find_entry("marion2025.risk"), risk)
    assert kept.answer("marion2025.risk", {**risk, "kappa": "0.99", "eta": "0.99"}) is None
    assert capsys.readouterr() == ("", "")


def test_the_command_answers_plain_queries_only(capsys):
    oracle()
    query = ["predict", "marion2025.oracle-risk", *(f"{name}={value}" for name, value in ORACLE.items())]
    assert served(query)
    assert "0.1134980829647474 +- 5e-16" in capsys.readouterr().out
    assert served([*query, "--json"])
    assert json.loads(capsys.readouterr().out)["outputs"]["risk"] == 0.11349808296474743
    for other in (["--digits", "20"], ["--certified"], ["--verbose"], ["lam=1"], ["lam=1:2:3"], ["-h"], ["--json"] * 2):
        assert not served([*query, *other])
    assert not served(["show", *query[1:]])
    assert capsys.readouterr() == ("", "")


def test_a_second_process_imports_neither_sympy_nor_the_paper(tmp_path):
    oracle()
    words = ["predict", "marion2025.oracle-risk", *(f"{name}={value}" for name, value in ORACLE.items())]
    code = (
        "import sys; from theorem_engine.showing.commandline.start import served; "
        f"assert served({words!r}); "
        "heavy = [m for m in sys.modules if m.split('.')[0] in ('sympy', 'mpmath', 'typer', 'rich') or "
        "m.startswith('theorem_engine.registry') or m == 'scipy.special._basic']; "
        "assert not heavy, heavy; assert len(sys.modules) < 420, len(sys.modules); "
        # what was left out is there for whoever asks later
        "import scipy.special; assert scipy.special.zeta(2) > 1.6; assert scipy.special.erf(0.0) == 0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=120)
    assert done.returncode == 0, done.stderr
    assert prediction_text(te.predict("marion2025.oracle-risk", **ORACLE)) in done.stdout


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-40]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("[1, 2"),
        lambda path: path.write_text('{"body": 1}'),
        lambda path: path.write_text(path.read_text().replace("v0", "v1")),
        lambda path: path.chmod(0o666),
        lambda path: path.parent.chmod(0o777),
    ],
)
def test_files_that_are_not_ours_are_ignored_and_said(spoil, capsys):
    path = oracle()
    spoil(path)
    assert kept.answer("marion2025.oracle-risk", ORACLE) is None
    assert str(path) in capsys.readouterr().err
    assert path.name in kept_files.survey()["ignored"]
    path.parent.chmod(0o700)
    oracle()
    assert kept.answer("marion2025.oracle-risk", ORACLE) is not None
    assert kept_files.survey()["entries"] == 1
    assert kept_files.clear() == 1
    assert kept.answer("marion2025.oracle-risk", ORACLE) is None


def test_a_file_with_a_sum_of_its_own_runs_no_more_than_arithmetic(capsys):
    path = oracle()
    whole = json.loads(path.read_text())
    whole["body"]["variants"][0]["code"] = {
        "kind": "code",
        "source": "def f(a, b, c, d, e):\n    import os\n    return 1",
    }
    whole["sum"] = kept_files.digest(whole["body"])
    path.write_text(json.dumps(whole))
    assert kept.answer("marion2025.oracle-risk", ORACLE) is None
    assert "NotOurs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "def f(x):\n    return open('a')",
        "def f(x):\n    return x.__class__",
        "def f(x):\n    return (lambda: x)()",
        "def f(x):\n    return [y for y in x]",
        "def f(x):\n    return __import__('os')",
        "def f(x):\n    return eval('1')",
        "def f(x):\n    return 'text'",
        "def f(x):\n    while x: x = 1\n    return x",
        "def f(x=sqrt(2)):\n    return x",
        "@sqrt\ndef f(x):\n    return x",
        "def f(sqrt):\n    return sqrt(2)",
        "def f(x):\n    global y\n    return x",
        "def f(x):\n    return logical_or.outer(x, x)",
        "def f(x):\n    return sqrt(x, out=x)",
        "def f(x):\n    return x[0]",
        "def f(x):\n    return x\ndef g(x):\n    return x",
        "def f(x):\n    y = x",
        "def f(x:\n",
    ],
)
def test_text_that_is_no_generated_code_is_refused(source):
    with pytest.raises(NotOurs):
        restored({"kind": "code", "source": source}, "float64")


def test_a_step_cannot_reach_beyond_its_slots():
    code = {"kind": "code", "source": "def f(x):\n    return (x,)"}
    for slots in ([5], [-1], ["0"], [True]):
        with pytest.raises(NotOurs):
            restored({"kind": "steps", "steps": [[code, slots, [0]]], "size": 1, "width": 1, "targets": [0]}, "float64")


def test_the_fingerprint_follows_the_bytes_of_sources_and_not_their_dates(tmp_path, monkeypatch):
    source = tmp_path / "entries.py"
    source.write_text("risk = 1\n")
    monkeypatch.setattr(kept_files, "_registry", lambda: [tmp_path])
    kept_files.fingerprint.cache_clear()
    try:
        path = oracle()
        before, date = kept_files.fingerprint(), source.stat()
        source.write_text("risk = 2\n")
        os.utime(source, ns=(date.st_atime_ns, date.st_mtime_ns))
        kept_files.fingerprint.cache_clear()
        assert kept_files.fingerprint() != before
        assert kept.answer("marion2025.oracle-risk", ORACLE) is None
        assert path.is_file()
        assert kept_files.survey()["outdated"] == 1
    finally:
        kept_files.fingerprint.cache_clear()


def test_writers_at_the_same_moment_leave_a_whole_file():
    entry = find_entry("marion2025.oracle-risk")
    points = [ORACLE, {**ORACLE, "eps": "0.1"}]
    oracle()
    writers = [threading.Thread(target=keeping.keep, args=(entry, points[i % 2])) for i in range(8)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert kept_files.load(kept_files.path_of(entry.id)) is not None
    for writer in writers:
        writer.join()
    assert [path.name for path in kept_files.folder().iterdir()] == ["marion2025.oracle-risk.json"]


def test_what_draws_or_searches_is_not_kept():
    for id in ("marion2025.optimal-lambda", "duranthon2026.erm-risk", "duranthon2026.bayes-risk"):
        assert not keeping.keep(find_entry(id), example(id))
