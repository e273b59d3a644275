"""Random chains for property tests: stiffness over six decades, all walls, loads and laws."""

from hypothesis import strategies as st

import stiction


def between(low, high):
    # rounded: speeds of 1e-115 m/s test floating point, not mechanics
    return st.floats(low, high, allow_nan=False).map(lambda x: round(x, 7))


LOADS = st.one_of(
    st.builds(stiction.Constant, between(-20.0, 20.0)),
    st.builds(stiction.Ramp, between(-5.0, 5.0), between(-5.0, 5.0)),
    st.builds(stiction.chains.Sine, between(-20.0, 20.0), between(0.1, 9.0), between(-3.0, 3.0)),
    st.builds(
        lambda a, b: stiction.chains.PiecewiseLinear([0.3, 0.9, 2.0], [a, b, 0.5 * a]),
        between(-15.0, 15.0),
        between(-15.0, 15.0),
    ),
)
LAWS = st.one_of(
    st.builds(stiction.Coulomb, between(0.0, 0.8)),
    st.builds(lambda k, d: stiction.StaticKinetic(k + d, k), between(0.0, 0.4), between(0.0, 0.3)),
    st.builds(
        lambda k, d, v: stiction.ExponentialWeakening(k + d, k, v),
        between(0.01, 0.4),
        between(0.0, 0.3),
        between(0.02, 2.0),
    ),
    st.builds(lambda s: stiction.laws.RandomCoulomb(0.3, 0.2, s), st.integers(0, 99)),
)


@st.composite
def chains(draw, laws=LAWS, belt=True):
    """Draw a chain: stiffness over six decades, all kinds of walls, loads and laws."""
    n = draw(st.integers(1, 5))
    supports = draw(st.sampled_from(["left", "right", "both"] + (["none"] if n > 1 else [])))
    springs = n - 1 + {"left": 1, "right": 1, "both": 2, "none": 0}[supports]

    def each(size, low, high):
        return draw(st.lists(between(low, high), min_size=size, max_size=size))

    stiffness = [10.0**e for e in each(springs, -2.0, 4.0)]
    return stiction.Chain(
        mass=each(n, 0.2, 5.0),
        stiffness=stiffness,
        damping=draw(st.sampled_from([0.0, 0.0, 0.3, 2.0])),
        load=draw(LOADS),
        law=draw(laws),
        x0=each(n, -0.02, 0.02),
        v0=each(n, -1.0, 1.0) if draw(st.booleans()) else 0.0,
        supports=supports,
        belt_speed=draw(st.sampled_from([0.0, 0.0, 0.4])) if belt else 0.0,
    )
