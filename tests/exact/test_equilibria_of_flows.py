"""Equilibria, pseudo-equilibria and their boundary bifurcations, against linear flows.

With x' = A x + b mu + s e and h = c x - d every equilibrium is explicit. On a side, s = 1 or -1,
it is x = -A^-1 (b mu + s e). On the surface s = -(d + c A^-1 b mu) / kappa, kappa = c A^-1 e. The
three branches meet where s = 1 and s = -1. For kappa > 0 the parameter goes on there, for
kappa < 0 it turns.

Source: di Bernardo et al. 2008, section 5.1.
"""

import dataclasses

import numpy as np
import pytest

import stiction as st

N = 3
NAMES = tuple(f"{part}{i}" for part in "bce" for i in range(N)) + tuple(
    f"a{i}{j}" for i in range(N) for j in range(N)
)


def plane(x, p):
    return p.c0 * x[0] + p.c1 * x[1] + p.c2 * x[2] - p.d


def plus(x, p):
    return [
        p.a00 * x[0] + p.a01 * x[1] + p.a02 * x[2] + p.b0 * p.mu + p.e0,
        p.a10 * x[0] + p.a11 * x[1] + p.a12 * x[2] + p.b1 * p.mu + p.e1,
        p.a20 * x[0] + p.a21 * x[1] + p.a22 * x[2] + p.b2 * p.mu + p.e2,
    ]


def minus(x, p):
    return [
        p.a00 * x[0] + p.a01 * x[1] + p.a02 * x[2] + p.b0 * p.mu - p.e0,
        p.a10 * x[0] + p.a11 * x[1] + p.a12 * x[2] + p.b1 * p.mu - p.e1,
        p.a20 * x[0] + p.a21 * x[1] + p.a22 * x[2] + p.b2 * p.mu - p.e2,
    ]


FLOW = st.PiecewiseSmooth(
    h=plane,
    f_plus=plus,
    f_minus=minus,
    x0=[1.0, 0.5, 0.2],
    parameters=dict.fromkeys((*NAMES, "d", "mu"), 1.0),
)


def drawn(seed):
    """Return a flow in drawn units of length, time and parameter."""
    rng = np.random.default_rng(seed)
    while True:
        matrix = rng.normal(size=(N, N))
        b, c, e = rng.normal(size=(3, N))
        solved = np.linalg.solve(matrix, np.array([b, e]).T).T
        slope, kappa = solved @ c
        if min(abs(slope), abs(kappa)) > 0.2 and np.linalg.cond(matrix) < 30.0:
            break
    length, rate, unit = 10.0 ** rng.uniform(-3.0, 3.0, 3)
    matrix, b, e = rate * matrix, rate * length / unit * b, rate * length * e
    d = length * rng.uniform(-1.0, 1.0)
    slope, kappa = slope * length / unit, kappa * length
    values = {"d": d, "mu": 0.0}
    for name, column in (("b", b), ("c", c), ("e", e)):
        values |= {f"{name}{i}": column[i] for i in range(N)}
    values |= {f"a{i}{j}": matrix[i, j] for i in range(N) for j in range(N)}
    flow = dataclasses.replace(FLOW, scale=length, parameters=values)
    return flow, matrix, (b, c, e), d, slope, kappa, unit


def balanced(matrix, b, e, mu, s):
    return -np.linalg.solve(matrix, b * mu + s * e)


def test_branches_of_linear_flows():
    kinds = []
    for seed in range(50):
        flow, matrix, (b, c, e), d, slope, kappa, unit = drawn(seed)
        # the parameter at which s = 1 and s = -1 on the surface
        exact = {s: -(d + s * kappa) / slope for s in (1.0, -1.0)}
        middle, half = -d / slope, abs(kappa / slope)
        span = (middle - 2.0 * half, middle + 2.0 * half)
        start = flow.with_parameters(mu=middle + 0.3 * half)
        point = st.switching.find_equilibrium(
            start, balanced(matrix, b, e, middle, 0.0) * 1.1, "slide"
        )
        assert point.multipliers == pytest.approx([-0.3 * half * slope / kappa], abs=1e-9)
        branch = st.switching.continue_equilibrium(point, "p.mu", span, step=0.4)
        expected = "persistence" if kappa > 0.0 else "non-smooth fold"
        assert [one.kind for one in branch.bifurcations] == [expected] * 2, (seed, branch)
        for one in branch.bifurcations:
            s = float(np.sign(one.equilibrium.multipliers[0]))
            assert one.value == pytest.approx(exact[s], abs=1e-9 * unit), seed
            spectrum = np.sort_complex(np.linalg.eigvals(matrix))
            assert np.sort_complex(one.equilibrium.eigenvalues) == pytest.approx(
                spectrum, abs=1e-9 * np.abs(spectrum).max()
            )
        assert {one.equilibrium.multipliers[0] for one in branch.bifurcations} == {1.0, -1.0}
        for one, mu in zip(branch.points, branch.values, strict=True):
            s = float(one.multipliers[0])
            size = np.abs(one.state).max()
            assert one.state == pytest.approx(balanced(matrix, b, e, mu, s), abs=1e-9 * size)
            if one.pseudo:
                assert s == pytest.approx(-(d + slope * mu) / kappa, abs=1e-9)
                # s follows from c (A x + b mu + s e) = 0
                sliding = matrix - np.outer(e, c @ matrix) / (c @ e)
                expected_values = np.linalg.eigvals(sliding)
                expected_values = expected_values[np.argsort(np.abs(expected_values))[1:]]
                tolerance = 1e-8 * np.abs(sliding).max()
                assert np.sort_complex(one.eigenvalues) == pytest.approx(
                    np.sort_complex(expected_values.astype(complex)), abs=tolerance
                )
                assert one.attracting == (c @ e < 0.0)
        kinds.append(expected)
    assert 10 < kinds.count("persistence") < 40


def cubic(x, p):
    return [p.mu - x[0] ** 2, -x[1]]


def turning(x, p):
    growth = p.mu
    return [growth * x[0] - x[1], x[0] + growth * x[1]]


@pytest.mark.parametrize(("field", "kind"), [(cubic, "fold"), (turning, "Hopf")])
def test_smooth_bifurcations(field, kind):
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 10.0,
        f_plus=field,
        f_minus=field,
        x0=[1.0, 0.5],
        parameters={"mu": 0.3},
    )
    point = st.switching.find_equilibrium(flow, [0.5, 0.1])
    branch = st.switching.continue_equilibrium(point, "p.mu", (-0.4, 0.5))
    assert [one.kind for one in branch.bifurcations] == [kind]
    assert branch.bifurcations[0].value == pytest.approx(0.0, abs=1e-10)
    assert all("reached" in end for end in branch.ends)
    assert f"  {kind} at p.mu = " in repr(branch)
    assert "Equilibrium" in repr(point)


def spiral(x, p):
    turn = [(p.mu - 0.3) * x[0] - x[1], x[0] + (p.mu - 0.3) * x[1]]
    rates = turn + [-(1.0 + 0.1 * i) * x[2 + i] for i in range(8)]
    return [p.rate * one for one in rates]


@pytest.mark.parametrize("rate", [1e-5, 1e7])
def test_a_hopf_bifurcation_of_many_states_in_any_unit_of_time(rate):
    """The 45 sums of two of ten eigenvalues are of size `rate`, and their product of rate^45."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 5.0,
        f_plus=spiral,
        f_minus=spiral,
        x0=[0.0] * 10,
        scale=1.0,
        parameters={"rate": rate, "mu": 0.0},
    )
    point = st.switching.find_equilibrium(flow, [0.0] * 10)
    branch = st.switching.continue_equilibrium(point, "p.mu", (-1.0, 1.0))
    assert [one.kind for one in branch.bifurcations] == ["Hopf"]
    assert branch.bifurcations[0].value == pytest.approx(0.3, rel=1e-10)


def test_two_blocks_at_rest():
    """Each block slides with the belt; its multiplier carries the force of the springs."""
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[1], lambda x: x[3]],
        f=lambda x, s, p: [
            x[1],
            p.push - 2.0 * x[0] + x[2] - s[0],
            x[3],
            x[0] - 2.0 * x[2] - 2.0 * s[1],
        ],
        x0=[0.1, 0.0, 0.1, 0.0],
        parameters={"push": 0.3},
    )
    with pytest.raises(st.SolveError, match="virtual"):
        st.switching.find_equilibrium(flow.with_parameters(push=9.0), [0.1, 0, 0.1, 0])
    with pytest.raises(st.ModelError, match="mode"):
        st.switching.find_equilibrium(flow, [0.1, 0.0, 0.1, 0.0], "slide")
    with pytest.raises(st.ModelError, match="clock"):
        st.switching.find_equilibrium(
            st.PiecewiseSmooth(
                h=lambda x: x[0],
                f_plus=lambda t, x, p: [np.cos(t)],
                f_minus=lambda t, x, p: [np.cos(t)],
                x0=[1.0],
                parameters={"mu": 1.0},
            ),
            [1.0],
        )


def test_a_branch_needs_an_equilibrium():
    with pytest.raises(st.ModelError, match="point"):
        st.switching.continue_equilibrium(None, "p.mu", (0.0, 1.0))
    point = st.switching.find_equilibrium(drawn(0)[0], np.zeros(N), "slide")
    with pytest.raises(st.ModelError, match="span"):
        st.switching.continue_equilibrium(point, "p.mu", (1.0, 2.0))


@pytest.mark.parametrize(
    ("a", "d", "b", "c", "attracting"),
    [(-0.5, 1.0, 1.5, 4.0, False), (-0.3, 0.2, 1.0, 0.5, True), (0.1, 0.1, 1.0, 1.0, True)],
)
def test_two_relays_attract_by_their_spiral(a, d, b, c, attracting):
    # half a turn multiplies |x| by (b - a)(c - d) / ((b + a)(c + d))
    flow = st.PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]],
        f=lambda x, s: [-a * s[0] + b * s[1], -c * s[0] - d * s[1]],
        x0=[1.0, 0.3],
    )
    assert ((b - a) * (c - d) < (b + a) * (c + d)) == attracting
    assert st.switching.find_equilibrium(flow, [0.0, 0.0]).attracting == attracting


def test_a_parameter_constant_along_a_branch_has_no_folds():
    # at belt speed zero every position within the friction is at rest
    belt = st.BeltOscillator()
    rest = st.switching.find_equilibrium(belt, [1.0, 0.0])
    branch = st.switching.continue_equilibrium(rest, "belt_speed", (0.0, 1.0))
    assert "fold" not in [found.kind for found in branch.bifurcations]


@pytest.mark.parametrize("mode", [1, [["+"]]])
def test_modes_of_another_kind_are_refused(mode):
    with pytest.raises(st.ModelError, match="mode"):
        st.switching.find_equilibrium(st.BeltOscillator(), [1.0, 0.0], mode=mode)


def test_eigenvalues_of_a_field_that_changes_over_a_small_part_of_the_scale():
    """Friction -y/2 + d tanh(y / d): wide differences would see the viscous part alone."""
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 10.0,
        f_plus=lambda x, p: [x[1], 0.5 - x[0] - 0.5 * x[1] + p.d * np.tanh(x[1] / p.d)],
        f_minus=lambda x, p: [x[1], -x[0]],
        x0=[0.4, 0.0],
        parameters={"d": 1.0},
    )
    wanted = 0.25 + np.sqrt(0.9375) * np.array([1j, -1j])
    for width in (1.0, 0.03, 1e-3, 1e-5):
        found = st.switching.find_equilibrium(flow.with_parameters(d=width), [0.4, 0.0])
        assert not found.stable
        np.testing.assert_allclose(found.eigenvalues, wanted, atol=1e-9)


# eigenvalues 2 and -+ 1j, with a turn of the axes that leaves rounding in their real parts
TURNED = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
RISING = (TURNED @ np.array([[2.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]) @ TURNED.T).tolist()


@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize(
    ("field", "start", "kind", "words"),
    [
        (lambda x: [x[1], 0.3 - x[0]], [0.1, 0.1], "non-hyperbolic point", "not decided"),
        (
            lambda x: [x[0] * (1.1 - 0.7 * x[1]), x[1] * (0.3 * x[0] - 0.9)],
            [2.9, 1.5],
            "non-hyperbolic point",
            "not decided",
        ),
        (lambda x: [x[1] - x[0] ** 3, -x[0]], [0.01, 0.0], "non-hyperbolic point", "not decided"),
        (lambda x: [x[1], 0.0 * x[0]], [0.1, 0.0], "non-hyperbolic point", "not decided"),
        (lambda x: [-x[0], -1e-9 * x[1]], [0.1, 0.1], "node", ": stable"),
        (lambda x: [x[1] - 1e-7 * x[0], -x[0] - 1e-7 * x[1]], [0.1, 0.1], "focus", ": stable"),
        (lambda x: [x[1] + 1e-7 * x[0], -x[0]], [0.1, 0.1], "focus", "unstable"),
        (lambda x: [x[1], x[0]], [0.1, 0.1], "saddle", "unstable"),
        (
            lambda x: [sum(a * y for a, y in zip(row, x, strict=True)) for row in RISING],
            [0.1, 0.1, 0.1],
            "non-hyperbolic point",
            "unstable",
        ),
    ],
)
def test_what_eigenvalues_do_not_decide_is_not_claimed(field, start, kind, words):
    flow = st.PiecewiseSmooth(lambda x: x[0] + 50.0, field, field, x0=start)
    found = st.switching.find_equilibrium(flow, start, "+")
    assert found.kind == kind
    assert words in repr(found)
    assert found.stable == (words == ": stable")


@pytest.mark.usefixtures("plain_kernels")
def test_a_line_of_rest_states_is_not_called_unstable():
    # the states of rest under dry friction: neighbours stay neighbours
    flow = st.PiecewiseSmooth(
        lambda x: x[1], lambda x: [x[1], -x[0] - 1.0], lambda x: [x[1], 1.0 - x[0]], x0=[1.0, 0.1]
    )
    found = st.switching.find_equilibrium(flow, [0.3, 0.0])
    assert (found.pseudo, found.attracting, found.stable) == (True, True, False)
    assert "not decided" in repr(found)
