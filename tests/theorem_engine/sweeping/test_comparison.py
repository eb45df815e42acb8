"""Measured points beside a theorem: numbers, files, refusals."""

import json

import numpy as np
import pytest
from scipy.stats import chi2

import theorem_engine as te
from tests.theorem_engine.sweeping.measured_models import ridge_error
from theorem_engine.base.errors import TheoremEngineError

GAMMA = [0.1, 0.5, 1.0, 3.0]
MEASURED = [0.25, 0.3, 0.35, 0.6]
DATA = {"gamma": GAMMA, "error": MEASURED, "error_error": [0.01, 0.02, 0.03, 0.04]}


def test_residuals_chi_squared_and_p_value_are_those_of_our_own_formula():
    found = te.compare("liao2026.ridge-error", DATA, c="0.5", snr=1)
    exact = np.array([ridge_error(0.5, 1.0, g) for g in GAMMA])
    residuals = (np.array(MEASURED) - exact) / DATA["error_error"]
    assert found.residuals == pytest.approx(residuals, rel=1e-9)
    assert found.values == pytest.approx(exact, rel=1e-12)
    assert found.chi2 == pytest.approx(np.sum(residuals**2), rel=1e-9)
    assert found.p_value == pytest.approx(chi2.sf(np.sum(residuals**2), 4), rel=1e-6)


def test_a_mapping_a_data_set_and_a_file_say_the_same(tmp_path):
    import xarray

    path = tmp_path / "runs.csv"
    rows = zip(*DATA.values(), strict=True)
    path.write_text("gamma, error, error_error\n" + "".join(",".join(map(str, row)) + "\n" for row in rows), "utf-8")
    labelled = xarray.Dataset(
        {"error": ("gamma", MEASURED), "error_error": ("gamma", DATA["error_error"])}, coords={"gamma": GAMMA}
    )
    answers = [te.compare("liao2026.ridge-error", d, c="0.5", snr=1).chi2 for d in (DATA, labelled, path, str(path))]
    assert len(set(answers)) == 1


def test_a_sweep_compared_with_itself_has_no_residual():
    labelled = te.sweep("liao2026.ridge-error", gamma=te.grid("0.1", 2, 5), c="0.5", snr=[0, 2])
    labelled["error_error"] = 0 * labelled["error"] + 0.1
    found = te.compare("liao2026.ridge-error", labelled, c="0.5")
    assert len(found.residuals) == 10
    assert found.chi2 < 1e-20
    assert "closer than their errors allow" in str(found)


def test_texts_show_the_points_that_are_farthest_away():
    many = {"gamma": np.linspace(0.1, 3, 40), "error": 0.3, "error_error": 0.02}
    found = te.compare("liao2026.ridge-error", many, c="0.5", snr=1)
    assert "10 of 40 points" in str(found)
    assert "does not fit" in str(found)
    assert len(found.to_json()["points"]) == 40
    json.dumps(found.to_json(), allow_nan=False)
    assert "<table>" in found._repr_html_()


def test_a_picture_is_written_whole_and_never_over_another(tmp_path):
    found = te.compare("liao2026.ridge-error", DATA, c="0.5", snr=1)
    path = tmp_path / "picture.png"
    found.plot().save(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(TheoremEngineError, match="there already"):
        found.plot().save(path)
    with pytest.raises(TheoremEngineError, match="ending"):
        found.plot().save(tmp_path / "picture.doc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["picture.png"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"error": [0.1, "many", 0.2, 0.3]}, "'many' in row 2"),
        ({"error": [0.1, None, 0.2, 0.3]}, "gap in row 2"),
        ({"error": [0.1, float("nan"), 0.2, 0.3]}, "gap in row 2"),
        ({"error": [0.1, float("inf"), 0.2, 0.3]}, "not finite"),
        ({"error_error": [0.1, 0.1, -0.1, 0.1]}, "-0.1 in row 3 is no standard error"),
        ({"error_error": 0}, "is no standard error"),
        ({"error": [0.1, 0.2]}, "different lengths"),
        ({"gamma": [0.1, None, 0.2, 0.3]}, "gamma has a gap in row 2"),
        ({"gamma": [0.1, -1, 0.2, 0.3]}, "row 2: liao2026.ridge-error: gamma=-1 is outside"),
        ({"seed": [1, 2, 3, 4]}, "'seed' is neither a letter nor an output"),
        ({"c": 1}, "c has a column and is also given"),
        ({"gamma": [], "error": [], "error_error": []}, "no points"),
    ],
)
def test_bad_data_are_refused_by_their_place(change, said):
    with pytest.raises(TheoremEngineError) as refused:
        te.compare("liao2026.ridge-error", {**DATA, **change}, c="0.5", snr=1)
    assert said in str(refused.value)


@pytest.mark.parametrize("missing", ["error", "error_error", "gamma"])
def test_missing_columns_are_named(missing):
    data = {name: values for name, values in DATA.items() if name != missing}
    with pytest.raises(TheoremEngineError, match=missing):
        te.compare("liao2026.ridge-error", data, c="0.5", snr=1)


def test_a_column_is_left_out_on_request_and_an_output_chosen():
    found = te.compare("liao2026.ridge-error", {**DATA, "seed": 1}, c="0.5", snr=1, ignore=["seed"], output="error")
    assert len(found.residuals) == 4
    both = {"L": [2, 4], "risk": [0.5, 0.7], "risk_error": 0.1, "excess": [0.5, 0.7], "excess_error": 0.1}
    with pytest.raises(TheoremEngineError, match="risk and excess"):
        te.compare("marion2025.linear-risk", both, gamma=1)
    assert te.compare("marion2025.linear-risk", both, gamma=1, output="excess").sets[0].measured.output == "excess"


@pytest.mark.parametrize("data", [[], 3, None, "nowhere.csv"])
def test_what_is_no_data_is_refused(data):
    with pytest.raises(TheoremEngineError):
        te.compare("liao2026.ridge-error", data, c="0.5", snr=1)
