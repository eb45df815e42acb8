"""Pictures of the book: layered graphs, curves with gaps, the state of evidence."""

import json
import math
import re
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from theorem_engine.language.catalogue import find_entry
from theorem_engine.showing.book import curve
from theorem_engine.showing.book import evidence as ledger
from theorem_engine.showing.book.curve import curve_of, main_letter, places_of
from theorem_engine.showing.book.evidence import Evidence, strong
from theorem_engine.showing.book.layers import HEIGHT, WIDEST, laid_out
from theorem_engine.showing.book.plan_graph import plan_html
from theorem_engine.showing.book.reliability import reliability_html
from theorem_engine.showing.book.svg_graph import Node, graph_svg
from theorem_engine.showing.book.svg_plot import Plot, hidden_error, plot_svg, round_numbers


def test_boxes_of_a_graph_do_not_overlap_and_arrows_run_down():
    names = [f"n{k}" for k in range(40)]
    edges = [(names[k // 3], names[k]) for k in range(1, 40)]
    layout = laid_out(dict.fromkeys(names, 90.0), edges)
    boxes = list(layout.boxes.values())
    for i, a in enumerate(boxes):
        assert 0 <= a.x - a.width / 2 <= a.x + a.width / 2 <= layout.width
        assert HEIGHT / 2 <= a.y <= layout.height - HEIGHT / 2
        for b in boxes[i + 1 :]:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= HEIGHT
    assert all(layout.boxes[a].y < layout.boxes[b].y for a, b in edges)
    assert layout.width <= WIDEST + 120


def test_quantities_that_depend_on_each_other_share_a_row():
    layout = laid_out(dict.fromkeys("abc", 50.0), [("a", "b"), ("b", "c"), ("c", "b")])
    assert layout.boxes["b"].y == layout.boxes["c"].y > layout.boxes["a"].y


def test_labels_of_a_graph_are_text_and_never_markup():
    svg = graph_svg([Node("a", "<b> & c", link="x.html?a&b", hint='"q"')], [], "a < b")
    root = ET.fromstring(svg)
    assert "<b> & c" in "".join(root.itertext())


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.7, 12), (1e-9, 3e-9), (250, 90_000)])
def test_ticks_are_few_round_and_inside(low, high):
    ticks = round_numbers(low, high)
    step = ticks[1] - ticks[0]
    assert 2 <= len(ticks) <= 7
    assert low - 1e-9 * step <= ticks[0]
    assert ticks[-1] <= high + 1e-9 * step
    assert f"{step:.3e}"[:5] in ("1.000", "2.000", "5.000")


def test_a_gap_breaks_the_curve_and_an_unknown_error_has_no_band():
    x = [0.0, 1.0, 2.0, 3.0, 4.0]
    svg = plot_svg(Plot(x, [1.0, 2.0, math.nan, 2.0, 1.0], [0.2, 0.2, 0.0, math.inf, 0.2], "x", "y", "t"))
    assert svg.count('class="curve"') == 2
    assert svg.count('class="band"') == 1
    assert "nan" not in svg
    assert "inf" not in svg
    ET.fromstring(svg)


def test_the_curve_passes_where_its_values_are():
    x, y = [0.0, 0.5, 1.0], [0.0, 1.0, 0.0]
    svg = plot_svg(Plot(x, y, [0.0] * 3, "x", "y", "t"))
    path = re.search(r'class="curve" d="M([^"]+)"', svg)[1]
    points = [tuple(map(float, pair.split())) for pair in path.split("L")]
    assert points[1][0] == pytest.approx((points[0][0] + points[2][0]) / 2, abs=0.1)
    assert points[0][1] == points[2][1] > points[1][1]


@pytest.mark.parametrize("values", [(0.0, 1.0, 2.0), (1e-4, 1.0, 50.0)])
def test_a_dot_hides_the_bar_of_an_error_that_is_said_to_be_hidden(values):
    """On linear and on logarithmic scales; half as much again would be seen."""
    radius = 3.2
    for share, is_hidden in ((1.0, True), (1.5, False)):
        error = share * hidden_error(values, 1.0)
        plot = Plot((0.0, 1.0, 2.0), values, (0.0,) * 3, "x", "y", "t", points=((1.0, 1.0, error),))
        bar = re.search(r'class="bar" d="M[\d.]+ ([\d.]+)V([\d.]+)"', plot_svg(plot))
        top = re.search(r'class="point" cx="[\d.]+" cy="([\d.]+)"', plot_svg(plot))
        reach = float(top[1]) - min(float(bar[1]), float(bar[2]))
        # positions are written to a tenth
        assert (reach <= radius + 0.2) == is_hidden
    assert hidden_error((math.nan,), 1.0) == hidden_error(values, math.nan) == 0


def test_more_is_drawn_only_where_it_can_be_seen(monkeypatch):
    """A first look is enough where its bar is hidden; elsewhere the time follows from what is missing."""
    asked = []

    def drawn(id, output, *, seconds, **point):
        asked.append(seconds)
        spread = float(point["spread"])
        row = SimpleNamespace(output=output, value=1.0, error=spread, deterministic=False, simulator="s", sizes={})
        return SimpleNamespace(rows=[row])

    monkeypatch.setattr(curve, "simulate_output", drawn)
    entry, values = find_entry("gaussian.erf-mean"), [0.0, 1.0, 2.0]
    hidden = hidden_error(values, 1.0)
    for spread, times in ((0.4 * hidden, 1), (hidden, 2), (50 * hidden, 2)):
        asked.clear()
        curve._drawn(entry, {"spread": spread}, "value", values)
        assert len(asked) == times
        assert sum(asked) <= 1.5 * curve.SIMULATED_SECONDS
    assert asked[-1] == curve.SIMULATED_SECONDS


def test_the_range_of_a_curve_stays_inside_the_domain():
    entry = find_entry("liao2026.ridge-error")
    letter = main_letter(entry, {"c": 1, "snr": 1, "gamma": 1})
    assert letter.name == "c"
    places, is_logarithmic = places_of(letter, 1, 17)
    assert is_logarithmic
    assert len(places) == 17
    for text in places:
        letter.domain.read(text)


def test_a_costly_entry_says_why_no_curve_is_drawn():
    assert "many seconds" in curve_of(find_entry("duranthon2026.hard-phase"))


def test_a_large_plan_is_drawn_application_by_application():
    html = plan_html(find_entry("marion2025.fixed-points"))
    assert "drawn as one box" in html
    assert html.count('class="node') < 30
    small = plan_html(find_entry("gaussian.erf-mean"))
    assert small.count('class="node') == 5


def test_strong_is_what_rests_on_strong_entries_only():
    def state(id, border, fill, *needs):
        return Evidence(id, border, fill, needs=needs)

    known = {
        e.id: e
        for e in (
            state("a", "certified", "agrees"),
            state("b", "certified", "agrees", "a"),
            state("c", "certified", "cannot tell"),
            state("d", "certified", "agrees", "a", "c"),
            state("e", "evaluated", "agrees", "a"),
            state("f", "certified", "agrees", "nowhere"),
        )
    }
    assert strong(known) == {"a", "b"}


class Found(SimpleNamespace):
    def __str__(self):
        return self.text


def kept_ledger(monkeypatch, found, checks=()):
    """A ledger that says this about every entry, in the place of the one that campaigns write."""
    module = SimpleNamespace(
        evidence_of=lambda entry: found,
        ledger_folder=lambda: None,
        read_paper=lambda paper, folder: {"gaussian.erf-mean": {"checks": list(checks)}},
    )
    monkeypatch.setitem(sys.modules, ledger.LEDGER, module)


CHECK = {
    "point": {"t": "1", "g": "0.5"},
    "rows": [{"output": "value", "simulator": "s.x", "z": -0.744, "sees": 0.0026, "samples": 9, "verdict": "agrees"}],
}


def test_without_a_ledger_nothing_is_claimed(monkeypatch):
    # None in the list of modules is a module that cannot be found
    monkeypatch.setitem(sys.modules, ledger.LEDGER, None)
    entry = find_entry("gaussian.erf-mean")
    assert ledger.ledger_of(entry) is None
    found = ledger.evidence_of(entry)
    assert (found.border, found.fill, found.checks) == ("certified", "unchecked", ())
    assert "No check of these equations is on record" in reliability_html(entry, found)


def test_what_is_on_record_is_shown_with_its_points(monkeypatch):
    said = Found(date="2026-01-02", verdict="agrees", text="agrees at 1 of 1 points (2026-01-02, seed 0)")
    kept_ledger(monkeypatch, said, [CHECK])
    entry = find_entry("gaussian.erf-mean")
    found = ledger.from_json(json.loads(json.dumps(ledger.evidence_of(entry).to_json())))
    html = reliability_html(entry, found)
    assert found.fill == "agrees"
    assert "Agrees at 1 of 1 points (2026-01-02, seed 0)." in html
    assert all(text in html for text in ("t = 1, g = 0.5", "-0.74", "0.26%", "s.x"))


def test_a_record_of_other_equations_counts_for_nothing(monkeypatch):
    said = Found(
        date="2026-01-02", verdict="unchecked", text="unchecked: its equations are not those that were checked"
    )
    kept_ledger(monkeypatch, said, [CHECK])
    entry = find_entry("gaussian.erf-mean")
    found = ledger.evidence_of(entry)
    assert (found.fill, found.checks) == ("unchecked", ())
    assert "not those that were checked" in reliability_html(entry, found)
