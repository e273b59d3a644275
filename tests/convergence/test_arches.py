"""Arches that snap or lean, alone and on a floor, against polynomials over the whole arch.

The second method is that of `benchmarks/trust_arches.py`; it shares no code with the package.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import stiction as st

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def arches():
    """The script of the benchmark, which is no package."""
    if not BENCHMARKS.is_dir():
        pytest.skip("this copy of the sources has no benchmarks")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("trust_arches")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_polynomials_converge(arches):
    low, high = arches.Arch(40.0, 2.0), arches.Arch(40.0, 4.0)
    assert arches.Ritz(low, 16).limit(1.4) == pytest.approx(
        arches.Ritz(low, 22).limit(1.4), rel=1e-5
    )
    rough, fine = (arches.Ritz(high, degree).lean(7.5e-5) for degree in (16, 22))
    assert rough == pytest.approx(fine, rel=1e-5)


@pytest.mark.parametrize("name", ["load steps", "branch", "continuation", "path and branch"])
def test_a_high_arch_leans(arches, name):
    arch = arches.Arch(40.0, 4.0)
    load = arches.Ritz(arch, 16).lean(7.5e-5)
    found, _ = arches.reported(arches.METHODS[name](20), arch, 1.2 * load, None, ("bifurcation",))
    assert found == pytest.approx(load, rel=1e-3)


def test_a_high_arch_on_a_floor_leans_later(arches):
    arch = arches.Arch(40.0, 4.0)
    load = arches.Ritz(arch, 28, 3, 0.4).lean(1.5e-4)
    assert load > 2.0 * arches.Ritz(arch, 16).lean(7.5e-5)
    found, _ = arches.reported(
        st.solids.Quasistatic(steps=20), arch, 1.2 * load, 0.4, ("bifurcation",)
    )
    assert found == pytest.approx(load, rel=1e-3)


def test_a_low_arch_snaps(arches):
    arch = arches.Arch(40.0, 2.0)
    load = arches.Ritz(arch, 16).limit(1.4)
    kinds = ("limit_point", "quasistatic_jump")
    for method in (st.Continuation(steps=20, max_steps=40), st.solids.Quasistatic(steps=8)):
        found, first = arches.reported(method, arch, 1.5 * load, None, kinds)
        assert first in kinds
        assert found == pytest.approx(load, rel=1e-3)


@pytest.mark.parametrize(("rise", "load"), [(1.5, 1.5356e-5), (2.0, 2.4170e-5)])
@pytest.mark.parametrize("steps", [1, 2, 5, 20])
@pytest.mark.parametrize("times", [1.5, 10.0])
def test_no_arch_snaps_in_silence(arches, rise, load, steps, times):
    """Steps that jump over a snap report it; a run that stops before it says so."""
    solid = arches.solid(arches.Arch(40.0, rise), times * load, cells=(24, 1))
    run = st.solve(solid, st.solids.Quasistatic(steps=steps), throw=False)
    if run.status.ok:
        drawn = run.data["drawn_position"].values
        assert np.min((drawn[-1] - drawn[0])[:, 1]) < -1.2 * rise
        assert [loss.kind for loss in run.determinism.losses][:1] == ["quasistatic_jump"]
    else:
        assert float(run.time[-1]) * times == pytest.approx(1.0, abs=3e-3)
