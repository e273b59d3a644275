"""A chain of three masses under a ramp, swept over its friction: cheap, with events."""

import pytest

import stiction as st


@pytest.fixture
def chain():
    return st.Chain(
        mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(mu=0.25)
    )


@pytest.fixture
def sweep(chain):
    def made(count=9, **others):
        given = {"results": ("max(onset_force)", "final.x"), "t_span": (0.0, 8.0), **others}
        return st.Sweep(chain, {"law.mu": st.studies.Range(0.1, 0.3, count)}, **given)

    return made
