"""The quantity graph: order, groups, and what cannot be ordered."""

import pytest
import sympy

from theorem_engine.backends import get_backend
from theorem_engine.base.errors import AmbiguousDefinition, MissingDefinition, NotConverged, UnsolvableCycle
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators import GaussianMean
from theorem_engine.language.statement import Partial, Total, Unknown, make_statement
from theorem_engine.planning.plan import Evaluate, Operate, Solve, make_plan


def letters(names):
    return [Letter(name, "test") for name in names.split()]


def solve(given, returned, values, backend="float64"):
    """Values of all outputs of a little statement."""
    statement = make_statement("test", tuple(given), returned)
    plan = make_plan(given, statement.equations, statement.targets(), "test")
    return dict(zip(returned_names(returned), get_backend(backend).compile(plan)(*values), strict=True))


def returned_names(returned):
    return [key for key in returned if isinstance(key, str)]


def test_quantities_are_computed_in_the_order_they_need():
    x, y, z, w = letters("x y z w")
    plan = make_plan([x], {w: z + y, z: y**2, y: x + 1}, [w])
    (step,) = plan.steps
    assert isinstance(step, Evaluate)
    assert get_backend("float64").compile(plan)(2.0) == [12.0]


def test_only_what_the_targets_need_is_planned():
    x, y, z = letters("x y z")
    plan = make_plan([x], {y: x + 1, z: sympy.exp(x)}, [y])
    assert z not in plan.graph


def test_a_missing_definition_names_the_letter_and_its_user():
    x, y, z = letters("x y z")
    with pytest.raises(MissingDefinition, match=r"z is neither given nor defined \(used by y\)"):
        make_plan([x], {y: x + z}, [y])


def test_a_letter_both_given_and_defined_is_ambiguous():
    x, y = letters("x y")
    with pytest.raises(AmbiguousDefinition, match="x is given by the user and defined"):
        make_statement("test", (x,), {x: y, "out": x})


def test_a_cycle_without_a_method_is_reported():
    x, y, z = letters("x y z")
    with pytest.raises(UnsolvableCycle, match="y, z depend on each other"):
        make_plan([x], {y: sympy.cos(z) + x, z: sympy.sin(y)}, [y])


def test_a_cycle_beside_the_unknown_is_reported():
    x, y, z, w = letters("x y z w")
    with pytest.raises(UnsolvableCycle, match="depend on each other"):
        make_plan([x], {y: Unknown(sympy.cos(y) * z, start=1), z: w + y, w: z * x}, [y])


def test_a_linear_cycle_needs_no_method():
    x, y, z = letters("x y z")
    values = solve([x], {y: z / 2 + x, z: y / 3, "y": y, "z": z}, [5.0])
    assert values["y"] == pytest.approx(6.0)
    assert values["z"] == pytest.approx(2.0)


def test_a_self_consistent_letter_is_solved_where_the_graph_finds_it():
    x, y = letters("x y")
    statement = make_statement("test", (x,), {y: Unknown(sympy.cos(y) * x, start=x), "y": y})
    plan = make_plan([x], statement.equations, statement.targets())
    assert any(isinstance(step, Solve) and not step.is_linear for step in plan.steps)
    assert float(get_backend("float64").compile(plan)(1.0)[0]) == pytest.approx(0.7390851332151607, rel=1e-14)


def test_a_group_is_solved_at_any_precision():
    from mpmath import mp

    x, y = letters("x y")
    with mp.workdps(40):
        value = solve([x], {y: Unknown(sympy.cos(y) * x, start=x), "y": y}, [mp.one], "multiprecision")["y"]
        assert abs(mp.cos(value) - value) < mp.mpf(10) ** -38


def test_a_group_whose_equations_hold_operators_is_solved():
    """The mean-field magnet m = E tanh(beta (m + sigma G)): operator inside the cycle."""
    beta, m, g = letters("beta m g")
    magnet = {m: Unknown(GaussianMean(sympy.tanh(beta * (m + g / 2)), g), start=1, positive=True), "m": m}
    value = float(solve([beta], magnet, [2.0])["m"])
    assert 0.5 < value < 1
    inside = get_backend("float64").function([beta, m], [GaussianMean(sympy.tanh(beta * (m + g / 2)), g)])
    assert float(inside(2.0, value)[0]) == pytest.approx(value, rel=1e-13)


def test_a_group_that_does_not_converge_raises_with_its_residual():
    x, y = letters("x y")
    with pytest.raises(NotConverged, match=r"the group y did not converge .*residual"):
        solve([x], {y: Unknown(y + x + y**2, start=1), "y": y}, [1.0])


def test_several_starts_reach_several_branches():
    """y = y^3 + x has three fixed points at x = 0; each start finds its own."""
    x, y = letters("x y")
    for start, wanted in ((-2, -1.0), (sympy.Rational(1, 10), 0.0), (2, 1.0)):
        value = float(solve([x], {y: Unknown(y**3 + x, start=start), "y": y}, [0.0])["y"])
        assert value == pytest.approx(wanted, abs=1e-9)


def test_a_failed_first_branch_falls_through_to_the_next():
    x, y = letters("x y")
    # from zero the logarithm has no value, from two it has
    value = float(solve([x], {y: Unknown(1 + sympy.log(y) * x, start=(-1, 2)), "y": y}, [0.5])["y"])
    assert value == pytest.approx(1.0, rel=1e-9)


def test_total_derivatives_follow_definitions():
    x, y = letters("x y")
    values = solve([x], {y: sympy.sin(x), "out": y**2 * x, "slope": Total("out", x)}, [0.7])
    import math

    assert values["slope"] == pytest.approx(math.sin(0.7) ** 2 + 2 * 0.7 * math.sin(0.7) * math.cos(0.7), rel=1e-14)


def test_total_derivatives_pass_through_self_consistent_groups():
    """y = x cos y: the implicit function theorem gives y' = cos y / (1 + x sin y), and again for y''."""
    import math

    x, y = letters("x y")
    equations = {y: Unknown(sympy.cos(y) * x, start=x), "y": y, "d": Total(y, x), "dd": Total(Total(y, x), x)}
    values = {name: float(v) for name, v in solve([x], equations, [1.0]).items()}
    u = values["y"]
    assert values["d"] == pytest.approx(math.cos(u) / (1 + math.sin(u)), rel=1e-12)
    step = 1e-4
    up, down = (float(solve([x], equations, [1.0 + s])["d"]) for s in (step, -step))
    assert values["dd"] == pytest.approx((up - down) / (2 * step), rel=1e-6)


def test_operators_over_the_same_variable_are_one_bundle():
    x, g, y, z = letters("x g y z")
    plan = make_plan([x], {y: GaussianMean(sympy.tanh(x + g), g), z: GaussianMean(sympy.tanh(x + g) ** 2, g)}, [y, z])
    (bundle,) = [step for step in plan.steps if isinstance(step, Operate)]
    assert len(bundle.operators) == 2


def test_a_float_in_an_equation_is_refused():
    from theorem_engine.base.errors import DeclarationError

    (x,) = letters("x")
    with pytest.raises(DeclarationError, match=r"binary number 0\.1"):
        make_statement("test", (x,), {"out": x * 0.1})
    assert make_statement("test", (x,), {"out": x, Partial("out", x): 1}).partials


def test_the_plan_does_not_depend_on_hashing():
    """Two builds of the same equations give the same steps."""
    x, *rest = letters("x a b c d e f")
    equations = {s: sum(rest[:i], x) ** 2 for i, s in enumerate(rest)}
    first, second = (make_plan([x], dict(reversed(equations.items())), rest) for _ in range(2))
    assert [s.equations for s in first.steps] == [s.equations for s in second.steps]
