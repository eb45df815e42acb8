"""The command line: same words, same numbers, one sentence and status 2 for anything wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import theorem_engine as te
from tests.theorem_engine.command_line import data_of, error_of, output_of, run
from theorem_engine.base.errors import TheoremEngineError, ValidityWarning
from theorem_engine.language import catalogue
from theorem_engine.showing import doctor
from theorem_engine.showing.commandline import commands as cli

ORACLE = ("marion2025.oracle-risk", "lam=0.1", "gamma=sqrt(1/2)", "d=400", "L=10")
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True, scope="module")
def _cache_of_its_own(tmp_path_factory):
    """Searches must not read or write the cache of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setattr("theorem_engine.base.files.cache_folder", lambda: folder)
        yield


def test_find_lists_what_the_function_finds():
    assert output_of("find", "linear", "predictor") == f"{te.find('linear predictor')}\n"
    assert [row["id"] for row in data_of("find", "--paper", "gaussian")] == [e.id for e in te.find(paper="gaussian")]


def test_find_refuses_what_it_does_not_know():
    assert run("find", "--papr", "gaussian").exit_code == 2
    assert error_of("find", "--paper", "gausian").startswith("BadRequest: no paper 'gausian'; nearest: gaussian")


def test_find_on_a_terminal_prints_a_table_with_whole_ids(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        cli.app(["find", "linear", "predictor"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "marion2025.linear-risk" in text
    assert "[eps]" in text


def test_show_prints_the_entry():
    assert output_of("show", "marion2025.corollary-2") == repr(te.entry("marion2025.oracle-risk")) + "\n"
    assert data_of("show", "gaussian.erf-mean")["main_output"] == "value"


def test_predict_gives_the_number_of_the_function():
    prediction = te.predict("marion2025.oracle-risk", lam="0.1", gamma="sqrt(1/2)", d=400, L=10)
    assert output_of("predict", *ORACLE) == f"{prediction}\n"
    data = data_of("predict", *ORACLE)
    assert data["value"] == prediction.value
    assert data["error"] == prediction.error


@pytest.mark.parametrize(
    "letters",
    [
        ("t=-0.5", "g=1"),
        ("--t", "-0.5", "--g", "1"),
        ("--t=-0.5", "g=1"),
        ("--json", "--t", "-1/2", "g=1"),
    ],
)
def test_letters_are_given_in_three_ways(letters):
    expected = te.predict("gaussian.erf-mean", t="-0.5", g=1).value
    assert data_of("predict", "gaussian.erf-mean", *letters)["value"] == expected
    assert data_of("predict", *letters, "gaussian.erf-mean")["value"] == expected


@pytest.mark.parametrize("letter", ["λ=0.1", "lam = 0.1", "lam= 0.1", "lam =0.1", "λ = 0.1", "--λ 0.1"])
def test_greek_letters_and_spaces_around_the_sign_are_read(letter):
    words = letter.split(" ")
    data = data_of("predict", "marion2025.oracle-risk", "gamma=sqrt(1/2)", *words, "d=400", "L=10")
    assert data["point"]["lam"] == "0.1"
    assert data == {**data_of("predict", *ORACLE), "seconds": data["seconds"]}


def test_a_letter_may_be_quoted_with_its_spaces():
    data = data_of("predict", "marion2025.oracle-risk", "gamma=sqrt(1/2)", "lam = 0.1", "d=400", "L=10")
    assert data["point"]["lam"] == "0.1"


def test_a_negative_value_may_stand_behind_a_space():
    assert data_of("predict", "gaussian.erf-mean", "t", "=", "-0.5", "g=1")["point"]["t"] == "-0.5"


def test_an_id_is_never_taken_for_a_value():
    assert "t=''" in error_of("predict", "g=1", "t=", "gaussian.erf-mean")


def test_forty_digits_are_text():
    data = data_of("predict", *ORACLE, "--digits", "40")
    assert data["value"] == "0.1134980829647474613677315817018032280657"
    assert data_of("predict", *ORACLE, "digits=40")["value"] == data["value"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "gaussian.erf-men", "t=1", "g=1"), "UnknownEntry: no entry 'gaussian.erf-men'; nearest: "),
        (("show", "nothing"), "UnknownEntry: no entry 'nothing'"),
        (("predict", "gaussian.erf-mean", "t=1", "g=1", "h=1"), "UnknownParameter: gaussian.erf-mean has no"),
        (("predict", "gaussian.erf-mean", "t=1"), "MissingParameter: gaussian.erf-mean needs g"),
        (("predict", "gaussian.erf-mean", "t=one", "g=1"), "BadNumber: gaussian.erf-mean: t='one'"),
        (("predict", "gaussian.erf-mean", "t=nan", "g=1"), "BadNumber: gaussian.erf-mean: t='nan'"),
        (("predict", "gaussian.erf-mean", "t=", "g=1"), "BadNumber: gaussian.erf-mean: t=''"),
        (("predict", "gaussian.erf-mean", "t=__import__('os')", "g=1"), "BadNumber: gaussian.erf-mean: t="),
        (("predict", *ORACLE[:1], "lam=-1", *ORACLE[2:]), "OutOfDomain: marion2025.oracle-risk: lam='-1' is outside"),
        (("predict", *ORACLE[:4], "L=0"), "OutOfDomain: marion2025.oracle-risk: L='0'"),
        (("predict", *ORACLE[:4], "L=2.5"), "OutOfDomain: marion2025.oracle-risk: L='2.5'"),
        (("predict", *ORACLE, "--digits", "0"), "BadRequest: digits=0 is refused"),
        (("predict", *ORACLE, "--digits", "1000000000"), "BadRequest: digits=1000000000 is refused"),
        (("predict", *ORACLE, "--digits", "many"), "BadRequest: digits='many' is not a whole number"),
        (("predict", *ORACLE, "--digits", "2.5"), "BadRequest: digits='2.5' is not a whole number"),
        (("predict", "duranthon2026.information-sum-rule", "L=3", "--certified"), "NotAvailable: "),
        (("predict", *ORACLE, "lam=0.2"), "BadRequest: lam is given twice: '0.1' and '0.2'"),
        (("predict", *ORACLE, "--eps"), "BadRequest: --eps stands without a value"),
        (("predict", *ORACLE, "id=1"), "BadRequest: id='1' is no letter of an entry"),
        (("predict", *ORACLE, "executor=1"), "BadRequest: executor='1' is no letter of an entry"),
        (("explain", *ORACLE, "--format", "png"), "BadRequest: --format 'png' is not text, mermaid or dot"),
        (("explain", *ORACLE[:2]), "MissingParameter: "),
        (("sweep", "gaussian.erf-mean", "t=0:1:x", "g=1"), "BadRequest: t: count='x' is not a whole number"),
        (("sweep", "gaussian.erf-mean", "t=0:1", "g=1"), "BadRequest: t='0:1' is no grid"),
        (("sweep", "gaussian.erf-mean", "t=0:1:3:lin", "g=1"), "BadRequest: t='0:1:3:lin' is no grid"),
        (("sweep", "gaussian.erf-mean", "t=0:1:-3", "g=1"), "BadRequest: grid: count=-3"),
        (("predict", "gaussian.erf-mean", "t", "1", "g=1"), "BadRequest: 't 1' is left over; a letter is"),
        (("predict", "gaussian.erf-mean", "τ=1", "g=1"), "UnknownParameter: gaussian.erf-mean has no parameter 'tau'"),
        (("predict", "gaussian.erf-mean", "t=0.1,0.2", "g=1"), "BadRequest: t='0.1,0.2' is a list, and this is about"),
        (("predict", "gaussian.erf-mean", "t=0:1:5", "g=1"), "BadRequest: t='0:1:5' is a grid, and this is about one"),
        (("explain", "gaussian.erf-mean", "t=1:9:5:log", "g=1"), "BadRequest: t='1:9:5:log' is a grid, and this is"),
        (("sweep", "gaussian.erf-mean", "t=1", "g=-1:1:5"), "OutOfDomain: gaussian.erf-mean: g=-1 is outside [0, oo)"),
        (("sweep", "gaussian.erf-mean", "t=1", "g=1", "--out", "curve.xls"), "BadRequest: --out curve.xls: the ending"),
        (("sweep", "gaussian.erf-mean", "t=1", "g=1", "--out", "no/such/folder/x.csv"), "BadRequest: --out no/such/"),
        (("figure", "no.figure"), "UnknownFigure: no figure 'no.figure'"),
        (("cite", "nothing"), "UnknownEntry: no entry 'nothing'"),
    ],
)  # fmt: skip
def test_anything_wrong_is_one_sentence_and_status_two(arguments, message):
    assert error_of(*arguments).startswith(message)


def test_an_error_in_json_is_json():
    done = run("predict", "gaussian.erf-men", "t=1", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"] == "UnknownEntry"
    assert done.stderr.startswith("UnknownEntry: ")


@pytest.mark.parametrize(
    "arguments", [("predict",), ("predict", "gaussian.erf-mean", "-x", "1"), ("predict", "a.b", "c.d"), ("nothing",)]
)
def test_a_command_line_that_cannot_be_read_ends_with_status_two(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Usage" in done.stderr


def test_a_validity_warning_is_a_sentence_on_stderr(monkeypatch):
    import warnings

    def doubtful(*args, **kwargs):
        warnings.warn(ValidityWarning("test.entry: small sizes are off"), stacklevel=2)
        return te.entry("gaussian.erf-mean")

    monkeypatch.setattr("theorem_engine.showing.find.entry", doubtful)
    done = run("show", "gaussian.erf-mean", "--json")
    assert done.exit_code == 0
    assert done.stderr == "ValidityWarning: test.entry: small sizes are off\n"
    assert json.loads(done.stdout)["id"] == "gaussian.erf-mean"


def test_a_file_that_cannot_be_written_is_no_traceback(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr("theorem_engine.sweeping.tables.write_csv", full)
    assert (
        error_of("sweep", "gaussian.erf-mean", "t=1,2", "g=1", "--out", str(tmp_path / "x.csv"))
        == "OSError: no space left"
    )


def test_sweep_prints_csv_with_one_line_per_point():
    lines = output_of("sweep", "gaussian.erf-mean", "t=-1:1:5", "g=0,1").splitlines()
    assert lines[0] == "t,g,value,value_error"
    assert len(lines) == 11
    t, g, value, error = (float(cell) for cell in lines[2].split(","))
    there = te.predict("gaussian.erf-mean", t=t, g=g)
    assert value == there.value
    assert error == pytest.approx(there.error)


def test_sweep_on_a_geometric_grid():
    data = data_of("sweep", "gaussian.erf-mean", "t=1:100:3:log", "--g", "1")
    assert data["coordinates"]["t"]["values"] == pytest.approx([1, 10, 100])
    assert data["attributes"]["entry"] == "gaussian.erf-mean"
    assert data["outputs"]["value"]["dims"] == ["t"]


def test_sweep_of_one_point_is_one_line():
    assert output_of("sweep", "gaussian.erf-mean", "t=0", "g=1").splitlines() == ["value,value_error", "0.0,0.0"]


def test_sweep_writes_files(tmp_path):
    import xarray

    table, cube = tmp_path / "curve.csv", tmp_path / "curve.nc"
    query = ("sweep", "gaussian.erf-mean", "t=0:1:3", "g=1")
    assert "t 3; value" in output_of(*query, "--out", str(table))
    output_of(*query, "--out", str(cube))
    assert table.read_text() == output_of(*query)
    with xarray.open_dataset(cube) as data:
        assert data.attrs["entry"] == "gaussian.erf-mean"
        assert data["value"].values.tolist() == data_of(*query)["outputs"]["value"]["values"]


def test_explain_prints_and_exports():
    assert "step 1: evaluate" in output_of("explain", "gaussian.erf-mean")
    assert output_of("explain", "gaussian.erf-mean", "--format", "dot") == te.explain("gaussian.erf-mean").dot() + "\n"
    assert output_of("explain", "gaussian.erf-mean", "--format", "mermaid").startswith("flowchart")
    assert data_of("explain", *ORACLE)["prediction"]["entry"] == "marion2025.oracle-risk"


def test_a_list_may_hold_values_with_brackets():
    lines = output_of("sweep", "liao2026.ridge-error", "c=1", "gamma=sqrt(1/2),1").splitlines()
    assert len(lines) == 3
    lengths = output_of("sweep", "duranthon2026.bayes-risk", "task=max", "nu=1", "L=uniform(1,3),2").splitlines()
    assert len(lengths) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--all", "t=0.3"), "--all checks entries at points of their own"),
        (("gaussian.erf-mean", "t=0.3", "g=1", "--points", "3"), "--scheduler, --out, --fresh and --ledger"),
        (("gaussian.erf-mean", "--points", "0"), "points=0 is not a whole number of at least 1"),
    ],
)
def test_checks_refuse_options_they_would_not_heed(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert says in error_of("check", *arguments)


def test_cite_prints_bibtex():
    assert output_of("cite", "gaussian.erf-mean") == te.cite("gaussian.erf-mean") + "\n"
    assert set(data_of("cite")["entries"]) == {entry.id for entry in te.entries()}


def test_doctor_finds_everything_needed():
    data = data_of("doctor")
    assert data["problems"] == []
    assert all(data["dependencies"].values())
    assert data["papers"]["gaussian"] == len(te.find(paper="gaussian"))
    assert "Everything needed works." in output_of("doctor")


def test_doctor_reports_a_paper_that_does_not_load(monkeypatch):
    monkeypatch.setattr(catalogue, "papers", lambda: ("gaussian", "broken"))
    done = run("doctor")
    assert done.exit_code == 1
    assert "PROBLEM: paper broken does not load: ModuleNotFoundError" in done.stdout


def test_doctor_reports_a_package_that_is_missing(monkeypatch):
    monkeypatch.setattr(doctor, "_requirements", lambda: (["no-such-package"], {"extra": ["no-such-thing"]}))
    done = run("doctor")
    assert done.exit_code == 1
    assert "no-such-package MISSING" in done.stdout
    assert "missing no-such-thing: pip install 'theorem-engine[extra]'" in done.stdout


def test_doctor_reads_the_project_file_when_nothing_is_installed(monkeypatch):
    def nothing(name):
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", nothing)
    needed, extras = doctor._requirements()
    assert "sympy" in needed
    assert "xarray" in extras["sweep"]


def test_doctor_links_the_two_folders_for_type_checkers(tmp_path, monkeypatch):
    for name in ("registry", "validators"):
        (tmp_path / name).mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    folder = tmp_path / doctor.make_typing_folder()
    assert doctor.make_typing_folder() == Path("build/typing/theorem_engine")
    assert sorted(path.name for path in folder.iterdir()) == ["registry", "validators"]
    assert (folder / "registry").resolve() == tmp_path / "registry"


def test_doctor_makes_no_links_outside_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    with pytest.raises(TheoremEngineError, match="source checkout"):
        doctor.make_typing_folder()


def test_the_version_is_printed():
    assert output_of("--version") == f"theorem-engine {te.__version__}\n"


def test_every_command_has_a_json_switch_and_help():
    for name in ("find", "show", "predict", "sweep", "explain", "figure", "cite", "tour", "doctor"):
        assert "--json" in output_of(name, "--help")


def in_a_process(*command, **environment):
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )


def test_find_starts_without_the_heavy_packages(tmp_path):
    """The second search of a user imports not even SymPy; the first makes the index."""
    code = (
        "import sys; sys.argv = ['theorem-engine', 'find', '--json']\n"
        "from theorem_engine.showing.commandline.commands import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    first, second = (in_a_process("-c", code, XDG_CACHE_HOME=str(tmp_path)) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    rows = [row["id"] for row in json.loads(second.stdout) if row["kind"] != "figure"]
    assert rows == [entry.id for entry in te.entries()]
    heavy = {"sympy", "numpy", "scipy", "networkx", "xarray", "matplotlib", "rich"}
    assert not heavy & set(second.stderr.split())


def test_a_bad_query_in_a_process_of_its_own_has_no_traceback():
    done = in_a_process(
        "-c",
        "from theorem_engine.showing.commandline.commands import main; main()",
        "predict",
        "gaussian.erf-mean",
        "t=x",
        "g=1",
    )
    assert done.returncode == 2
    assert done.stderr.startswith("BadNumber: ")
    assert "Traceback" not in done.stderr


def test_a_vector_is_written_with_commas_and_no_closing_semicolon():
    """Of a letter that is a list itself the commas are its own; of any other they are those of a sweep."""
    words = ("liao2026.finite-rank-error", "c=1/2", "a1=1/2", "second_moment=1", "snr=1", "gamma=0.3")
    vectors = ("keys=0.8,0.3", "queries=0.5,0.1")
    found = data_of("predict", *words, *vectors)["outputs"]["error"]
    assert found == data_of("predict", *words, *(text + ";" for text in vectors))["outputs"]["error"]
    assert output_of("sweep", *words, *vectors, "--errors", "none").split()[-1].startswith(f"{found:.12f}"[:12])
    assert "gamma='0.3,0.4' is a list, and this is about one point" in error_of(
        "predict", *words[:-1], "gamma=0.3,0.4", *vectors
    )
