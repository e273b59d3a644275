"""Contacts of a rod with a body: laws and their derivatives, active sets, bases."""

import numpy as np
import pytest

from stiction.rods import Clamped, CosseratRod, CylinderPartner, Free, Helix
from stiction.rods.section import CircularSection
from stiction.rods.wrapped.contact import (
    OPEN,
    SLIP,
    STICK,
    blocks,
    force_and_moment,
    laws,
    tangential_basis,
)
from stiction.rods.wrapped.problem import WrappedProblem, _Given


@pytest.fixture
def setting():
    """Return a problem moved at random from its start, and tractions."""
    rod = CosseratRod(
        CircularSection(0.1, 1e6),
        Helix([0, 0, 0], [0, 0, 1], radius=1.0, pitch=0.6, turns=0.4),
        elements=12,
        left=Clamped(),
        right=Free(),
    )
    drum = CylinderPartner([0, 0, -1], [0, 0, 2], 0.9)
    problem, random = WrappedProblem([rod], [drum], 0.0, 1e-9, 20), np.random.default_rng(3)
    start = problem.reference(problem.initial(), 0.0)
    change = 0.05 * random.standard_normal(problem.static.size)
    problem.static.apply_increment(change)
    traction = random.standard_normal((len(problem.contacts.node), 3))
    return problem, start, traction, random


def all_of(problem, start, basis, traction):
    """Return force, moment and slip of all contacts at the present state."""
    at = problem.kinematics(start, basis, problem.placements(0.0))
    force, moment = force_and_moment(at, traction)
    return at, force, moment


def test_an_open_contact_stays_open_at_the_start_of_a_step(setting):
    """However small its gap is; without forces of contact all that touch are closed."""
    problem, start, traction, _ = setting
    static, places = problem.static, problem.placements(0.0)
    static.r[:, problem.contacts.node] = start.r.T
    normal = problem.kinematics(start, start.basis, places).normal
    static.r[:, problem.contacts.node[3]] += 1e-8 * normal[3]
    given = _Given(start, problem.loads_at(0.0), places, 0.3, 0.0, 0.0, (1.0, 1.0))
    traction = np.zeros_like(traction)
    assert problem._trial(given, start.basis, traction, None, slides=True).closed.all()
    traction[:, 0] = np.arange(len(traction)) != 3
    closed = problem._trial(given, start.basis, traction, None, slides=True).closed
    assert np.flatnonzero(~closed).tolist() == [3]


def test_forces_are_linear_in_tractions(setting):
    problem, start, traction, _ = setting
    at, force, moment = all_of(problem, start, start.basis, traction)
    by = blocks(at, traction)
    assert np.allclose(force, np.einsum("kab,kb->ka", by.force[:, 0], traction), atol=1e-14)
    moments = np.einsum("kfab,kb->kfa", by.moment, traction)
    assert np.allclose(0.5 * moment[:, None], moments, atol=1e-14)


def test_laws_are_the_derivatives_of_their_residuals(setting):
    problem, start, _, random = setting
    at, _, _ = all_of(problem, start, start.basis, np.zeros((12, 3)))
    traction = np.abs(random.standard_normal((12, 3)))
    pairs = at.pairs._replace(gap=0.1 * random.standard_normal(12))
    at = at._replace(pairs=pairs, slip=0.3 * at.slip / 0.05)
    closed = np.arange(12) % 3 > 0
    mu, c, step = 0.7, (2.0, 1.6), 1e-7
    law = laws(at, traction, mu, c, closed)
    assert {OPEN, STICK, SLIP} == set(law.mode.tolist())
    dl, ds = random.standard_normal((12, 3)), random.standard_normal((12, 2))
    # contacts stay closed at zero gap, where the law of slip has its derivative
    at = at._replace(pairs=pairs._replace(gap=np.where(closed, 0.0, at.gap)))
    residuals = [
        laws(at._replace(slip=at.slip + h * ds), traction + h * dl, mu, c, closed).residual
        for h in (step, -step)
    ]
    law = laws(at, traction, mu, c, closed)
    change = np.einsum("kab,kb->ka", law.by_traction, dl)
    change += np.einsum("kab,kb->ka", law.by_slip, ds)
    # the direction of slip turns with the factor of the bound over the trial traction
    slips = law.mode == SLIP
    difference = (residuals[0] - residuals[1]) / (2.0 * step)
    assert slips.any()
    assert np.allclose(difference, change, atol=1e-6)


def test_a_basis_is_orthonormal_and_turns_no_more_than_the_normal():
    random = np.random.default_rng(1)
    normal = random.standard_normal((20, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    basis = tangential_basis(normal)
    whole = np.concatenate([normal[:, :, None], basis], axis=2)
    assert np.allclose(np.swapaxes(whole, 1, 2) @ whole, np.eye(3), atol=1e-14)
    assert np.allclose(np.linalg.det(whole), 1.0, atol=1e-14)
    assert np.allclose(tangential_basis(normal, basis), basis, atol=1e-14)
