"""Kernels of rods and strings: compiled once each, and columns that both sides mean alike."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import stiction.rods
from stiction.numerics.jit import Kernel
from stiction.rods.assembly import assemble
from stiction.rods.centreline import Straight
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.local_coulomb_kernels import tangential_impulse
from stiction.rods.model import Rods
from stiction.rods.rod import CosseratRod, Driven, Free, PointForce, PointMoment
from stiction.rods.rod_kernels import copy
from stiction.rods.section import CircularSection
from stiction.rods.strings.strand_state import StrandPair, StrandState

HOUSE = Path(stiction.rods.__file__).parent
MODULES = sorted(
    ".".join(("stiction", "rods", *path.relative_to(HOUSE).with_suffix("").parts))
    for path in HOUSE.rglob("*.py")
    if "@kernel" in path.read_text(encoding="utf-8")
)


def constants_handed_on(source, names):
    """Return calls of kernels with an integer that Numba knows, which it compiles one more for.

    `names` holds what the source knows: kernels, and integers of the module.
    """
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        own = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and is_stored(n)}
        own |= {a.arg for a in function.args.args}
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if not isinstance(names.get(call.func.id), Kernel):
                continue
            for given in call.args:
                if isinstance(given, ast.Constant):
                    value = given.value
                elif isinstance(given, ast.Name) and given.id not in own:
                    value = names.get(given.id)
                else:
                    continue
                if isinstance(value, int):
                    found.append(f"{function.name}: {ast.unparse(call)}")
    return found


def is_stored(name):
    """Return whether a name is assigned to."""
    return isinstance(name.ctx, ast.Store)


def test_no_kernel_is_compiled_again_for_a_constant():
    assert len(MODULES) > 10
    for name in MODULES:
        module = importlib.import_module(name)
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert constants_handed_on(source, vars(module)) == [], name


@pytest.mark.parametrize("call", ["copy(a, 0)", "copy(a, ROLL)", "copy(a, True)"])
def test_a_constant_that_is_handed_on_is_found(call):
    source = f"def use(a):\n    {call}\n    copy(a, 0.0)\n    copy(a, a)\n"
    assert constants_handed_on(source, {"copy": copy, "ROLL": ck.ROLL}) == [f"use: {call}"]


def rod(**more):
    """Return a rod of four elements along y."""
    line = Straight([0.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    return CosseratRod(CircularSection(0.02, 1e6, density=1000.0), line, elements=4, **more)


def test_columns_of_a_moving_clamp():
    clamp = Driven(
        velocity=(1.0, 2.0, 3.0), angular_velocity=(4.0, 5.0, 6.0), rise=0.7, hold="element"
    )
    flat = assemble(
        Rods((rod(left=Free()), rod(left=Free(), right=clamp)), gravity=(0.0, 0.0, 0.0))
    )
    table = flat.driven
    # nodes 9 and 8, element 8 of ten slots
    assert_array_equal(table["slot"], [9, 8, 8])
    assert_array_equal(table["is_frame"], [0, 0, 1])
    assert_array_equal(table["origin"], np.tile([0.0, 1.0, 0.0], (3, 1)))
    assert_array_equal(table["velocity"], np.tile(clamp.velocity, (3, 1)))
    assert_array_equal(table["spin"], np.tile(clamp.angular_velocity, (3, 1)))
    assert_array_equal(table["rise"], 0.7)
    assert_array_equal(table["since"], 0.0)
    assert_array_equal(table["start"][:2, :3], flat.r[:, [9, 8]].T)
    assert_array_equal(table["start"][2], flat.q[:, 8])
    assert_array_equal(flat.material.free[8:], 0.0)
    assert flat.material.turns[8] == 0.0


def test_columns_of_materials_and_loads():
    loads = [PointForce((1.0, 2.0, 3.0), at=0.5, times=[0.0, 1.0], factors=[0.0, 1.0])]
    loads += [PointMoment((4.0, 5.0, 6.0), at=0.5)]
    one = rod(loads=loads)
    flat = assemble(Rods((one,), gravity=(0.0, 0.0, 0.0)))
    # the frame of the clamp stands before the rod
    assert_array_equal(flat.loads["slot"], [3, 3])
    assert_array_equal(flat.loads["is_moment"], [0, 1])
    assert_array_equal(flat.loads["value"], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert_allclose(flat.material.mass.sum(), one.section.line_density, rtol=1e-14)
    assert_allclose(flat.material.inertia.sum(), one.section.line_inertia, rtol=1e-14)


def test_slip_per_impulse_is_the_matrix_of_the_contact():
    rng = np.random.default_rng(3)
    contact = ck.Contact.table()[0]
    contact.delassus = rng.normal(size=(3, 3))
    impulse = rng.normal(size=3)
    slip = ck.slip_per(contact, *impulse)
    assert_allclose(slip, contact.delassus @ impulse, rtol=1e-14)


def test_the_local_problem_solves_coulombs_law_at_an_anisotropic_contact():
    # u_T = uf_T + G_T l_T; it is zero in rolling, against l_T with |l_T| = bound in slip
    rng = np.random.default_rng(8)
    modes = set()
    for _ in range(40):
        frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        n, across = frame[:, 0], frame[:, 1:]
        uneven = across @ (rng.normal(size=(2, 2)) + 3.0 * np.eye(2))
        g_tangential = uneven @ uneven.T
        contact = ck.Contact.table()[0]
        contact.normal, contact.delassus = n, 2.0 * np.outer(n, n) + g_tangential
        u, bound = rng.normal(size=3), rng.uniform(0.01, 0.3)
        *impulse, mode = tangential_impulse(contact, *u, bound)
        after = across.T @ (u + g_tangential @ impulse)
        modes.add(mode)
        assert abs(n @ impulse) < 1e-12
        if mode == ck.ROLL:
            assert_allclose(after, 0.0, atol=1e-12)
            assert np.linalg.norm(impulse) <= bound
        else:
            assert np.linalg.norm(impulse) == pytest.approx(bound, rel=1e-9)
            against = after @ (across.T @ impulse)
            assert against == pytest.approx(-bound * np.linalg.norm(after), rel=1e-8)
    assert modes == {ck.ROLL, ck.SLIP}


def nothing(x):
    """Return a string at rest."""
    return 0.0 * x


@pytest.mark.parametrize("periodic", [False, True])
def test_a_strand_moves_with_its_own_columns(periodic):
    def wave(x):
        return 0.1 * np.sin(2.0 * np.pi * x)

    pair = StrandPair(
        speed=(1.0, 1.3),
        length=(1.0, 1.2),
        mobility=(0.02, 0.03),
        ratio=0.9,
        start=(0.5, 0.6),
        periodic=periodic,
        drag=0.1,
        resistance=0.05,
        shapes=(wave, nothing),
        rates=(nothing, nothing),
    )
    state = StrandState(pair, 0.05, None, False, 2)
    joint = state.m.joint[0]
    assert (joint.drag, joint.resistance, joint.periodic) == (0.1, 0.05, periodic)
    assert_array_equal(state.m.strands["sign"], [1.0, -0.9])
    # what is seen at the start rolls: V_1 = F V_2
    state.save(0.0)
    first = state.samples.rows[0]
    assert first.u_mean == pytest.approx(0.9 * first.v_mean, abs=1e-12)
    # over a step of no length the free flow does nothing
    assert state.advance(1, 1e-12, 0.0) == 1e-12
    assert_allclose(state.flow.aa, 1.0, atol=1e-9)
    assert_allclose(state.flow.pp, 1.0, atol=1e-9)
    assert_allclose(state.flow.ap, 5e-13, rtol=1e-6)
    assert_allclose(state.flow.pa, -5e-13 * state.m.modes["stiffness"], rtol=1e-6, atol=1e-30)


def test_copy_leaves_what_it_copies():
    rows = np.arange(6.0).reshape(2, 3)
    to = np.zeros((2, 3))
    copy(rows, to)
    assert_array_equal(to, np.arange(6.0).reshape(2, 3))
    assert_array_equal(rows, to)
