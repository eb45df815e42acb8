"""Figures of duranthon2026 on small settings; what they show is tested with the entries."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.base.errors import BadRequest


@pytest.mark.campaign
def test_what_should_die_out_along_the_flow_does():
    drawn = te.figure("duranthon2026.fig-4", runs=2, time="30", jobs=1)
    assert drawn.data.sizes == {"run": 2, "nu": 3}
    for name in ("m_kv", "m_vk", "R_kk", "R_kv", "R_vv"):
        assert np.abs(drawn.data[name]).max() < 1e-6, name
    weak = drawn.data.isel(nu=0)
    assert np.allclose(weak["m_kk"], np.sqrt(0.5), atol=2e-3)
    assert len(drawn.plot().axes) == 6


@pytest.mark.campaign
def test_risks_rise_with_the_length_and_softmax_is_lowest():
    drawn = te.figure("duranthon2026.length", nu="2.5", longest=30)
    for task in ("spiked", "max"):
        assert drawn.data[f"{task}_L"].values.tolist() == [1, 3, 10, 30]
        risks = {name.removeprefix(f"{task}_"): drawn.data[name].values for name in drawn.data if name.startswith(task)}
        assert all(np.all(np.diff(values) > 0) for values in risks.values())
        assert all(np.all(values >= risks["softmax"] - 1e-12) for values in risks.values())
    drawn.plot()


@pytest.mark.parametrize(
    ("figure", "options"),
    [("fig-2", {"count": 1}), ("fig-4", {"runs": 0}), ("fig-4", {"seed": -1}), ("fig-5", {"L": 0}),
     ("length", {"longest": 0}), ("fig-3", {"size": 1}), ("fig-3", {"runs": 1}), ("hard-phase", {"points": 1})],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(figure, options):
    with pytest.raises(BadRequest):
        te.figure(f"duranthon2026.{figure}", **options)


def test_trainings_of_figure_3_are_simulations_anyone_can_ask_for():
    from theorem_engine.registry.duranthon2026.finite_sample_figures import trained

    point = {"task": "max", "nu": "inf", "activation": "linear", "alpha": 2, "L": 3, "r_k": 0.8, "r_v": 1.7}
    words = {"size": 40, "samples": 3, "seed": 5}
    asked = te.simulate("duranthon2026.erm-risk", **point, **words)
    assert trained({**point, **words, "tokens_type": "float64"}) == [asked["risk"], asked.errors["risk"]]
    assert asked.errors["risk"] > 0
