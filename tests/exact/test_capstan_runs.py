"""Runs of rods in contact along arcs: the capstan by `Quasistatic` and `ImplicitEuler`."""

import dataclasses

import numpy as np
import pytest
from memories import Memory

import stiction as st
from stiction.errors import ModelError, SolveError, Status
from stiction.exact.rods import capstan_exponent
from stiction.rods import Capstan, ContactSearch, ImplicitEuler, Quasistatic, Rods


@pytest.mark.parametrize(("mu", "angle", "pitch"), [(0.3, np.pi, 0.0), (0.1, 3.0 * np.pi, 0.0102)])
def test_ratio_of_tensions(mu, angle, pitch):
    """Where the whole rope slides, tensions differ by the factor of a thick rope."""
    rope = Capstan(st.Coulomb(mu), angle=angle, pitch=pitch, speed=2e-3)
    run = st.solve(rope, Quasistatic(steps=10), save=2)
    assert run.audit.ok
    cosine = np.cos(np.arctan(pitch / (2.0 * np.pi * 0.105))) ** 2
    exact = np.exp(capstan_exponent(mu, 0.005 * cosine / 0.105) * angle)
    assert run.quantities["force_ratio"].value == pytest.approx(exact, rel=2e-3)
    assert run.data["contact_mode"].values[-1].max() == 2


@pytest.mark.parametrize("save", [3, None])
@pytest.mark.parametrize("method", [Quasistatic(steps=8), ImplicitEuler(step=0.01)])
def test_resumed_runs_are_equal(method, save):
    """A run that continues from any of its checkpoints has the same bits; all steps are saved."""
    rope, span = Capstan(elements=16), (2.0, 2.1)
    saved = Memory()
    whole = st.solve(rope, method, span, save=save, checkpoint=saved)
    assert len(whole.time) == (save or whole.stats["steps"] + 1)
    for state in (saved.pages[0], saved.pages[len(saved.pages) // 2], saved.pages[-1]):
        again = st.solve(rope, method, span, save=save, checkpoint=Memory(state))
        for name, variable in whole.variables.items():
            np.testing.assert_array_equal(variable.values, again.variables[name].values)
        assert again.stats == whole.stats
        assert repr(again.audit) == repr(whole.audit)
        np.testing.assert_array_equal(again.energy.imbalance, whole.energy.imbalance)


def test_the_order_of_partners_does_not_matter():
    """Nor does a partner out of reach; contacts name their partner by its number."""
    rods = Capstan(elements=16).assembled()
    far = st.rods.CylinderPartner([9.0, 9.0, -1.0], [9.0, 9.0, 1.0], 0.3)
    runs = [
        st.solve(Rods(rods.rods, search=rods.search, partners=p), Quasistatic(steps=4), save=2).data
        for p in ([*rods.partners], [*rods.partners, far], [far, *rods.partners])
    ]
    for data, drum in zip(runs, (2, 2, 3), strict=True):
        np.testing.assert_array_equal(data["position"], runs[0]["position"])
        touching = data["second_body"].values == drum
        for name in ("contact_mode", "contact_force", "slip_length"):
            np.testing.assert_array_equal(data[name].values[:, touching], runs[0][name])
        assert not data["contact_mode"].values[:, ~touching].any()


def test_gravity_is_a_load():
    """A rod on a plane that lifts it is pressed on it by its weight; energies are rounding."""
    rod = st.rods.CosseratRod(
        st.rods.CircularSection(0.01, 1e6), st.rods.Straight([0, 0, 0.01], [0.2, 0, 0.01]),
        elements=8, left=st.rods.Free(), right=st.rods.Free(),
    )  # fmt: skip
    floor = st.rods.PlanePartner(velocity=[0.1, 0.0, 0.1])
    search = ContactSearch(st.Coulomb(0.3), self_contact=False)
    system = Rods([rod], search=search, partners=[floor], gravity=[0.0, 0.0, -9.81])
    run = st.solve(system, Quasistatic(steps=4), save=2)
    weight = 9.81 * 0.2 * rod.section.line_density
    assert run.audit.ok
    assert run.data["normal_force"].values[-1].sum() == pytest.approx(weight, rel=1e-8)
    # along its axis the rod is carried; across it nothing prevents it from rolling
    place = run.data["position"].values[-1, 0]
    np.testing.assert_allclose(place[[0, 2]], [0.1, 0.11], atol=1e-9)


def test_steps_are_shorter_than_a_turn():
    """What turns by whole turns in the steps that are asked for twists the rod, and slips."""
    capstan = Capstan(elements=16).assembled()
    rope, drum = capstan.rods[0], capstan.partners[0]
    held = dataclasses.replace(rope, right=st.rods.Driven())
    turning = dataclasses.replace(drum, angular_velocity=[0.0, 0.0, -2.0 * np.pi])
    system = Rods([held], search=capstan.search, partners=[turning])
    run = st.solve(system, Quasistatic(steps=1), save=2, throw=False)
    assert run.data["slip_length"].values[-1].max() > np.pi * drum.radius
    # a quarter turn in a step is too much for the ledger
    assert [x.check for x in run.audit if not x.ok] == ["ledger_closes"]
    rod = st.rods.CosseratRod(
        st.rods.CircularSection(0.01, 1e6), st.rods.Straight([0, 0, 0], [1, 0, 0]),
        elements=16, right=st.rods.Driven(angular_velocity=[4.0 * np.pi, 0.0, 0.0]),
    )  # fmt: skip
    far = st.rods.PlanePartner([0.0, 0.0, -1.0])
    system = Rods([rod], search=ContactSearch(st.Coulomb(0.0), self_contact=False), partners=[far])
    run = st.solve(system, Quasistatic(steps=3), save=2)
    moment = 4.0 * np.pi * rod.section.twist_stiffness
    assert run.data["clamp_moment"].values[-1, 0, 1, 0] == pytest.approx(moment, rel=1e-8)


def test_what_the_method_does_not_solve():
    rods = Capstan(elements=16).assembled()
    for changes, message in (
        ({"search": None}, r"Rods.search: got None; needs a ContactSearch with friction"),
        ({"search": ContactSearch()}, r"Rods.search: got a ContactSearch without friction"),
        ({"search": ContactSearch(st.Coulomb(0.3), 0.5)}, r"Rods.search.restitution"),
        ({"partners": []}, r"Rods.partners: got none"),
    ):
        given = {"search": rods.search, "partners": rods.partners} | changes
        with pytest.raises(ModelError, match=message):
            st.solve(Rods(rods.rods, **given), Quasistatic())
    with pytest.raises(ModelError, match=r"Rods.contacts: got 1 declared contacts; needs none"):
        st.solve(st.CrossedRods(), Quasistatic())
    with pytest.raises(ModelError, match=r"ImplicitEuler.turn: got 1 m without self_contact"):
        st.solve(rods, ImplicitEuler(0.1, turn=1.0))
    with pytest.raises(ModelError, match=r"Rods.rods\[1\].section: got GivenSection"):
        st.solve(rods, st.RollingLeapfrog())
    with pytest.raises(ModelError, match=r"Capstan.pitch: got 0 m; needs at least 0.01 m"):
        Capstan(angle=7.0)
    with pytest.raises(
        ModelError, match=r"Capstan.radius: got 0.2 m; needs at most the radius of the"
    ):
        Capstan(radius=0.2)
    # each partner makes a contact of each node
    many = Rods(rods.rods, search=rods.search, partners=[*rods.partners] * 300)
    with pytest.raises(ModelError, match=r"solve.save: got 20000, about .* GiB"):
        st.solve(many, Quasistatic(), save=20_000)


def test_how_a_run_ends():
    """A bound on the work, and friction that holds no dead load."""
    run = st.solve(Capstan(elements=16), Quasistatic(max_steps=3), throw=False)
    assert run.status is Status.WORK_LIMIT
    assert 0.0 < run.t_end < 1.0
    assert "the most allowed, ended at t = 0.06 s" in run.reason
    with pytest.raises(SolveError, match=r"3 steps, the most allowed"):
        st.solve(Capstan(elements=16), Quasistatic(max_steps=3))


def test_elements_that_become_too_long_on_the_path():
    """What was found before is returned, with the number of elements that the next state needs."""
    end = st.rods.Driven([0.0, 0.0, -0.3])
    line = st.rods.Straight([-0.5, 0.0, 0.32], [0.5, 0.0, 0.32])
    section = st.rods.CircularSection(0.02, 1e6)
    rod = st.rods.CosseratRod(section, line, elements=8, left=end, right=end)
    bar = st.rods.CylinderPartner([0.0, -1.0, 0.0], [0.0, 1.0, 0.0], 0.3)
    system = Rods([rod], search=ContactSearch(st.Coulomb(0.3)), partners=[bar])
    run = st.solve(system, Quasistatic(steps=8), throw=False)
    assert run.status is Status.UNCONVERGED
    assert "got 8 elements; needs at least 10, because at node 5 of rod 1" in run.reason
    # the last state in which the rod is straight enough, with its own energies
    before = st.solve(system, Quasistatic(steps=1), (0.0, 0.125), save=2, throw=False)
    np.testing.assert_allclose(run.data["position"][-1], before.data["position"][-1], atol=1e-9)
    assert run.energy.stored[-1] == pytest.approx(before.energy.stored[-1], rel=1e-6)
    assert run.stats["steps"] == 1
