"""What slip does to stress along a line: transforms, matrices, closed forms."""

import numpy as np
import pytest

from stiction.faults.stiffness import SURFACES, Convolution, dense


@pytest.mark.parametrize("surface", SURFACES)
def test_transforms_do_what_the_matrix_does(surface):
    rng = np.random.default_rng(2)
    for n in (2, 3, 8, 33, 100):
        slip = rng.standard_normal(n)
        matrix = dense(n, 0.7, 3e10, surface)
        size = np.abs(matrix).max()
        assert Convolution(n, 0.7, 3e10, surface)(slip) == pytest.approx(
            matrix @ slip, abs=1e-13 * size
        )
        assert np.abs(matrix - matrix.T).max() <= 1e-15 * size
        # slip costs energy, but for a line that slips as one and repeats
        assert np.linalg.eigvalsh(matrix)[-1] <= (1e-14 * size if surface == "periodic" else 0.0)


def test_a_uniform_stress_drop():
    # a crack of half length c in a whole space: slip = 2 drop / G sqrt(c^2 - x^2) (Starr 1928)
    off = []
    for n in (50, 100, 200):
        x = (np.arange(n) + 0.5) * 2.0 / n - 1.0
        slip = np.linalg.solve(dense(n, 2.0 / n, 1.0, "none"), -np.ones(n))
        exact = 2.0 * np.sqrt(1.0 - x**2)
        off.append(abs(slip.sum() - exact.sum()) / exact.sum())
    assert off[2] < 0.006
    # reason: the order of convergence, one, seen on meshes that are coarse
    assert off[0] / off[1] == pytest.approx(2.0, abs=0.2)


def test_a_free_surface_is_half_of_a_symmetric_line():
    n, rng = 12, np.random.default_rng(4)
    slip = rng.standard_normal(n)
    half = dense(n, 1.0, 1.0, "free") @ slip
    whole = dense(2 * n, 1.0, 1.0, "none") @ np.concatenate([slip[::-1], slip])
    assert half == pytest.approx(whole[n:], rel=1e-12)


def test_a_wave_of_slip_on_a_periodic_line():
    n, width, modulus = 64, 0.5, 2.0
    k = 2.0 * np.pi * 3 / (n * width)
    x = np.arange(n) * width
    stress = Convolution(n, width, modulus, "periodic")(np.cos(k * x))
    assert stress == pytest.approx(-0.5 * modulus * k * np.cos(k * x), abs=1e-13)
