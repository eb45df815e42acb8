"""Proofs on request: what is printed and kept, how sharp it is, and that precision stays inside a call."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from flint import acb, arb, ctx
from mpmath import mp
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.asking.certificate import _decimal
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import BadRequest, NotAvailable, NotConverged
from theorem_engine.base.text import value_text
from theorem_engine.showing.commandline.commands import app

REFERENCES = [
    ("gaussian.erf-square", "1", "1/2", "0.63405777706451098946368125559620420881885936135594"),
    ("gaussian.erf-square", "6", "1/10", "0.99999999999999991197320434418778137287161460187943"),
    ("gaussian.erf-square", "0", "2", "0.69704395054741311328133465658962247626223446325075"),
    ("gaussian.erf-square", "1e-6", "1e-6", "2.5464790894618371086706025677609025076238869465326e-12"),
    ("gaussian.erf-miss", "1", "1/2", "0.13048393504435815640700861654763802042060990627280"),
    ("gaussian.erf-miss", "20", "1/2", "4.2840154739932719365144482680675806807870133510929e-177"),
    ("gaussian.erf-miss", "20", "1", "2.8293846011445780642445047085064831518887618199376e-72"),
    ("gaussian.erf-miss", "6", "1/10", "7.8220099601021049116483199197484740134992568446810e-33"),
    ("gaussian.erf-miss", "-3", "1/10", "3.9998936305554944446636231332999393058858280997004"),
]


def check(prediction, reference, digits=49):
    with mp.workdps(80):
        reference = mp.mpf(reference)
        assert abs(prediction.value - reference) <= prediction.error + mp.mpf(10) ** -digits * abs(reference)
        assert prediction.error <= mp.mpf(10) ** (1 - prediction.digits) * abs(prediction.value)


#: Carried in the first round at the usual digits.
BITS_OF_FIFTEEN_DIGITS = 89


@pytest.mark.parametrize(("id", "t", "g", "reference"), REFERENCES)
@pytest.mark.parametrize("digits", [15, 30, 48])
def test_certificates_of_gaussian_lemmas_hold_the_references(id, t, g, reference, digits):
    check(te.predict(id, t=t, g=g, certified=True, digits=digits), reference)


def test_a_certificate_says_its_radius_and_what_was_proved():
    found = te.predict("gaussian.erf-square", t=1, g="0.5", certified=True)
    assert found.error_kind == "certified"
    assert found.digits == 15
    assert found.certificate.status == "enclosed"
    text = str(found)
    assert "certified" in text
    assert "enclosed: " in text
    assert len(re.findall(r"\+- \de-\d+", text)) == 4
    assert "enclosed" in found._repr_html_()
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["certificate"]["status"] == "enclosed"
    assert set(data["certificate"]) == {"status", "claims", "box", "bits"}
    assert te.predict("gaussian.erf-square", t=1, g="0.5").to_json()["certificate"] is None


def test_what_is_printed_is_an_enclosure_too():
    """The decimal and the radius beside it, both as printed, hold the true number."""
    for digits in (3, 7, 15):
        found = te.predict("gaussian.erf-miss", t=1, g="0.5", certified=True, digits=digits)
        value, radius = re.search(r"value\s+= (\S+) \+- (\S+)", str(found)).groups()
        with mp.workdps(60):
            assert abs(mp.mpf(value) - mp.mpf(REFERENCES[4][3])) <= mp.mpf(radius)


def test_no_digit_stands_that_the_radius_does_not_cover():
    """A ball around zero has no digit: it is zero, with a radius that holds all of it; a part of a pair likewise."""
    with ctx.workprec(200):
        ball = arb("3e-40", "1e-35")
        value, radius = _decimal(ball, 15)
        assert value == 0
        assert arb("3e-40").upper() + arb("1e-35") <= arb(str(radius)) * (1 + arb("1e-12"))
        pair, _ = _decimal(acb(arb(1, "1e-20"), ball), 15)
        assert pair.imag == 0
        assert pair.real == 1
    with mp.workdps(40):
        assert value_text(mp.mpf("0.123456789012345678"), mp.mpf("3e-9"), 15) == "0.123456789"
        assert value_text([mp.mpc("1.25", "-3.5")], [mp.mpf("1e-3")], 15) == "[1.250-3.500j]"
    difference = te.predict("gaussian.erf-mean", t=1, g=1, digits=30) - te.predict(
        "gaussian.erf-mean", t="1.00000000000000000001", g=1, digits=30
    )
    assert re.match(r"-\d\.\d{9,12}e-21 \+- ", str(difference))


def test_a_step_of_descent_keeps_the_radius_of_its_start():
    """Balls of the letters grow by the slopes of the step, not by roots of their radii: the first bits are enough."""
    start = {"m_kk": "0.5", "m_kv": "0.1", "m_vk": "0.1", "m_vv": "0.5", "q_kk": 1, "q_vv": 1, "q_kv": "0.1"}
    point = {"task": "spiked", "nu": 2, "L": 3, "activation": "softmax", "eta": "0.1", "steps": 2} | start
    proved = te.predict("duranthon2026.gradient-descent", certified=True, **point)
    assert proved.certificate.bits == BITS_OF_FIFTEEN_DIGITS
    found = te.predict("duranthon2026.gradient-descent", **point)
    for name, value in found.outputs.items():
        assert abs(value - proved.outputs[name]) <= found.errors[name] + proved.errors[name]


def test_the_box_of_a_solution_is_printed():
    found = te.predict("liao2026.null-error", c="0.25", gamma=1, a1="0.6057", second_moment="0.3943", certified=True)
    assert "unique: exactly one solution for e, eta, g in the box" in str(found)
    assert re.search(r"box: e in \[0\.0233\S* \+/- \S+\]", str(found))


def test_the_command_line_prints_and_writes_certificates():
    run = CliRunner().invoke(app, ["predict", "gaussian.erf-mean", "t=1", "g=0.5", "--certified", "--digits", "20"])
    assert run.exit_code == 0
    assert "certified" in run.output
    run = CliRunner().invoke(app, ["predict", "gaussian.erf-mean", "t=1", "g=0.5", "--certified", "--json"])
    assert json.loads(run.output)["certificate"]["status"] == "enclosed"


CHEAP = ["gaussian.erf-mean", "gaussian.erf-square", "gaussian.erf-miss", "gaussian.erf-moments", "marion2025.risk",
         "marion2025.oracle-risk", "marion2025.manifold-risk", "marion2025.linear-risk", "liao2026.null-error",
         "liao2026.ridge-error", "duranthon2026.bayes-risk"]  # fmt: skip


@pytest.mark.parametrize("id", CHEAP)
def test_digits_lie_inside_enclosures_at_drawn_points(id):
    rng = np.random.default_rng(7)
    for _ in range(1 if id.startswith("duranthon") else 2):
        point = draw_point(te.entry(id), rng)
        proved, digits = te.predict(id, certified=True, digits=25, **point), te.predict(id, digits=30, **point)
        for name, value in proved.outputs.items():
            with mp.workdps(50):
                gap = abs(value - digits.outputs[name])
                assert gap <= proved.errors[name] + digits.errors[name], (point, name)


@pytest.mark.parametrize("lam", ["2", "0.1"])
def test_the_oracle_far_in_its_tail_is_enclosed(lam):
    """lam sqrt(d) = 40 and 2: the excess is gamma^2 miss + (L - 1) zeta, put together here from the lemmas."""
    found = te.predict("marion2025.oracle-risk", lam=lam, gamma=1, d=400, L=10, certified=True, digits=30)
    with mp.workdps(50):
        mean = mp.mpf(lam) * mp.sqrt(200)

        def variance(t, g):
            u, b = t / mp.sqrt(1 + 2 * g * g), 1 / mp.sqrt(1 + 4 * g * g)
            return 4 / mp.pi * mp.quad(lambda z: mp.exp(-u * u * (1 + z * z)) / (1 + z * z), [b, 1])

        own = mp.erfc(mean / mp.sqrt(1 + 2 * mp.mpf(lam) ** 2)) ** 2 + variance(mean, mp.mpf(lam))
        check(found, own + 9 * variance(mp.zero, mp.mpf(lam)), 40)


def test_precision_stays_inside_a_call():
    bits, places = ctx.prec, mp.dps
    for digits in (15, 60, 20):
        te.predict("gaussian.erf-square", t=1, g="0.5", certified=True, digits=digits)
        assert (ctx.prec, mp.dps) == (bits, places)
    with mp.workdps(77), ctx.workprec(333):
        te.predict("duranthon2026.bayes-risk", task="spiked", nu=2, L=3, certified=True)
        assert (ctx.prec, mp.dps) == (333, 77)
        with pytest.raises(NotAvailable):
            te.predict("duranthon2026.information-sum-rule", L=3, certified=True)
        assert (ctx.prec, mp.dps) == (333, 77)


FLOW = {"kappa": 0.5, "nu": 0.5, "theta": 0, "eta": 0, "rho": 0, "lam": 0.1, "gamma": 1, "d": 40, "L": 3, "time": 1}


@pytest.mark.parametrize(
    ("id", "point", "reason"),
    [
        ("marion2025.gradient-flow", FLOW,
         "Flow"),
        ("duranthon2026.information-sum-rule", {"L": 3}, "inside another integral"),
        ("duranthon2026.softplus-risk", {"task": "spiked", "nu": 2, "L": 3, "m_kk": 1}, "exponential weights only"),
    ],
)  # fmt: skip
def test_what_has_no_proof_is_refused_by_name(id, point, reason):
    with pytest.raises(NotAvailable, match=reason):
        te.predict(id, certified=True, **point)


def test_digits_of_a_certificate_are_checked():
    with pytest.raises(BadRequest, match="digits=0 is refused"):
        te.predict("gaussian.erf-mean", t=1, g=1, certified=True, digits=0)


ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]*)` \| (.+) \|$", Path("docs/certificates.md").read_text(), re.MULTILINE)


def test_the_table_names_every_entry():
    assert {id for id, _, _ in ROWS} == {entry.id for entry in te.entries()}


def outcome(id, query):
    try:
        found = te.predict(id, certified=True, **dict(pair.split("=", 1) for pair in query.split()))
    except NotAvailable as error:
        return "refused: " + str(error).removeprefix(f"{id}: ").removeprefix("no certificate: ")
    except NotConverged as error:
        assert "unknown: " in str(error)
        return "unknown"
    return found.certificate.status


QUICK = [row for row in ROWS if row[0].startswith("gaussian.") or row[0] in (
    "marion2025.risk", "liao2026.spiked-resolvent", "duranthon2026.bayes-risk", "duranthon2026.gradient-flow",
    "marion2025.stochastic-pgd", "duranthon2026.information-sum-rule")]  # fmt: skip


@pytest.mark.parametrize(("id", "query", "said"), QUICK)
def test_quick_rows_of_the_table_are_true(id, query, said):
    assert outcome(id, query) == said


@pytest.mark.campaign
@pytest.mark.filterwarnings("ignore::theorem_engine.base.errors.ValidityWarning")
@pytest.mark.parametrize(("id", "query", "said"), [row for row in ROWS if row not in QUICK])
def test_all_rows_of_the_table_are_true(id, query, said):
    assert outcome(id, query) == said
