"""Fuzzed queries over all entries: only documented errors, no NaN, nothing outside its range, no memory without bound.

``make test`` runs two thousand of them, the campaign twenty thousand; ``python -m tests.registry.fuzz`` runs any number
and groups what it finds by cause.
"""

import math
from types import SimpleNamespace

import pytest

import theorem_engine as te
from tests.registry import fuzz
from tests.registry.fuzz_queries import Query, make_query, shares
from tests.registry.fuzz_worker import Report, Worker, _judge_error, _judge_outputs, numbers, within
from theorem_engine.base.errors import NotConverged
from theorem_engine.language.domains import NONNEGATIVE, Interval

SEED = 20260117
COUNT = 2000
#: A query that takes longer than so many seconds of the processor, once its equations are compiled, is left to the
#: campaign.
SECONDS = 0.6
#: Valid points that the queries of an entry start from: one, so that few statements are compiled.
BASES = 1
SHARES = shares(te.entries(), COUNT)


@pytest.fixture(scope="module")
def worker():
    worker = Worker(SECONDS)
    yield worker
    worker.close()


@pytest.mark.parametrize("entry", te.entries(), ids=str)
def test_hostile_values_meet_documented_errors(entry, worker):
    _expect_none_failed([worker.judge(make_query(entry.id, SEED, k, BASES)) for k in range(SHARES[entry.id])])


@pytest.mark.campaign
@pytest.mark.timeout(4 * 3600)
def test_a_campaign_of_hostile_values():
    _expect_none_failed(fuzz.run(20000, seed=0, jobs=2))


def _expect_none_failed(reports):
    failed = [(report.call, *failure) for report in reports for failure in report.failures]
    if failed:
        listed = "\n".join(f"{call}\n    {cause}: {' '.join(detail.split())[:300]}" for call, cause, detail in failed)
        pytest.fail(f"{len({call for call, *_ in failed})} of {len(reports)} queries:\n{listed}", pytrace=False)


def test_the_shares_add_up():
    """Every entry is met, and the counts are those promised."""
    assert min(SHARES.values()) >= 1
    assert abs(sum(SHARES.values()) - COUNT) <= len(SHARES)


def test_a_query_is_the_same_every_time():
    for index in range(20):
        query = make_query("liao2026.interpolation-error", 3, index)
        assert query == make_query("liao2026.interpolation-error", 3, index)
        assert str(query).startswith('te.predict("liao2026.interpolation-error"')
        assert query.moved


def test_every_query_has_a_point_to_start_from():
    """Points at which an entry has no statement are drawn again: kinks have no gradient flow."""
    for seed in range(20):
        assert make_query("duranthon2026.gradient-flow", seed, 0).parameters


def test_the_judge_reads_brackets():
    """What a range shows is what it admits."""
    assert within(0.0, NONNEGATIVE)
    assert not within(-1e-300, NONNEGATIVE)
    assert not within(math.inf, NONNEGATIVE)
    assert within(math.inf, Interval(0, math.inf, right_open=False))
    assert not within(0, Interval(0, 1, left_open=True))
    assert within(1.0, Interval(0, 1))


def test_the_judge_looks_into_every_shape():
    found = list(numbers({"a": [1.0, {"b": 2 + 3j}], "c": True, "d": "nan", "e": (math.nan,)}))
    assert found[:3] == [1.0, 2.0, 3.0]
    assert len(found) == 4
    assert math.isnan(found[3])


@pytest.mark.parametrize(
    ("value", "declared", "cause"),
    [
        (math.nan, None, "is NaN"),
        (-2.2e-16, NONNEGATIVE, "outside [0, oo)"),
        (math.inf, NONNEGATIVE, "outside [0, oo)"),
        (math.inf, None, "is infinite"),
        ([0.5, 1.5], Interval(0, 1), "outside [0, 1]"),
    ],
)
def test_the_judge_notes_bad_outputs(value, declared, cause):
    entry = SimpleNamespace(outputs={"risk": SimpleNamespace(range=declared)})
    report = Report("te.predict(...)", "an.entry", ())
    _judge_outputs(SimpleNamespace(outputs={"risk": value}, entry=entry), report)
    assert [cause in found for found, _ in report.failures] == [True]


def test_the_judge_sees_mistakes_of_programs_behind_the_guard():
    """Numbers may overflow in a library; a missing attribute is a mistake, and so is a module that is half imported."""
    query = Query("an.entry", (), ())
    for told, is_mistake in (("AttributeError: module 'x' has no y", True), ("OverflowError: too large", False)):
        report = Report("te.predict(...)", "an.entry", ())
        _judge_error(NotConverged(f"an.entry: the evaluation failed ({told})"), report, "value", query)
        assert [cause.startswith("AttributeError behind a guard") for cause, _ in report.failures] == [
            True
        ] * is_mistake


def test_a_process_stopped_inside_an_import_is_not_used_again(worker, tmp_path):
    """What it had begun to import would be missing in all queries after this one."""
    (tmp_path / "endless.py").write_text("while True: pass\n")
    source = f"__import__('sys').path.insert(0, {str(tmp_path)!r}) or __import__('endless')"
    before = worker._process.pid
    worker.judge(Query("gaussian.erf-mean", (("t", "0"), ("g", "1")), ("t",)))
    report = worker.judge(Query("gaussian.erf-mean", (("t", source), ("g", "1")), ("t",)), seconds=0.5)
    assert (report.status, report.is_torn) == ("slow", True)
    assert worker._process.pid != before


def test_a_campaign_goes_on_where_it_was_stopped():
    """The queries left out are the first ones, in the order in which the entries take turns."""
    chosen = [te.entry("gaussian.erf-mean"), te.entry("gaussian.erf-miss")]
    whole = [report.call for report in fuzz.run(6, 1, chosen=chosen)]
    assert [report.call for report in fuzz.run(6, 1, chosen=chosen, after=4)] == whole[4:]


def test_the_worker_survives_what_kills_it(worker):
    """A process that ends is replaced, and its query has failed."""
    deadly = Query("gaussian.erf-mean", (("t", "__import__('os')._exit(7)"), ("g", "1")), ("t",))
    assert worker.judge(deadly).failures == [("process: ended with code 7", "")]
    harmless = Query("gaussian.erf-mean", (("t", "0"), ("g", "1")), ("t",))
    assert worker.judge(harmless).status == "answered"


def test_the_worker_limits_memory_and_time(worker):
    huge = Query("gaussian.erf-mean", (("t", "np.ones(2**29)"), ("g", "1")), ("t",))
    (cause, _), *_ = worker.judge(huge).failures
    assert cause.startswith("more than 2 GB asked for")
    endless = Query("gaussian.erf-mean", (("t", "sum(1 for _ in iter(int, 1))"), ("g", "1")), ("t",))
    assert worker.judge(endless).status == "slow"
