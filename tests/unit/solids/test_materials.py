"""Energies, stresses and moduli of materials, against stresses in principal stretches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from solid_cases import MATERIALS, principal_stresses

from stiction.errors import ModelError
from stiction.solids.material_laws import (
    ALL,
    SHAPE,
    VOLUME,
    invariant_derivatives,
    linear_moduli,
    plane_derivatives,
)
from stiction.solids.materials import (
    LinearElastic,
    MooneyRivlin,
    NearlyIncompressible,
    NeoHookean,
    Yeoh,
)

FINITE = {k: m for k, m in MATERIALS.items() if k != "LinearElastic"}
STEP = 1e-3


@pytest.fixture(params=sorted(FINITE))
def law(request):
    return FINITE[request.param]


def in_plane_stresses(table, l1, l2, part=ALL):
    """Return the nominal stresses along two stretches in the plane, from the law."""
    _, pa, pj, *_ = plane_derivatives(l1**2 + l2**2, l1 * l2, table, part)
    return 2 * pa * l1 + pj * l2, 2 * pa * l2 + pj * l1


@pytest.mark.parametrize("stretch", [0.7, 0.95, 1.3, 1.8])
def test_uniaxial_tension(law, stretch):
    across = brentq(lambda c: principal_stresses(law, (stretch, c, c))[1], 0.3, 2.5, xtol=1e-15)
    table = law.table(plane_stress=True)
    *_, by_across, found = plane_derivatives(stretch**2 + across**2, stretch * across, table, ALL)
    assert_allclose(found, across, rtol=1e-12)
    assert abs(by_across) < 1e-12 * law.elastic_constants()[0]
    along, sideways = in_plane_stresses(table, stretch, across)
    scale = law.elastic_constants()[0]
    assert_allclose(along, principal_stresses(law, (stretch, across, across))[0], rtol=1e-11)
    assert abs(sideways) < 1e-12 * scale


def test_plane_strain_stresses(law):
    table = law.table()
    for l1, l2 in ((0.8, 1.1), (1.4, 0.9), (1.2, 1.25)):
        exact = principal_stresses(law, (l1, l2, 1.0))
        assert_allclose(in_plane_stresses(table, l1, l2), exact[:2], rtol=1e-12, atol=1e-14)
        *_, by_across, one = plane_derivatives(l1**2 + l2**2, l1 * l2, table, ALL)
        assert_allclose(by_across, exact[2], rtol=1e-12)
        assert one == 1.0


@pytest.mark.parametrize("name", sorted(MATERIALS))
def test_moduli_at_small_strain(name):
    law = MATERIALS[name]
    young, poisson = law.elastic_constants()
    g, k = law.moduli()
    assert_allclose(young, 2 * g * (1 + poisson), rtol=1e-14)
    assert_allclose(young, 3 * k * (1 - 2 * poisson), rtol=1e-14)
    assert_allclose(law.contact_modulus(), young / (1 - poisson**2), rtol=1e-14)
    assert law.contact_modulus(plane_stress=True) == young
    for plane_stress in (False, True):
        nu = poisson if plane_stress else poisson / (1 - poisson)
        stiff = law.contact_modulus(plane_stress)
        table = law.table(plane_stress)
        if isinstance(law, LinearElastic):
            lam, mu = linear_moduli(table, ALL)
            assert_allclose(lam + 2 * mu, stiff / (1 - nu**2), rtol=1e-14)
            assert_allclose(lam, nu * stiff / (1 - nu**2), rtol=1e-14)
            continue
        e = 1e-5
        plus = np.array(in_plane_stresses(table, 1 + e, 1.0))
        minus = np.array(in_plane_stresses(table, 1 - e, 1.0))
        exact = stiff / (1 - nu**2) * np.array([1.0, nu])
        assert_allclose((plus - minus) / (2 * e), exact, rtol=1e-8)


def test_invariant_derivatives(law):
    random = np.random.default_rng(1)
    table = law.table()
    first, second = [1, 2, 3], np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])
    for _ in range(5):
        x = np.array([3.0, 3.0, 1.0]) + random.uniform(-0.3, 0.6, 3)
        whole = np.zeros(10)
        for part in (SHAPE, VOLUME, ALL):
            here = np.array(invariant_derivatives(*x, table, part))
            scale = 1.0 + np.abs(here).max()
            for k in range(3):
                d = differences(x, k, table, part)
                assert_allclose(here[first[k]], d[0], atol=1e-9 * scale)
                assert_allclose(here[second[k]], d[first], atol=1e-9 * scale)
            if part != ALL:
                whole += here
        assert_allclose(whole, here, rtol=1e-13, atol=1e-14)


def differences(x, k, table, part):
    """Return all ten numbers, differentiated by one invariant."""
    values = []
    for side in (-2, -1, 1, 2):
        moved = x.copy()
        moved[k] += side * STEP
        values.append(np.array(invariant_derivatives(*moved, table, part)))
    return (values[0] - values[3] + 8.0 * (values[2] - values[1])) / (12.0 * STEP)


@pytest.mark.parametrize("plane_stress", [False, True])
def test_plane_derivatives(law, plane_stress):
    table = law.table(plane_stress)
    for a, j in ((2.0, 1.0), (2.6, 0.9), (2.2, 1.08), (4.0, 1.3)):
        psi, pa, pj, paa, paj, pjj, _, _ = plane_derivatives(a, j, table, ALL)

        def along(k, a=a, j=j):
            values = [
                np.array(plane_derivatives(a + s * STEP * (1 - k), j + s * STEP * k, table, ALL))
                for s in (-2, -1, 1, 2)
            ]
            return (values[0] - values[3] + 8.0 * (values[2] - values[1])) / (12.0 * STEP)

        assert np.isfinite(psi)
        by_a, by_j = along(0), along(1)
        scale = 1.0 + max(abs(paa), abs(paj), abs(pjj))
        assert_allclose((pa, paa, paj), by_a[[0, 1, 2]], atol=1e-9 * scale)
        assert_allclose((pj, paj, pjj), by_j[[0, 1, 2]], atol=1e-9 * scale)


def test_linear_parts_add_up():
    for law in (LinearElastic(1.5, 0.35), LinearElastic(2.0, -0.2)):
        table = law.table()
        shape, volume = linear_moduli(table, SHAPE), linear_moduli(table, VOLUME)
        assert_allclose(np.add(shape, volume), linear_moduli(table, ALL), rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: NeoHookean(0.0), "young"),
        (lambda: NeoHookean(float("nan")), "young"),
        (lambda: NeoHookean(1e-300), "young"),
        (lambda: LinearElastic(1e200), "young"),
        (lambda: NeoHookean(1.0, 0.5), "poisson"),
        (lambda: LinearElastic(1.0, -1.0), "poisson"),
        (lambda: NearlyIncompressible(-1.0, 0.49), "young"),
        (lambda: MooneyRivlin(0.0, 0.0), "c10"),
        (lambda: MooneyRivlin(-0.1, 0.2), "c10"),
        (lambda: MooneyRivlin(bulk=0.0), "bulk"),
        (lambda: Yeoh(c1=0.0), "c1"),
        (lambda: Yeoh(c2=float("inf")), "c2"),
        (lambda: Yeoh(bulk=-3.0), "bulk"),
    ],
)
def test_bad_numbers_are_refused(make, name):
    with pytest.raises(ModelError, match=name):
        make()
