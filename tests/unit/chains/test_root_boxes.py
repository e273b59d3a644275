"""No branch is missed: interval arithmetic against Newton's method from many starts."""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction import Chain, Coulomb, ExponentialWeakening, StaticKinetic, UserFriction
from stiction.chains import root_boxes
from stiction.chains.branching import branches
from stiction.chains.root_boxes import Balance, roots_in


def by_starts(part, drive, low, drop, scale, rng, starts=600):
    """Return speeds s > 0 with part s + low + drop exp(-s / scale) = drive, from many starts."""
    s = scale * 10.0 ** rng.uniform(-2.5, 2.5, (starts, drive.size))
    with np.errstate(all="ignore"):
        for _ in range(60):
            fading = drop * np.exp(-s / scale)
            f = s @ part.T + low + fading - drive
            h = part - np.eye(drive.size) * (fading / scale)[:, None, :]
            h += np.eye(drive.size) * 1e-13
            step = np.linalg.solve(h, f[:, :, None])[:, :, 0]
            s = np.where(s - step > 0.1 * s, s - step, 0.1 * s)
        f = s @ part.T + low + drop * np.exp(-s / scale) - drive
    found = []
    for root in s[(np.abs(f).max(axis=1) < 1e-12) & (s > 1e-9 * scale).all(axis=1)]:
        if not any((np.abs(root - t) <= 1e-6 * (root + t)).all() for t in found):
            found.append(root)
    return found


def chains(seed, count):
    """Yield random chains with the load and place of a state."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(1, 4))
        static = rng.uniform(0.2, 0.5, n)
        law = ExponentialWeakening(
            static, static * rng.uniform(0.2, 0.6, n), rng.uniform(0.03, 0.2, n)
        )
        damping, normal = rng.uniform(0.02, 0.6, n), rng.uniform(0.5, 2.0, n)
        chain = Chain(mass=np.ones(n), stiffness=1.0, damping=damping, normal_force=normal, law=law)
        yield rng, chain, float(rng.uniform(-0.6, 0.6)), rng.uniform(-0.3, 0.3, n)


def test_branches_of_a_mass_on_a_belt_are_those_of_its_quasistatic_run():
    """The damper of the wall takes C V of the load: the mass sticks to the belt."""
    law = st.ExponentialWeakening(0.3, 0.1, 0.1)
    for speed, load in ((0.5, 1.2), (0.5, 2.0), (-0.4, 0.5), (0.0, 1.2)):
        chain = st.Chain(
            mass=[1.0], stiffness=[1.0], damping=[2.0], gravity=1.0, law=law, belt_speed=speed,
            load=st.Constant(load),
        )  # fmt: skip
        found = st.chains.branches(chain, load, [0.0])
        run = st.solve(chain, st.chains.Quasistatic(), (0.0, 1e-3), save=2)
        slip = run.variables["v"].values[0, 0] - speed
        assert found.drive[0] == pytest.approx(load - 2.0 * speed)
        assert any(one.velocity[0] == pytest.approx(slip, abs=1e-9) for one in found.branches)


def test_branches_against_many_starts():
    """Whatever Newton's method finds from hundreds of starts per pattern is among the branches."""
    seen = 0
    for rng, chain, force, x in chains(3, 25):
        n, law = chain.n_mass, chain.law
        found = branches(chain, force, x)
        assert found.certified
        mine = [branch.velocity for branch in found.branches]
        c, normal = chain.damping_matrix(), chain.normal_forces
        drive = force * chain.load_weights - chain.stiffness_matrix() @ x
        for signs in itertools.product((-1.0, 0.0, 1.0), repeat=n):
            sign = np.array(signs)
            a = np.flatnonzero(sign)
            if a.size == 0:
                continue
            part = c[np.ix_(a, a)] * np.outer(sign[a], sign[a])
            low, drop = (normal * law.mu_kinetic)[a], (normal * (law.mu_static - law.mu_kinetic))[a]
            for root in by_starts(part, (sign * drive)[a], low, drop, law.v_scale[a], rng):
                v = np.zeros(n)
                v[a] = sign[a] * root
                if (np.abs(drive - c @ v)[sign == 0] <= chain.stick_bound[sign == 0]).all():
                    assert min(np.abs(v - w).max() for w in mine) < 1e-8
                    seen += 1
    assert seen > 40


def test_two_close_roots_between_the_points_of_any_grid():
    """A pair of branches in which mass 1 goes right and mass 2 hardly moves left."""
    law = ExponentialWeakening(
        [0.34500988, 0.43801679], [0.10608917, 0.10774165], [0.13012486, 0.15135296]
    )
    chain = Chain(
        mass=[1.0, 1.0],
        stiffness=1.0,
        damping=[0.30009129, 0.05252],
        normal_force=[1.16435481, 1.54514379],
        law=law,
    )
    found = branches(chain, -0.3199853949047167, [-0.08340046, 0.20354436])
    assert found.certified
    near = [np.abs(b.velocity - [0.69070807, -0.03600343]).max() for b in found.branches]
    assert min(near) < 1e-6


@pytest.mark.parametrize("times", [1e-6, 1e6])
def test_units_change_nothing(times):
    for _, chain, force, x in chains(11, 8):
        law = chain.law
        other = Chain(
            mass=chain.masses,
            stiffness=1.0 / times,
            damping=np.asarray(chain.damping) / times,
            normal_force=chain.normal_force,
            law=ExponentialWeakening(law.mu_static, law.mu_kinetic, law.v_scale * times),
        )
        one, two = branches(chain, force, x), branches(other, force, x * times)
        assert two.certified
        assert len(one.branches) == len(two.branches)
        for a, b in zip(one.branches, two.branches, strict=True):
            np.testing.assert_allclose(
                b.velocity, a.velocity * times, rtol=1e-9, atol=1e-12 * times
            )


def test_one_equation_against_its_closed_form():
    """c s + N mu(s) = r has two roots about its fold, one at the fold, and none below it."""
    table = ExponentialWeakening(0.3, 0.1, 0.1).table(1)
    fold = 0.1 * np.log(2.0 / 0.2)
    least = 0.2 * fold + 0.1 + 0.2 * np.exp(-fold / 0.1)
    for above, count, sure in ((0.05, 2, True), (-1e-9, 0, True), (0.0, None, False)):
        balance = Balance(np.array([[0.2]]), np.array([least + above]), np.array([1.0]), table, [0])
        roots, certified = roots_in(balance, np.array([10.0]))
        assert certified is sure
        if count is not None:
            assert len(roots) == count
        for s in roots:
            off = 0.2 * s + 0.1 + 0.2 * np.exp(-s / 0.1) - least - above
            assert abs(off[0]) < 1e-14


def test_at_the_limit_of_boxes_all_roots_are_positive_and_none_certified(monkeypatch):
    """One of the three roots has a negative speed, and is found before the limit is reached."""
    a = np.array([[1.5236275375603245, -0.017150269503867888], [-0.017150269503867888, 0.6915061]])
    law, contacts = ExponentialWeakening(0.3, 0.1, 0.1).table(2), [0, 1]
    negative = np.array([-4.1e-7, 0.179])
    drive = Balance(a, np.zeros(2), np.ones(2), law, contacts).at(negative)
    balance = Balance(a, drive, np.ones(2), law, contacts)
    monkeypatch.setattr(root_boxes, "_MOST_BOXES", 6)
    roots, certified = roots_in(balance, np.full(2, 3.9560892583706004))
    assert not certified
    assert len(roots) == 1
    assert (roots[0] > 0.0).all()
    assert np.abs(balance.at(roots[0])).max() < 1e-14


def test_what_is_certified():
    hyperbola = UserFriction(
        lambda v: 0.1 + 0.2 / (1.0 + 10.0 * v), lambda v: -2.0 / (1.0 + 10.0 * v) ** 2
    )
    laws = ((hyperbola, False), (StaticKinetic(0.3, 0.1), True), (Coulomb(0.2), True))
    for law, sure in laws:
        chain = Chain(mass=1.0, n=2, stiffness=20.0, damping=1.0, law=law)
        assert branches(chain, 9.0, [0.0, 0.1]).certified is sure
    # nothing damps the two together: their sum balances at any speed, or at none
    chain = Chain(mass=1.0, n=2, stiffness=20.0, damping=[0.0, 1.0], law=Coulomb(0.25))
    assert branches(chain, 5.0, [0.0, 0.0]).certified
    assert not branches(chain, 2 * 0.25 * 9.81, [0.0, 0.0]).certified
