"""Every check in the audit of a chain fails here, beside the run in which it holds.

Most fail in an honest run: too long a step, a spike in the load that no step sees, a law
that breaks its own assumption. Where only a fault of the method could make a check fail,
the test spoils what the method hands over, never the check.
"""

import dataclasses
import math

import numpy as np
import pytest
from audit_lines import check_fails, check_holds, damage, public, solved, tampered

import stiction as st

# the one module of the package that is reached past its public names
OUTCOME = "stiction.chains.outcome"
HISTORY = "ChainHistory"

PiecewiseLinear, RegularizedTheta, Sine = (
    public("chains", name) for name in ("PiecewiseLinear", "RegularizedTheta", "Sine")
)

THREE = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05))

# ---- the ledger

SLOW = st.Chain(
    mass=[1e-3, 1e-3],
    normal_force=[1.0, 1.0],
    stiffness=20.0,
    damping=3.0,
    law=st.ExponentialWeakening(0.3, 0.2, 1.0),
    load=Sine(2.0, 0.5),
)
NEWTON = RegularizedTheta(step=1e-2, theta=1.0, smoothing=1e-3, line_search=False)
STEPS_TOO = ("energy_of_each_step", "steps_converged")


@pytest.mark.fails_audit("chains", "ledger_closes")
@pytest.mark.parametrize(
    ("chain", "rough", "fine", "t_end", "size", "beside"),
    [
        (
            THREE,
            st.chains.EventDriven(rtol=1e-2, order=8),
            st.EventDriven(),
            4.0,
            1e-8,
            ("replay_agrees",),
        ),
        (THREE, NEWTON, dataclasses.replace(NEWTON, line_search=True), 4.0, 1e-5, STEPS_TOO),
        (SLOW, st.chains.Quasistatic(rtol=1e-2), st.Quasistatic(), 20.0, 1e-3, ()),
    ],
    ids=["a short series", "a step that is not solved", "a coarse branch"],
)
def test_rough_work_leaves_the_ledger_open(chain, rough, fine, t_end, size, beside):
    run = solved(chain, rough, (0.0, t_end))
    found = check_fails(run, "ledger_closes", value=run.energy.imbalance_rel, beside=beside)
    assert 0.05 * size < found.value < size
    check_holds(solved(chain, fine, (0.0, t_end)), "ledger_closes")


@pytest.mark.fails_audit("chains", "ledger_closes")
@pytest.mark.parametrize(("share", "ok"), [(1e-6, False), (1e-10, True)])
@pytest.mark.parametrize(
    "column", ["kinetic", "stored", "external_work", "friction_heat", "viscous_heat"]
)
def test_a_ledger_misses_a_part_of_any_energy(monkeypatch, column, share, ok):
    chain = dataclasses.replace(THREE, damping=0.3)
    whole = solved(chain, st.EventDriven(), (0.0, 2.0)).energy

    def lose(history):
        part = (1.0 - share) * getattr(history.energy, column)
        return {"energy": dataclasses.replace(history.energy, **{column: part})}

    damage(monkeypatch, OUTCOME, HISTORY, lose)
    run = solved(chain, st.EventDriven(), (0.0, 2.0))
    missing = whole.columns()[column]
    missing = share * np.max(np.abs(missing - missing[0])) / whole.scale
    found = (check_holds if ok else check_fails)(run, "ledger_closes")
    assert found.value == pytest.approx(missing, rel=1e-3)


# ---- friction


# mu vanishes at 6 m/s: the slow mass makes more heat than the fast one gives back
PUSHES = st.Chain(
    mass=[1.0, 1.0],
    stiffness=1.0,
    law=st.UserFriction(lambda v: 0.3 - 0.05 * v, lambda v: -0.05),
    v0=[1.0, 6.1],
)
SLOWER = dataclasses.replace(PUSHES, v0=[1.0, 5.9])


@pytest.mark.fails_audit("chains", "friction_dissipates")
@pytest.mark.parametrize("save", [2, 3, 1001])
def test_a_law_that_pushes_at_high_speed_gives_heat_back(save):
    """All of it counts, whatever is saved."""
    run = solved(PUSHES, st.EventDriven(), (0.0, 0.5), save=save)
    found = check_fails(run, "friction_dissipates")
    heat = solved(PUSHES, st.EventDriven(), (0.0, 0.5), save=20_001).energy.friction_heat
    given = np.sum(np.maximum(-np.diff(heat, axis=0), 0.0))
    # reason: of the step in which the mass comes to 6 m/s the sum counts
    assert found.value == pytest.approx(given, rel=1e-4)
    assert found.time == 0.0
    slower = solved(SLOWER, st.EventDriven(), (0.0, 0.5), save=save)
    assert check_holds(slower, "friction_dissipates", value=0.0).time is None


@pytest.mark.fails_audit("chains", "friction_dissipates")
@pytest.mark.parametrize("save", [2, 3, 501])
@pytest.mark.parametrize("scheme", [st.ThetaStepper, RegularizedTheta])
def test_theta_schemes_see_heat_given_back_between_saved_states(scheme, save):
    """All of it counts, whatever is saved: after 0.5 s the fast mass has long made more."""
    smoothed = {"smoothing": 1e-3} if scheme is RegularizedTheta else {}
    method = scheme(1e-3, 1.0, **smoothed)
    heat = solved(PUSHES, method, (0.0, 0.5), save=501).energy.friction_heat
    given = np.sum(np.maximum(-np.diff(heat, axis=0), 0.0))
    found = check_fails(solved(PUSHES, method, (0.0, 0.5), save=save), "friction_dissipates")
    assert found.value == pytest.approx(given, rel=1e-9)
    assert found.time == pytest.approx(1e-3, rel=1e-12)
    slower = solved(SLOWER, method, (0.0, 0.5), save=save)
    assert check_holds(slower, "friction_dissipates", value=0.0).time is None


# ---- stick and slip


SPIKE_AT, SPIKE_WIDTH, BOUND = 2.003, 1e-4, 0.25 * 9.81


def spiked(share):
    """Return a chain whose load reaches this fraction of the friction bound for a moment."""
    above = share * BOUND - 1.0
    load = st.UserLoad(lambda t: 1.0 + above * math.exp(-(((t - SPIKE_AT) / SPIKE_WIDTH) ** 2)))
    return st.Chain(mass=[1.0, 1.0], stiffness=20.0, law=st.Coulomb(0.25), load=load)


@pytest.mark.fails_audit("chains", "stick_within_bound")
@pytest.mark.parametrize(
    ("rough", "fine"),
    [
        (st.EventDriven(), st.EventDriven(max_step=1e-4)),
        (st.chains.Quasistatic(load_samples=1000), st.chains.Quasistatic(load_samples=200_000)),
    ],
    ids=type,
)
def test_a_spike_that_no_step_sees_should_have_torn_a_mass_off(rough, fine):
    for share in (1.001, 4.0):
        run = solved(spiked(share), rough, (0.0, 4.0), save=[1.0, SPIKE_AT, 3.0])
        found = check_fails(run, "stick_within_bound", when=SPIKE_AT)
        assert found.value == pytest.approx(share, rel=1e-9)
        assert len(run.event_log) == 0
    run = solved(spiked(0.999), rough, (0.0, 4.0), save=[1.0, SPIKE_AT, 3.0])
    assert check_holds(run, "stick_within_bound").value == pytest.approx(0.999, rel=1e-9)
    run = solved(spiked(4.0), fine, (0.0, 4.0), save=[1.0, SPIKE_AT, 3.0])
    check_holds(run, "stick_within_bound")
    assert len(run.event_log) > 0


CYCLE = st.Chain(
    mass=[0.17, 0.12, 4.89],
    stiffness=[3.9, 98.4, 55.8],
    normal_force=[18.9, 31.0, 2.5],
    law=st.Coulomb(0.3),
    x0=[0.6, 0.3, -0.8],
    v0=[-1.9, -1.5, -2.4],
    load=st.Constant(10.0),
)


@pytest.mark.fails_audit("chains", "stick_within_bound")
@pytest.mark.fails_audit("chains", "steps_converged")
def test_a_step_given_too_few_solves_holds_what_friction_cannot():
    method = st.ThetaStepper(1.0, 1.0, max_solves=1)
    run = solved(CYCLE, method, (0.0, 8.0), save=9)
    force, stuck = (run.variables[name].values for name in ("friction", "mode"))
    bound = 0.3 * np.array([18.9, 31.0, 2.5])
    worst = np.max(np.where(stuck == 0, np.abs(force) / bound, 0.0), axis=1)
    both = ("stick_within_bound", "steps_converged")
    found = check_fails(run, both[0], when=float(run.time[worst.argmax()]), beside=both)
    assert found.value == pytest.approx(worst.max(), rel=1e-9)
    missed = run.stats["unconverged_steps"]
    check_fails(run, both[1], value=missed, limit=0.0, when=1.0, beside=both)
    run = solved(CYCLE, st.ThetaStepper(1.0, 1.0), (0.0, 8.0), save=9)
    check_holds(run, both[0])
    check_holds(run, both[1], value=0.0)


@pytest.mark.fails_audit("chains", "slip_against_friction")
@pytest.mark.fails_audit("chains", "friction_dissipates")
@pytest.mark.parametrize("save", [2, 9])
def test_a_step_given_too_few_solves_slips_against_friction(save):
    """With two solves masses keep modes that the slip contradicts: friction drives them."""
    method = st.ThetaStepper(1.0, 1.0, max_solves=2)
    run = solved(CYCLE, method, (0.0, 8.0), save=save)
    all_three = ("slip_against_friction", "friction_dissipates", "steps_converged")
    found = check_fails(run, all_three[0], when=1.0, beside=all_three)
    # in the one step that was not solved, the first, x moves by h w
    moved = solved(CYCLE, method, (0.0, 8.0), save=9).variables["x"].values[:2]
    mode = solved(CYCLE, method, (0.0, 8.0), save=9).variables["mode"].values[1]
    slip = np.diff(moved, axis=0)[0]
    assert found.value == pytest.approx(np.max(-slip * mode), rel=1e-12)
    given = np.maximum(slip * mode * -0.3 * np.array([18.9, 31.0, 2.5]), 0.0).sum()
    assert check_fails(run, all_three[1], beside=all_three).value == pytest.approx(given, rel=1e-12)
    run = solved(CYCLE, st.ThetaStepper(1.0, 1.0), (0.0, 8.0), save=save)
    assert check_holds(run, all_three[0], value=0.0).time is None


def turn_round(v, mode):
    """Turn the sliding mass round; return how fast it slides against its mode now."""
    i = int(np.flatnonzero(mode)[0])
    v[i] *= -1.0
    return abs(v[i])


def creep(v, mode):
    """Let the stuck mass move, and return how fast."""
    v[np.flatnonzero(mode == 0)[0]] = 1e-3
    return 1e-3


# both masses stick when it has lasted a while, and a second push moves one again
PUSHED = st.Chain(
    mass=[1.0, 1.0],
    stiffness=20.0,
    load=PiecewiseLinear([0.0, 5.0, 6.0, 10.0], [8.0, 8.0, 12.0, 12.0]),
    law=st.Coulomb(0.2),
)
WAVED = dataclasses.replace(PUSHED, load=Sine(6.0, 0.05))


@pytest.mark.fails_audit("chains", "slip_against_friction")
@pytest.mark.parametrize("spoil", [turn_round, creep])
@pytest.mark.parametrize("method", [st.EventDriven(), st.Quasistatic()], ids=type)
def test_a_mass_moves_against_its_mode(monkeypatch, method, spoil):
    """No honest run does: one saved velocity is changed before the audit sees it."""
    sizes = []

    def spoil_one(v, mode):
        # a row in which one mass slides and the other does not
        row = int(np.flatnonzero((mode != 0).sum(axis=1) == 1)[-1])
        sizes.append(spoil(v[row], mode[row]))

    def change(history):
        v = history.v.copy()
        spoil_one(v, history.mode)
        return {"v": v}

    if isinstance(method, st.EventDriven):
        chain = PUSHED
        run = tampered(
            lambda saved: solved(chain, method, (0.0, 10.0), checkpoint=saved),
            lambda state: spoil_one(state["saved_v"], state["saved_mode"]),
        )
    else:
        chain = WAVED
        with monkeypatch.context() as patch:
            damage(patch, OUTCOME, HISTORY, change)
            run = solved(chain, method, (0.0, 10.0))
    found = check_fails(run, "slip_against_friction", value=sizes[0])
    assert found.limit == pytest.approx(1e-9 * np.max(np.abs(run.variables["v"].values)))
    check_holds(solved(chain, method, (0.0, 10.0)), "slip_against_friction", value=0.0)


@pytest.mark.fails_audit("chains", "replay_agrees")
@pytest.mark.parametrize("what", ["late event", "lost event", "sped up"])
def test_the_replay_detects_a_changed_run(monkeypatch, what):
    """An event or one state of the trajectory is changed before the audit."""
    expected = []

    def change(history):
        events, trajectory = history.events, history.trajectory
        at = len(events.time) // 2
        if what == "late event":
            time = events.time.copy()
            time[at] += 1e-6
            expected.append(events.time[at])
            return {"events": dataclasses.replace(events, time=time)}
        if what == "lost event":
            expected.append(events.time[at])
            left = {
                f.name: np.delete(getattr(events, f.name), at) for f in dataclasses.fields(events)
            }
            return {"events": dataclasses.replace(events, **left)}
        state = int(np.flatnonzero(trajectory.mode.any(axis=1))[2])
        expected.append((trajectory.time[state - 1], trajectory.time[state + 1]))
        v = trajectory.v.copy()
        v[state, np.flatnonzero(trajectory.mode[state])[0]] += 1e-6
        return {"trajectory": dataclasses.replace(trajectory, v=v)}

    with monkeypatch.context() as patch:
        damage(patch, OUTCOME, HISTORY, change)
        run = solved(THREE, st.EventDriven(), (0.0, 4.0))
    found = check_fails(run, "replay_agrees", limit=1e-8, when=expected[0])
    assert found.value > 1e-7
    found = check_holds(solved(THREE, st.EventDriven(), (0.0, 4.0)), "replay_agrees")
    assert found.value < 1e-13


# ---- time stepping


@pytest.mark.fails_audit("chains", "energy_of_each_step")
@pytest.mark.fails_audit("chains", "steps_converged")
def test_plain_newton_gives_up_on_one_step():
    beside = ("ledger_closes", *STEPS_TOO)
    run = solved(THREE, NEWTON, (0.0, 4.0))
    assert run.stats["unconverged_steps"] == 1
    found = check_fails(run, "steps_converged", value=1.0, limit=0.0, beside=beside)
    # the first saved state after it lies inside this step or at its end
    off = np.abs(np.diff(run.energy.imbalance)).argmax() + 1
    assert run.time[off] <= found.time + 1e-9
    assert run.time[off] > found.time - run.stats["step"]
    found = check_fails(run, "energy_of_each_step", when=found.time, beside=beside)
    assert found.value == run.energy.step_imbalance_rel
    # the energy that this step lost is all that the ledger misses
    assert found.value == pytest.approx(run.energy.imbalance_rel, rel=1e-6)
    run = solved(THREE, dataclasses.replace(NEWTON, line_search=True), (0.0, 4.0))
    check_holds(run, "energy_of_each_step")
    assert check_holds(run, "steps_converged", value=0.0).time is None


HEAVY = st.Chain(
    mass=[1.0, 2.0],
    normal_force=[4.0, 3.0],
    stiffness=20.0,
    load=st.Constant(2.0),
    law=st.Coulomb([0.1, 0.5]),
)


@pytest.mark.fails_audit("chains", "step_below_weakening_limit")
@pytest.mark.parametrize("method", [st.ThetaStepper(1.0), RegularizedTheta(1.0, 0.5, 1e-2)])
@pytest.mark.parametrize("law", ["exponential", "user"])
def test_a_step_beyond_the_weakening_limit_has_no_unique_solution(method, law):
    """mu falls by 200 per m/s at rest; mass 1 has more load on less inertia."""
    laws = {
        "exponential": st.ExponentialWeakening(0.3, 0.1, 1e-3),
        "user": st.UserFriction(
            lambda v: 0.1 + 0.2 * math.exp(-v / 1e-3), lambda v: -200.0 * math.exp(-v / 1e-3)
        ),
    }
    chain = dataclasses.replace(HEAVY, law=laws[law])
    limit = 1.0 / (0.5 * 4.0 * 200.0 / 1.0)
    for share, check in ((0.99, check_holds), (1.01, check_fails)):
        # a whole number of steps, so that each is as long as asked
        step = share * limit
        run = solved(chain, dataclasses.replace(method, step=step), (0.0, 10 * step), save=2)
        found = check(run, "step_below_weakening_limit")
        assert found.value == pytest.approx(step, rel=1e-12)
        assert found.limit == pytest.approx(limit, rel=1e-9)


@pytest.mark.fails_audit("chains", "static_friction_represented")
def test_a_smoothed_law_loses_the_static_friction_of_one_mass():
    method = RegularizedTheta(1e-2, 1.0, 1e-3)
    for static, check in (([0.3, 0.45], check_fails), ([0.3, 0.25], check_holds)):
        chain = dataclasses.replace(HEAVY, law=st.StaticKinetic(static, [0.3, 0.25]))
        found = check(solved(chain, method, (0.0, 1.0)), "static_friction_represented")
        assert found.value == pytest.approx(static[1] - 0.25, abs=1e-15)


@pytest.mark.fails_audit("chains", "step_resolves_smoothing")
@pytest.mark.parametrize("theta", [0.0, 0.25])
def test_a_step_too_long_for_the_smoothing_chatters(theta):
    """Mass 2 feels the steepest friction: mu N / m = 0.5 * 3 / 2 over 0.1 * 4."""
    limit = 2.0 / ((1.0 - 2.0 * theta) * 0.75 / 1e-2)
    for share, check in ((0.99, check_holds), (1.01, check_fails)):
        step = share * limit
        run = solved(HEAVY, RegularizedTheta(step, theta, 1e-2), (0.0, 100 * step))
        found = check(run, "step_resolves_smoothing", beside=["scheme_creates_no_energy"])
        assert found.value == pytest.approx(step, rel=1e-12)
        assert found.limit == pytest.approx(limit, rel=1e-9)


@pytest.mark.fails_audit("chains", "scheme_creates_no_energy")
def test_explicit_steps_create_energy_as_soon_as_a_spring_is_stretched():
    method = RegularizedTheta(1e-2, 0.0, 1e-2)
    chain = st.Chain(mass=[1.0, 2.0], stiffness=20.0, law=st.Coulomb(0.0), supports="none")
    apart = solved(dataclasses.replace(chain, v0=[1.0, 1.01]), method, (0.0, 1.0))
    found = check_fails(apart, "scheme_creates_no_energy", limit=0.0)
    assert found.value == -apart.energy.algorithmic.min()
    # each of the 100 steps multiplies the energy of the swing by 1 + (h omega)^2
    swing, growth = 0.5 * (2.0 / 3.0) * 0.01**2, 1.0 + 1e-4 * 20.0 * 1.5
    assert found.value == pytest.approx(swing * (growth**100 - 1.0), rel=1e-9)
    together = solved(dataclasses.replace(chain, v0=1.0), method, (0.0, 1.0))
    check_holds(together, "scheme_creates_no_energy", value=0.0)


# ---- the quasistatic problem


@pytest.mark.fails_audit("chains", "velocity_unique")
@pytest.mark.parametrize("damping", [1.9, 2.1])
def test_weak_dampers_leave_the_velocity_open(damping):
    """N max|mu'| = 0.4 / 0.2 = 2 N s/m against the damper of one mass."""
    chain = st.Chain(
        mass=[1e-3],
        normal_force=[1.0],
        stiffness=1.0,
        damping=damping,
        law=st.ExponentialWeakening(0.6, 0.2, 0.2),
        load=st.Ramp(0.5),
    )
    run = solved(chain, st.Quasistatic(), (0.0, 3.0))
    check = check_holds if damping > 2.0 else check_fails
    found = check(run, "velocity_unique", least=True)
    assert found.limit == 0.0
    assert found.value == pytest.approx(damping - 2.0, rel=1e-9)
    assert (run.determinism.status == "deterministic") == found.ok


@pytest.mark.fails_audit("chains", "velocity_unique")
def test_a_jump_leaves_the_velocity_open_whatever_the_dampers():
    """What is reported is the largest jump: (0.5 - 0.2) 2 N on the second mass."""
    chain = st.Chain(
        mass=[1e-3, 1e-3],
        normal_force=[1.0, 2.0],
        stiffness=1.0,
        damping=50.0,
        law=st.StaticKinetic([0.4, 0.5], [0.3, 0.2]),
        load=st.Ramp(0.1),
    )
    run = solved(chain, st.Quasistatic(), (0.0, 1.0), save=3)
    found = check_fails(run, "velocity_unique", limit=0.0, least=True)
    assert found.value == pytest.approx(-0.6, rel=1e-12)
    assert "[N]" in found.note


@pytest.mark.fails_audit("chains", "branches_searched")
@pytest.mark.parametrize("n", [3, 4])
def test_long_chains_are_not_searched_for_other_branches(n):
    chain = st.Chain(
        mass=1e-3,
        n=n,
        normal_force=1.0,
        stiffness=20.0,
        damping=1.0,
        law=st.ExponentialWeakening(0.3, 0.1, 0.1),
        load=st.Ramp(0.5),
    )
    run = solved(chain, st.Quasistatic(), (0.0, 1.5), save=11)
    check = check_holds if n == 3 else check_fails
    assert check(run, "branches_searched", value=n, beside=["velocity_unique"]).limit == 3.0


@pytest.mark.fails_audit("chains", "inertia_negligible")
@pytest.mark.parametrize("share", [0.499, 0.501])
def test_a_fast_load_needs_inertia(share):
    """The load is fast from 6 s on, for 2 s: the force of an overshoot is rate / omega."""
    rate = share * math.sqrt(20.0) * 0.2 * 9.81
    load = PiecewiseLinear([0.0, 6.0, 8.0, 10.0], [0.0, 0.1, 0.1 + 2.0 * rate, 0.2])
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.Coulomb(0.2), load=load)
    run = solved(chain, st.Quasistatic(), (0.0, 10.0))
    check = check_fails if share > 0.5 else check_holds
    found = check(run, "inertia_negligible")
    assert found.limit == 0.5
    assert found.value == pytest.approx(share, rel=1e-9)
    assert 6.0 <= found.time < 6.1
