"""Branches of periodic orbits and their bifurcations, against closed forms."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint
from stiction.studies.cycles.bifurcations import change_of_order, same_order
from stiction.studies.cycles.branch import _HalfBranch

METHOD = st.switching.EventDriven(rtol=1e-12)


def forced(side):
    return lambda t, x, p: [x[1], -x[0] + np.cos(p.r * t) - side * p.f]


DEN_HARTOG = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=forced(1.0),
    f_minus=forced(-1.0),
    x0=[0.5, 0.2],
    parameters={"r": 0.7, "f": 0.3},
)


def boundary_of_stops(r):
    """Return f at which the block begins to stop: X - cos phi = f at the turning point.

    With V = 1/(1 - r^2) and U = sin(pi/r) / (r (1 + cos(pi/r))) Den Hartog's motion has
    X = V cos phi and V sin phi = -f U.
    """
    gain = 1.0 / (1.0 - r * r)
    turned = np.sin(np.pi / r) / (r * (1.0 + np.cos(np.pi / r)))
    return 1.0 / np.hypot(turned / gain, 1.0 / (gain - 1.0))


@pytest.mark.parametrize("r", [0.7, 1.3])
def test_boundary_of_stops(r):
    bound = boundary_of_stops(r)
    cycle = st.find_cycle(
        DEN_HARTOG.with_parameters(r=r, f=bound - 0.02),
        (1.0, 0.5),
        METHOD,
        period=lambda system: 2.0 * np.pi / system.parameter("p.r"),
        settle=40.0,
    )
    branch = st.continue_cycle(cycle, "p.f", (bound - 0.03, bound + 0.03), step=0.03)
    # both turning points of the symmetric orbit change at once
    assert {one.kind for one in branch.bifurcations} == {"crossing-sliding"}
    for one in branch.bifurcations:
        assert one.value == pytest.approx(bound, abs=1e-10)
    assert branch.ends == ("p.f reached its limit", "p.f reached its limit")
    assert len(branch.cycles[0].order) == 2
    assert len(branch.cycles[-1].order) == 4
    # an orbit that stops forgets a direction
    assert branch.cycles[-1].multipliers[1] == 0.0
    assert (np.diff(branch.values) > 0.0).all()


def test_the_frequency_of_the_force():
    cycle = st.find_cycle(
        DEN_HARTOG.with_parameters(r=1.9, f=0.3),
        (0.3, 0.5),
        METHOD,
        period=lambda system: 2.0 * np.pi / system.parameter("p.r"),
        settle=40.0,
    )
    branch = st.continue_cycle(cycle, "p.r", (1.85, 2.1))
    assert branch.periods == pytest.approx(2.0 * np.pi / branch.values, rel=1e-14)
    # at r = 2 both multipliers coincide, and nothing happens
    assert branch.bifurcations == ()
    for orbit, r in zip(branch.cycles, branch.values, strict=True):
        turned = np.sin(np.pi / r) / (r * (1.0 + np.cos(np.pi / r)))
        amplitude = np.sqrt((1.0 / (1.0 - r * r)) ** 2 - (0.3 * turned) ** 2)
        assert np.abs(orbit.events[0].state[0]) == pytest.approx(amplitude, abs=1e-11)


@pytest.mark.parametrize("nodes", [4, 12])
def test_a_resonance_within_the_usual_number_of_orbits(nodes):
    """Steps are fractions of the present amplitude, whatever the number of nodes."""
    cycle = st.find_cycle(
        DEN_HARTOG.with_parameters(r=1.6, f=0.05),
        (1.0, 0.5),
        METHOD,
        period=lambda system: 2.0 * np.pi / system.parameter("p.r"),
        settle=60.0,
        nodes=nodes,
    )
    branch = st.continue_cycle(cycle, "p.r", (1.02, 3.0))
    assert branch.ends == ("p.r reached its limit",) * 2
    assert np.abs(branch.cycles[0].nodes).max() > 20.0


def radial(x, p):
    growth = p.k * (p.l - (x[0] ** 2 + x[1] ** 2 - 1.0) ** 2)
    return [growth * x[0] - x[1], growth * x[1] + x[0]]


def test_a_fold_with_large_multipliers():
    """Circles r' = k r (l - (r^2 - 1)^2): two for l > 0, which meet at l = 0 with r = 1."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=radial,
        f_minus=radial,
        x0=[1.0, 0.2],
        parameters={"k": 5.0, "l": 0.02},
    )
    cycle = st.find_cycle(flow, (1.05, 0.2), METHOD)
    branch = st.continue_cycle(cycle, "p.l", (-0.1, 0.021), step=0.1)
    assert [one.kind for one in branch.bifurcations] == ["fold"]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-9)
    assert branch.bifurcations[0].cycle.multipliers == pytest.approx([1.0], abs=1e-4)
    radii = [np.hypot(*orbit.state) for orbit in (branch.cycles[0], branch.cycles[-1])]
    expected = np.sqrt(1.0 + np.array([1.0, -1.0]) * np.sqrt(0.021))
    assert sorted(radii) == pytest.approx(sorted(expected), abs=1e-9)
    # d r'/dr = -4 k r^2 (r^2 - 1)
    for orbit in branch.cycles:
        square = float(orbit.state @ orbit.state)
        rate = -4.0 * 5.0 * square * (square - 1.0)
        exact = np.exp(2.0 * np.pi * rate)
        assert orbit.multipliers == pytest.approx([exact], rel=1e-6)
    assert max(abs(orbit.multipliers[0]) for orbit in branch.cycles) > 1e3


def circle(x, s, p):
    growth = p.l - x[0] ** 2 - x[1] ** 2
    push = 3.0 * (1.0 + s[0]) / 2.0
    return [growth * x[0] - x[1] - push, growth * x[1] + x[0]]


def test_grazing_sliding():
    """A circle of radius sqrt(l) touches x = 1, beyond which the field points back."""
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[0] - 1.0, lambda x: x[0]],
        f=circle,
        x0=[0.9, 0.1],
        parameters={"l": 0.9},
    )
    cycle = st.find_cycle(flow, (0.9, 0.1), METHOD)
    assert cycle.period == pytest.approx(2.0 * np.pi, abs=1e-10)
    assert cycle.multipliers == pytest.approx([np.exp(-4.0 * np.pi * 0.9)], abs=1e-10)
    branch = st.continue_cycle(cycle, "p.l", (0.85, 1.1))
    assert [one.kind for one in branch.bifurcations] == ["grazing-sliding"]
    assert branch.bifurcations[0].value == pytest.approx(1.0, abs=1e-9)
    assert branch.cycles[-1].multipliers.tolist() == [0.0]


def turning(t, x, p):
    """Return x' where x = R(t/2) y + ..., y1' = l y1, y2' = -y2: multipliers -e^(2 pi l)."""
    c, s = np.cos(0.5 * t), np.sin(0.5 * t)
    a, b, d = p.l * c * c - s * s, (p.l + 1.0) * c * s, p.l * s * s - c * c
    return [
        a * x[0] + (b - 0.5) * x[1] + np.cos(t),
        (b + 0.5) * x[0] + d * x[1] + 0.3 * np.sin(t),
    ]


def spiral(t, x, p):
    return [p.l * x[0] - 0.3 * x[1] + np.cos(t), 0.3 * x[0] + p.l * x[1]]


@pytest.mark.parametrize(("field", "kind"), [(turning, "flip"), (spiral, "Neimark-Sacker")])
def test_multipliers_that_leave_the_unit_circle(field, kind):
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0,
        f_plus=field,
        f_minus=field,
        x0=[0.5, 0.2],
        parameters={"l": -0.1},
    )
    cycle = st.find_cycle(flow, (0.5, 0.2), METHOD, period=2.0 * np.pi)
    assert np.abs(cycle.multipliers[0]) == pytest.approx(np.exp(-0.2 * np.pi), abs=1e-10)
    branch = st.continue_cycle(cycle, "p.l", (-0.12, 0.07), step=0.5)
    assert [one.kind for one in branch.bifurcations] == [kind]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-10)
    assert branch.stable.tolist() == (branch.values < 0.0).tolist()


def test_a_refused_parameter_ends_the_branch():
    cycle = st.find_cycle(st.switching.RelayFeedback(), (1.0, 0.2, 0.1), METHOD)
    branch = st.continue_cycle(cycle, "gain", (-1.0, 1.2), step=0.2)
    assert 0.0 < branch.values.min() < 1e-3
    assert "RelayFeedback.gain" in branch.ends[0]
    with pytest.raises(st.ModelError, match="span"):
        st.continue_cycle(cycle, "gain", (2.0, 3.0))
    with pytest.raises(st.ModelError, match="did you mean"):
        st.continue_cycle(cycle, "gains", (0.0, 3.0))


def shrinking(x, p):
    growth = p.l - x[0] ** 2 - x[1] ** 2
    return [growth * x[0] - x[1], growth * x[1] + x[0]]


@pytest.mark.parametrize(("step", "surface"), [(0.5, 0.0), (0.1, 0.0), (0.1, -0.25)])
def test_a_branch_ends_at_a_hopf_bifurcation(step, surface):
    """The small orbits do not meet the last of the surfaces."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] - surface,
        f_plus=shrinking,
        f_minus=shrinking,
        x0=[0.3, 0.1],
        parameters={"l": 0.1},
    )
    cycle = st.find_cycle(flow, (0.3, 0.1), METHOD)
    branch = st.continue_cycle(cycle, "p.l", (-0.1, 0.11), step=step)
    # the square of the amplitude is l itself
    values = {one.kind: one.value for one in branch.bifurcations}
    grazing = {"grazing": pytest.approx(surface**2, abs=1e-8)} if surface else {}
    assert values == {"Hopf": pytest.approx(0.0, abs=1e-8), **grazing}
    assert "the orbit shrinks to an equilibrium" in branch.ends
    assert branch.values.min() > 0.0


def test_the_stick_slip_cycle_of_the_wheel():
    """It meets an unstable cycle without stick, which comes from a Hopf bifurcation."""
    wheel = st.WheelOnTurntable()
    cycle = st.find_cycle(wheel, (0.705371, 0.026210, -0.911041), METHOD)
    branch = st.continue_cycle(cycle, "omega0", (-1.02, -0.3), step=0.1, max_orbits=16)
    assert [one.kind for one in branch.bifurcations] == ["grazing-sliding", "Hopf"]
    assert branch.bifurcations[0].value == pytest.approx(-0.9988748916, abs=1e-9)
    # beyond the grazing the orbit is unstable
    assert branch.stable.sum() == (branch.values <= -1.0).sum()

    def growth(omega0):
        flow = wheel.with_parameter("omega0", omega0)
        rest = fsolve(lambda x: flow.field(x, -1.0), (0.71, 0.0, -0.92), xtol=1e-13)
        steps = 1e-5 * np.eye(3)
        rates = [flow.field(rest + one, -1.0) - flow.field(rest - one, -1.0) for one in steps]
        values = np.linalg.eigvals(np.array(rates).T / 2e-5)
        return values[np.abs(values.imag) > 0.1].real.max()

    hopf = brentq(growth, -1.0, -0.999)
    assert branch.bifurcations[1].value == pytest.approx(hopf, abs=1e-6)


def test_orders_are_cyclic():
    assert same_order(("a", "b", "c"), ("c", "a", "b"))
    assert not same_order(("a", "b", "c"), ("c", "b", "a"))
    assert same_order((), ())


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (("slide 1: - to slide", "leave 1: slide to -"), "grazing-sliding"),
        (("slide 1: - to slide", "leave 1: slide to +"), "crossing-sliding"),
        (("leave 1: slide to -", "slide 1: - to slide"), "adding-sliding"),
        (("cross 1: + to -", "slide 1: - to slide"), "switching-sliding"),
        (("cross 1: + to -", "cross 1: - to +"), "grazing"),
        (("cross 1: + to -", "cross 2: - to +"), "codimension-2 intersection"),
        (("kink", "cross 2: - to +"), "change of the order of events"),
        (("stick 1", "slip+ 1"), "grazing-sliding"),
    ],
)
def test_kinds_of_changes(labels, kind):
    def orbit(*events):
        return type("Orbit", (), {"events": events, "order": labels, "start": 0.0, "period": 5.0})

    def event(time):
        return type("Event", (), {"time": time, "state": np.zeros(2)})

    assert change_of_order(orbit(), orbit(event(1.0), event(1.001))) == kind


def test_kinds_of_changes_of_a_chain():
    order = ("slip+ 1", "stick 1", "slip- 1", "slip+ 2", "slip- 2")
    times = (0.0, 1.0, 1.001, 2.0, 3.0)
    events = [type("Event", (), {"time": time, "state": np.zeros(2)}) for time in times]
    span = {"start": 0.0, "period": 5.0}
    more = type("Orbit", (), {"events": events, "order": order, **span})
    fewer = type("Orbit", (), {"events": events[:2], "order": order[:2], **span})
    assert change_of_order(fewer, more) == change_of_order(more, fewer) == "crossing-sliding"
    # the events that merge are not the closest pair, which belongs to two contacts
    order = ("stick 1", "slip- 1", "slip- 2", "slip+ 1", "slip+ 2")
    times = (1.0, 1.02, 4.0, 4.005, 7.0)
    events = [type("Event", (), {"time": time, "state": np.zeros(2)}) for time in times]
    more = type("Orbit", (), {"events": events, "order": order, "start": 0.0, "period": 9.0})
    fewer = type("Orbit", (), {"events": events[1:], "order": order[1:], **span})
    assert change_of_order(fewer, more) == change_of_order(more, fewer) == "crossing-sliding"


def driven(side):
    return lambda x, p: [x[1], p.mu * x[1] - x[0] - side * p.f]


DRIVEN = st.PiecewiseSmooth(
    h=lambda x: x[1],
    f_plus=driven(1.0),
    f_minus=driven(-1.0),
    x0=[1.0, 0.0],
    parameters={"mu": 0.5, "f": 0.2},
)


def test_an_orbit_of_friction_and_negative_damping_shrinks_with_friction():
    """Its half turn maps an amplitude A to (A - f) E - f, so that A = f (E + 1) / (E - 1)."""
    omega = np.sqrt(1.0 - 0.25**2)
    growth = np.exp(0.25 * np.pi / omega)
    amplitude = 0.2 * (growth + 1.0) / (growth - 1.0)
    # a component of the guess that is nearly zero says nothing of the time in which it changes
    cycle = st.find_cycle(DRIVEN, (-amplitude, 1e-10), METHOD)
    assert cycle.period == pytest.approx(2.0 * np.pi / omega, rel=1e-11)
    assert cycle.multipliers[0] == pytest.approx(growth**2, rel=1e-9)
    branch = st.continue_cycle(cycle, "p.f", (-0.1, 0.3), step=0.3)
    assert [one.kind for one in branch.bifurcations] == ["Hopf-like"]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-10)
    assert branch.ends == ("the orbit shrinks to an equilibrium", "p.f reached its limit")


def two_zones(damping):
    return lambda x, p: [damping * x[0] - x[1], x[0] - p.a]


def test_an_orbit_without_symmetry_shrinks_to_a_boundary_equilibrium():
    """The flow is homogeneous in the state and a, so that the amplitude is a multiple of |a|."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=two_zones(-1.0),
        f_minus=two_zones(0.6),
        x0=[-1.0, 0.1],
        parameters={"a": -1.0},
    )
    cycle = st.find_cycle(flow, (-1.0, 1.5), METHOD, settle=200.0)
    branch = st.continue_cycle(cycle, "p.a", (-1.1, 1.0), step=0.2)
    assert [one.kind for one in branch.bifurcations] == ["Hopf-like"]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-10)
    assert branch.ends == ("p.a reached its limit", "the orbit shrinks to an equilibrium")


def van_der_pol(side):
    return lambda x, p: [x[1], p.mu * (1.0 - x[0] ** 2) * x[1] - x[0] - 0.2 * side]


@pytest.mark.parametrize("sense", [-1.0, 1.0])
def test_new_nodes_keep_the_direction_of_a_branch(sense):
    """The nodes of two orbits may lie half a turn apart, which is no direction of a branch."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[1],
        f_plus=van_der_pol(1.0),
        f_minus=van_der_pol(-1.0),
        x0=[2.0, 0.5],
        parameters={"mu": 1.0},
    )
    first = st.find_cycle(flow, (2.0, 0.5), METHOD, settle=20.0)
    turned = dataclasses.replace(first, nodes=-first.nodes)
    second = st.find_cycle(flow.with_parameters(mu=1.0 + 1e-3 * sense), turned, METHOD)
    assert np.abs(first.nodes[0] + second.nodes[0]).max() < 0.1
    half = _HalfBranch(first, "p.mu", (0.1, 2.0), 0.05, 10, sense)
    half.cycles.append(second)
    half.place = half._begun(second, None)[1]
    assert half._new_nodes()
    assert half.place.tangent[-1] * sense > 0.0


# half a turn with gain and a cubic loss, then decay: the multiplier passes -1 as the gain grows
DOUBLING = st.PiecewiseSmooth(
    h=lambda t, x: np.sin(t),
    f_plus=lambda t, x, p: [p.a * x[0] - x[1] - x[0] ** 3 + p.b, x[0] + p.a * x[1]],
    f_minus=lambda t, x: [-0.2 * x[0] + 0.02, -0.7 * x[1]],
    x0=[0.1, 0.1],
    parameters={"a": 0.198, "b": 0.05},
)


def test_an_orbit_has_the_shortest_period_before_and_beyond_its_flip():
    turn = 2.0 * np.pi
    cycle = st.find_cycle(DOUBLING, [0.2, 0.0], period=2.0 * turn, nodes=1, settle=130.0)
    assert cycle.period == turn
    assert -1.0 < cycle.multipliers[0].real < -0.98
    beyond = DOUBLING.with_parameters(a=0.21)
    twice = st.find_cycle(beyond, [0.2, 0.0], period=4.0 * turn, nodes=1, settle=130.0)
    assert twice.period == 2.0 * turn


def test_a_force_without_effect_on_the_orbit_counts():
    """x1 repeats after pi and x2 is zero, but the force on runs beside x2 repeats after 2 pi."""

    def field(t, x):
        parametric = (1.0 + 0.3 * np.cos(t)) * x[2]
        return [x[1], np.cos(2.0 * t) - 0.2 * x[1] - 2.0 * x[0], x[3], -0.2 * x[3] - parametric]

    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0, f_plus=field, f_minus=field, x0=[0.1, 1.0, 0.0, 0.0]
    )
    cycle = st.find_cycle(flow, [0.1, 1.0, 0.0, 0.0], period=4.0 * np.pi)
    assert cycle.period == 2.0 * np.pi


@pytest.mark.parametrize(("step", "low"), [(0.3, 0.2), (0.15, 0.15)])
def test_a_branch_of_doubled_period_ends(step, low, tmp_path):
    """It ends at the flip of the single orbit, and does not pass it as a fold onto itself."""
    turn, system = 2.0 * np.pi, DOUBLING.with_parameters(a=0.21)
    doubled = st.find_cycle(system, [0.2, 0.0], period=2.0 * turn, nodes=1, settle=130.0)
    saved = FileCheckpoint(tmp_path / "branch", "doubled", resume=True, every=0.0)
    branch = st.continue_cycle(doubled, "p.a", (low, 0.2101), step=step, checkpoint=saved)
    assert branch.ends[0] == "the orbit meets the flip of the orbit of half its period"
    assert branch.ends[1] == "p.a reached its limit"
    assert [one.kind for one in branch.bifurcations] == ["flip"]
    found = branch.bifurcations[0]
    assert found.cycle.period == pytest.approx(turn, rel=1e-14)
    assert found.cycle.multipliers[0] == pytest.approx(-1.0, abs=1e-9)
    # the same flip on the branch of single orbits
    system = DOUBLING.with_parameters(a=found.value)
    single = st.find_cycle(system, [0.04, 0.04], period=turn, nodes=1)
    assert single.multipliers[0] == pytest.approx(-1.0, abs=1e-9)
    # the checkpoint before the last step holds the flip of the single orbit
    again = st.continue_cycle(doubled, "p.a", (low, 0.2101), step=step, checkpoint=saved)
    assert (again.values == branch.values).all()
    flip = again.bifurcations[0].cycle
    assert (flip.multipliers == found.cycle.multipliers).all()
    assert flip.force_period == turn
    # the flip in two parameters is that of single orbits
    spans = ((0.19, 0.21), (0.048, 0.052))
    curve = st.continue_cycle(again.bifurcations[0], ("p.a", "p.b"), spans, step=1.0)
    assert all("p.b reached" in end for end in curve.ends)
    for a, b in curve.values:
        single = st.find_cycle(system.with_parameters(a=a, b=b), flip)
        assert single.multipliers[0] == pytest.approx(-1.0, abs=1e-8)
