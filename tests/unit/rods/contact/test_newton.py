"""Newton's method for what the sweeps leave: the certificate of the friction problem judges it."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.numerics import jit
from stiction.numerics.friction_problem.blocks import local_of
from stiction.numerics.friction_problem.certificate import residual
from stiction.rods import (
    CircularSection,
    ContactSearch,
    CosseratRod,
    Free,
    PlanePartner,
    RigidMotion,
    Rods,
    RollingLeapfrog,
    Straight,
)
from stiction.rods.assembly import assemble
from stiction.rods.contact import gauss_seidel_kernels as gk
from stiction.rods.contact import kernels as ck
from stiction.rods.contact import newton_kernels as nk
from stiction.rods.contact.state import ContactState

RADIUS, SLOPE = 0.01, 0.5


class Groove:
    """A rod of 5 nodes in a groove of two planes, with random velocities."""

    def __init__(self, mu):
        normals = [[side * math.cos(SLOPE), 0.0, math.sin(SLOPE)] for side in (1.0, -1.0)]
        ends = [[0.0, y, RADIUS / math.sin(SLOPE)] for y in (-0.1, 0.1)]
        section = CircularSection(RADIUS, 1e6, density=1000.0)
        rod = CosseratRod(section, Straight(*ends), elements=4, left=Free(), right=Free())
        rods = Rods(
            [rod],
            search=ContactSearch(friction=st.Coulomb(mu), restitution=0.5),
            partners=[PlanePartner((0.0, 0.0, 0.0), n) for n in normals],
        )
        self.flat = assemble(rods)
        state = ContactState(rods, self.flat)
        state.refuse_or_close()
        self.contacts = state.contacts[: int((state.contacts["mode"] == ck.ROLL).sum())]
        self.mobility = self.flat.mobility(0.0)
        random = np.random.default_rng(3)
        self.flat.v[:, :5] = random.normal(size=(3, 5))
        self.flat.v[2, :5] -= 1.0
        self.flat.p[:, :4] = 100.0 * random.normal(size=(3, 4))

    def slip(self):
        """Return the slip velocities of all contacts (contacts, 3)."""
        f = self.flat
        return np.array([ck.slip_velocity(f.q, k, f.v, f.p) for k in self.contacts])

    def problem(self, before):
        """Return the friction problem with velocities q = `before`, and the axes of contacts."""
        n, f = len(self.contacts), self.flat
        w = np.zeros((3 * n, 3 * n))
        for c in range(n):
            for axis in range(3):
                v, p = np.zeros_like(f.v), np.zeros_like(f.p)
                ck.push(f.q, self.contacts[c], *np.eye(3)[axis], self.mobility, v, p)
                u = [ck.slip_velocity(f.q, k, v, p) for k in self.contacts]
                w[:, 3 * c + axis] = np.ravel(u)
        axes = np.zeros((n, 3, 3))
        for c, normal in enumerate(self.contacts["normal"]):
            # the normal force presses on the first body
            axes[c] = np.linalg.qr(np.column_stack([normal, np.eye(3)[:, :2]]))[0].T
            axes[c, 0] = -normal
        turn = np.zeros((3 * n, 3 * n))
        for c in range(n):
            turn[3 * c : 3 * c + 3, 3 * c : 3 * c + 3] = axes[c]
        q = np.einsum("cij,cj->ci", axes, before)
        mu = np.array(self.contacts["friction"])
        return local_of(turn @ w @ turn.T, q, mu, np.zeros(n), 2), axes


@pytest.mark.parametrize("mu", [0.05, 0.3])
@pytest.mark.parametrize("impact", [False, True])
def test_certificate_of_what_sweeps_leave(monkeypatch, mu, impact):
    # sweeps alone need up to 93
    monkeypatch.setattr(gk, "SWEEPS", 2)
    with jit.running("plain"):
        groove = Groove(mu)
        f, contacts, before = groove.flat, groove.contacts, groove.slip()
        bodies = (f.q, contacts, groove.mobility, f.v, f.p)
        if impact:
            tally = gk.Tally.table()[0]
            gk.solve_impact(*bodies, 0, False, tally)
            assert tally.unconverged == 0
            # Newton's law: the unknown is u+ + e u-_n where a contact closes
            normal = contacts["normal"][0]
            before[0] += 0.5 * (before[0] @ normal) * normal
        else:
            # u' = u before + u after, with u before = 0
            assert gk.kick_contacts(*bodies) == 2
        problem, axes = groove.problem(before)
    impulses = np.einsum("cij,cj->ci", axes, contacts["impulse"])
    assert np.abs(impulses).max() > 1e-3
    assert residual(problem, impulses) < 1e-12


def test_newton_steps_that_fail_leave_impulses_as_they_are(monkeypatch):
    """As with more contacts than the method takes, where it makes no step."""
    monkeypatch.setattr(gk, "SWEEPS", 2)
    found = []
    for name, value in (("MOST_CONTACTS", 3), ("STEPS", 1)):
        with monkeypatch.context() as patch, jit.running("plain"):
            patch.setattr(nk, name, value)
            groove = Groove(0.3)
            f = groove.flat
            assert gk.kick_contacts(f.q, groove.contacts, groove.mobility, f.v, f.p) == -1
            found.append([f.v.copy(), f.p.copy(), groove.contacts["impulse"].copy()])
    assert np.abs(found[0][2]).max() > 0.0
    for untried, failed in zip(*found, strict=True):
        assert np.array_equal(untried, failed)


def test_friction_that_grows_without_bound_is_reported():
    """In a narrow groove some contacts have no forces that obey the law (Painleve)."""
    normals = [[side * math.cos(0.1), 0.0, math.sin(0.1)] for side in (1.0, -1.0)]
    ends = [[0.0, y, RADIUS / math.sin(0.1) + 1e-3] for y in (-0.1, 0.1)]
    section = CircularSection(RADIUS, 1e6, density=1000.0)
    thrown = [RigidMotion((0.3, 0.5, -0.3), (3.0, 10.0, 1.0))]
    free = {"left": Free(), "right": Free(), "motion": thrown}
    system = Rods(
        [CosseratRod(section, Straight(*ends), elements=6, **free)],
        search=ContactSearch(friction=st.Coulomb(1.0)),
        gravity=(0.0, 0.0, -9.81),
        partners=[PlanePartner((0.0, 0.0, 0.0), n) for n in normals],
    )
    run = st.solve(system, RollingLeapfrog(fraction=0.3), (0.0, 0.03), save=3, throw=False)
    assert next(c for c in run.audit if c.check == "contacts_solved").value > 0.0
    # the sweeps begin anew, and the run goes on
    assert run.t_end == 0.03
    assert np.abs(run.data.position.values).max() < 1.0
