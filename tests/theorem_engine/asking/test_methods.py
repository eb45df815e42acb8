"""Every method at a point: claims beside true distances."""

import json

import mpmath
import pytest
from mpmath import mp
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, OutOfDomain, UnknownOutput
from theorem_engine.showing.commandline.commands import app

POINT = {"t": 1, "g": "0.5"}


def test_all_methods_agree_with_a_quadrature_of_the_definition():
    with mp.workdps(40):
        density = lambda x: mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
        body = lambda x: mpmath.erf(1 + x / 2) ** 2 * density(x)  # noqa: E731
        true = mpmath.quad(body, [-16, -8, -4, -2, 0, 2, 4, 8, 16])
        methods = te.compare_methods("gaussian.erf-square", **POINT)
        assert [row.name for row in methods.rows] == ["float64", "digits=30", "certified"]
        for row in methods.rows:
            assert abs(mp.mpf(row.value) - true) <= mp.mpf(row.claimed)
        first = methods.rows[0]
        assert abs(first.deviation - abs(mp.mpf(first.value) - true)) < mp.mpf("1e-28")
    assert [row.holds for row in methods.rows] == [True, True, None]
    assert (methods.reference, methods.certificate) == ("certified", "enclosed")
    assert all(row.seconds > 0 for row in methods.rows)


def test_a_claim_below_the_true_distance_is_told(monkeypatch):
    from theorem_engine.asking import methods as module

    plain = module.predict

    def boastful(entry, **query):
        found = plain(entry, **query)
        if "digits" in query:
            return found
        outputs = {"value": found.value + 1e-9}
        return type(found)(
            outputs["value"], outputs, found.error_kind, None, found.method, found.entry, found.point, found.seconds,
            {"value": 1e-12},
        )  # fmt: skip

    monkeypatch.setattr(module, "predict", boastful)
    methods = te.compare_methods("gaussian.erf-mean", **POINT)
    assert methods.rows[0].holds is False
    assert methods.rows[0].deviation == pytest.approx(1e-9, rel=1e-5)
    assert "float64 is further off than it claims" in str(methods)


def test_what_a_method_cannot_do_stands_in_its_row():
    start = {"kappa": "0.1", "nu": "0.2", "theta": "0.1", "eta": "0.1", "rho": "0.1"}
    model = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 80, "L": 10}
    steps = {"alpha": "0.001", "batch": 5, "steps": 3, "seed": 1}
    methods = te.compare_methods("marion2025.stochastic-pgd", **start, **model, **steps)
    assert all("RandomRecurrence" in row.refusal for row in methods.rows[1:])
    assert methods.reference not in {"certified", "digits=30"}
    assert max(map(len, str(methods).splitlines())) <= 80
    json.dumps(methods.to_json(), allow_nan=False)


@pytest.mark.campaign
def test_digits_stand_in_where_nothing_is_proved():
    point = {"task": "max", "nu": 2, "L": 3, "activation": "softmax", "m_kk": 1, "m_vv": "0.8"}
    methods = te.compare_methods("duranthon2026.manifold-risk", **point)
    assert "two weights" in methods.rows[-1].refusal
    assert methods.reference != "certified"


def test_another_output_may_be_named_and_what_is_no_number_is_refused():
    methods = te.compare_methods("gaussian.erf-square", output="dg", **POINT)
    assert methods.output == "dg"
    assert methods.rows[0].holds
    with pytest.raises(UnknownOutput):
        te.compare_methods("gaussian.erf-square", output="dh", **POINT)
    with pytest.raises(OutOfDomain):
        te.compare_methods("gaussian.erf-square", t=1, g=-1)
    with pytest.raises(BadRequest, match="no single number"):
        te.compare_methods("marion2025.fixed-points", output="points", lam="0.1", gamma=1, d=400, L=10)


def test_the_command_prints_a_table_of_80_columns_or_plain_data():
    arguments = ["compare-methods", "gaussian.erf-square", "t=1", "g=0.5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "off by: distance from certified (enclosed)" in done.stdout
    data = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert data["methods"][2]["value"].startswith("0.63405777706451098946368")
