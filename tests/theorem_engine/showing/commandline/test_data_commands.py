"""compare, fit and export on the command line: answers, files, refusals."""

import json

import pytest

from tests.theorem_engine.command_line import data_of, error_of, output_of

GOOD = "gamma,error,error_error\n0.1,0.26,0.01\n0.5,0.32,0.01\n2,0.53,0.01\n"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_compare_prints_residuals_and_a_verdict(csv):
    text = output_of("compare", "liao2026.ridge-error", str(csv), "c=0.5", "snr=1")
    assert "chi^2" in text
    assert "The theorem" in text
    data = data_of("compare", "liao2026.ridge-error", str(csv), "--c", "0.5", "--snr", "1")
    assert len(data["points"]) == 3
    assert data["p_value"] is not None


def test_fit_prints_letters_with_errors_and_draws_them(csv, tmp_path):
    picture = tmp_path / "fit.png"
    text = output_of("fit", "liao2026.ridge-error", str(csv), "--free", "snr", "c=0.5", "--plot", str(picture))
    assert "snr = " in text
    assert "+-" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    before = picture.read_bytes()
    said = error_of("fit", "liao2026.ridge-error", str(csv), "--free", "snr", "c=0.5", "--plot", str(picture))
    assert "there already" in said
    assert picture.read_bytes() == before
    output_of("fit", "liao2026.ridge-error", str(csv), "--free=snr", "c=0.5", f"--plot={picture}", "--overwrite")
    data = data_of("fit", "liao2026.ridge-error", str(csv), str(csv), "--free", "snr", "c=0.5", "--start", "snr=1")
    assert set(data["values"]) == {"snr"}
    assert len(data["points"]) == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "fit.png"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gamma,error,error_error\n0.1,low,0.01\n", "'low' in line 2"),
        ("gamma,error,error_error\n0.1,,0.01\n", "gap in line 2"),
        ("gamma,error,error_error\n0.1,0.2,-0.01\n", "no standard error"),
        ("gamma,error\n0.1,0.2\n", "error_error"),
        ("gamma,error,error_error\n", "no points"),
        ("", "is empty"),
        ("gamma,error,error_error\n0.1,0.2\n", "2 cells"),
        ("gamma,gamma,error\n0.1,0.2,1\n", "twice"),
        ("gamma,,error\n0.1,0.2,1\n", "without a name"),
        ('gamma,error,error_error\n"0.1,0.2,1\n', "no CSV"),
        ("gama,error,error_error\n0.1,0.2,1\n", "nearest: gamma"),
        ("gamma,error,error_error\n-1,0.2,1\n", "gamma='-1' is outside"),
        ("gamma,error,error_error\n0.1,0.2,0.01\n", "cannot determine 2 letters"),
    ],
)
def test_bad_files_are_one_sentence_and_nothing_is_written(text, said, tmp_path):
    path, picture = tmp_path / "bad.csv", tmp_path / "fit.png"
    path.write_text(text, encoding="utf-8")
    refused = error_of("fit", "liao2026.ridge-error", str(path), "--free", "snr,c", "--plot", str(picture))
    if "gamma" not in text:
        refused = error_of("fit", "liao2026.ridge-error", str(path), "--free", "snr", "c=1", "--plot", str(picture))
    assert said in refused
    assert not picture.exists()


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe\x00gamma")
    assert "not text" in error_of("compare", "liao2026.ridge-error", str(path), "c=1")
    assert "not there" in error_of("compare", "liao2026.ridge-error", str(tmp_path / "none.csv"), "c=1")
    assert "missing" in error_of("compare", "liao2026.ridge-error", "c=1")
    assert "--free" in error_of("fit", "liao2026.ridge-error", str(path), "c=1")


def test_a_letter_that_the_data_cannot_determine_is_refused_by_name(tmp_path):
    path = tmp_path / "same.csv"
    path.write_text("gamma,error,error_error\n0.1,0.26,0.01\n0.1,0.25,0.01\n0.1,0.27,0.01\n", encoding="utf-8")
    assert "snr and c" in error_of("fit", "liao2026.ridge-error", str(path), "--free", "snr", "--free", "c")


def test_export_prints_code_or_writes_it_once(tmp_path):
    assert "double" in output_of("export", "gaussian.erf-mean", "--to", "c")
    assert "g = 0.5" in output_of("export", "gaussian.erf-mean", "--to", "python", "--at", "g=0.5")
    assert json.loads(output_of("export", "gaussian.erf-mean", "--to", "json"))["entry"] == "gaussian.erf-mean"
    path = tmp_path / "risk.c"
    output_of("export", "marion2025.linear-risk", "--to", "c", "--out", str(path))
    before = path.read_text(encoding="utf-8")
    assert "there already" in error_of("export", "marion2025.linear-risk", "--to", "c", "--out", str(path))
    assert path.read_text(encoding="utf-8") == before
    assert "TokenMean" in error_of("export", "duranthon2026.population-risk", "--to", "c", "--at", "task=max")
