"""Precision is local to a call: calls disturb neither each other nor what the user has set."""

import multiprocessing
import threading

import pytest
from flint import ctx
from mpmath import mp

import theorem_engine as te
from theorem_engine.backends.multiprecision import integral
from theorem_engine.base.errors import TheoremEngineError

POINT = {"t": 1, "g": "0.5"}
CALLS = [{"digits": 20}, {"digits": 60}, {}, {"digits": 20, "certified": True}, {"digits": 50, "certified": True}]


def answer(how):
    """All outputs of one way of asking, to the last bit."""
    found = te.predict("gaussian.erf-square", **POINT, **how)
    return {name: getattr(value, "_mpf_", value) for name, value in found.outputs.items()}


@pytest.fixture
def settings():
    """Settings of a user's own; they are the same at the end."""
    old = mp.dps, ctx.prec
    mp.dps, ctx.prec = 33, 111
    yield
    try:
        assert (mp.dps, ctx.prec) == (33, 111)
    finally:
        mp.dps, ctx.prec = old


def test_calls_of_different_digits_do_not_disturb_each_other(settings):
    first = [answer(how) for how in CALLS]
    assert [answer(how) for how in reversed(CALLS)] == first[::-1]
    with mp.workdps(7), ctx.workprec(400):
        assert [answer(how) for how in CALLS] == first
    assert (mp.dps, ctx.prec) == (33, 111)


@pytest.mark.parametrize("how", [how for how in CALLS if how])
def test_a_failure_inside_a_call_leaves_the_settings(settings, monkeypatch, how):
    """Whatever is raised in the middle of an evaluation, at its own precision."""
    before = answer(how)

    def fails(*arguments):
        assert (mp.dps, ctx.prec) != (33, 111)
        raise TheoremEngineError("in the middle")

    with monkeypatch.context() as patched:
        patched.setattr(integral, "integrate_panels", fails)
        patched.setattr("theorem_engine.backends.balls.integral.enclose_relatively", fails)
        with pytest.raises(TheoremEngineError, match="in the middle"):
            te.predict("gaussian.erf-square", **POINT, **how)
    assert (mp.dps, ctx.prec) == (33, 111)
    assert answer(how) == before


def test_processes_side_by_side_give_the_same_digits(settings):
    alone = [answer(how) for how in CALLS]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(answer, CALLS, chunksize=1) == alone


def test_threads_that_ask_for_different_digits_wait_for_each_other(settings):
    alone = [answer(how) for how in CALLS]
    found = [[], [], []]

    def work(mine, turn):
        for _ in range(4):
            for how in CALLS[turn:] + CALLS[:turn]:
                mine.append((CALLS.index(how), answer(how), str(te.predict("gaussian.erf-square", **POINT, **how))))

    threads = [threading.Thread(target=work, args=(mine, turn)) for turn, mine in enumerate(found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (mp.dps, ctx.prec) == (33, 111)
    texts = [str(te.predict("gaussian.erf-square", **POINT, **how)) for how in CALLS]
    for mine in found:
        assert len(mine) == 4 * len(CALLS)
        assert all(value == alone[i] and text == texts[i] for i, value, text in mine)


def test_a_child_of_a_thread_at_work_does_not_wait_for_it(settings):
    """A process that is made while another thread computes has no such thread."""
    alone, stop = answer(CALLS[1]), threading.Event()

    def work():
        while not stop.is_set():
            answer(CALLS[1])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(answer, [CALLS[1]] * 6, chunksize=1).get(timeout=60)[:1] == [alone]
    finally:
        stop.set()
        thread.join()
