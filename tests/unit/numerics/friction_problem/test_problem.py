import numpy as np
import pytest
import scipy.sparse as sp
from friction_cases import brick_tower

import stiction as st
from stiction.errors import ModelError

EYE = np.eye(6)
Q = np.array([[-1.0, 0.1, 0.0], [-1.0, 0.0, 0.2]])


def test_one_contact_by_hand():
    solved = st.friction_problem(np.eye(2), [[-1.0, 2.0]], mu=0.5).solve()
    np.testing.assert_allclose(solved.r, [[1.0, -0.5]], atol=1e-15)
    np.testing.assert_allclose(solved.u, [[0.0, 1.5]], atol=1e-15)
    assert "solved" in repr(solved)
    assert "rank of W" in str(solved.certificate)


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        ({"W": EYE + np.triu(0.1 * np.ones((6, 6)), 1)}, "asymmetry"),
        ({"W": EYE - 2.0 * np.diag([0, 0, 1, 0, 0, 0])}, "least eigenvalue"),
        ({"W": EYE * np.nan}, "NaN"),
        ({"q": Q + np.inf}, "inf"),
        ({"mu": -0.1}, "-0.1"),
        ({"mu": np.inf}, "inf"),
        ({"mu": np.nan}, "nan"),
        ({"mu": [0.1, 0.2, 0.3]}, "3 values"),
        ({"q": Q[:, :2]}, "4 values|rows for 2 contacts"),
        ({"q": Q.ravel(), "mu": 0.3}, "one coefficient, and q or w in a single row"),
        ({"W": EYE[:, :5]}, "6 x 5"),
        ({"W": np.eye(7)}, "7 rows"),
        ({"W": np.eye(8), "q": np.zeros((2, 4))}, "4 components each"),
        ({"W": np.diag([0.0, 0, 0, 1, 1, 1])}, "block of zeros"),
        ({"normal": 3}, "normal"),
        ({"normal": "first"}, "normal"),
        ({"M": EYE}, "W, q and mu and M"),
        ({"W": None}, "no M, H, f"),
        ({"mu": None}, "no mu"),
        ({"q": None}, "no q"),
        ({"W": None, "M": EYE, "H": EYE, "f": np.ones(6)}, "M, H, f, w and mu and q"),
        ({"W": "a.dat"}, "the path of a file and q, mu"),
        ({"W": "a.dat", "q": None, "mu": None, "normal": 1}, "the path of a file and normal"),
        ({"q": 1e-170 * np.ones((2, 3))}, "1e-170 as the largest component"),
        ({"q": -1e155 * np.ones((2, 3))}, "1e\\+155 as the largest component"),
        ({"W": np.diag([1.0, 1, 1, 1e-300, 1e-300, 1e-300])}, "1e-300 as the largest entry"),
        ({"W": EYE * 1e120}, "1e\\+120 as the largest entry"),
        ({"W": [["a"]]}, "matrix"),
        ({"W": np.ones(6)}, "shape"),
        ({"W": EYE * 1j}, "complex numbers"),
        ({"q": [[0.0, 0.0], [0.0]]}, "q: got .* needs an array of numbers"),
        ({"mu": [[0.1], [0.1, 0.2]]}, "mu: got .* needs an array of numbers"),
        ({"rolling": 0.1}, "rows for 2 contacts|components|got"),
    ],
)
def test_bad_input_is_refused(arguments, got):
    given = {"W": EYE, "q": Q, "mu": 0.3} | arguments
    if "rolling" in arguments:
        given |= {"W": np.eye(4), "q": np.zeros((2, 2))}
    with pytest.raises(ModelError, match=got) as caught:
        st.friction_problem(**given)
    assert "needs" in str(caught.value)
    assert "Try:" in str(caught.value)


def test_large_matrices_are_judged_as_small_ones():
    n = 450
    w = sp.eye_array(n, format="lil")
    good = st.friction_problem(sp.csr_array(w), np.zeros((n // 3, 3)), 0.3)
    assert good.asymmetry == 0.0
    w[5, 5] = -0.01
    with pytest.raises(ModelError, match="least eigenvalue"):
        st.friction_problem(sp.csr_array(w), np.zeros((n // 3, 3)), 0.3)


def test_small_defects_are_said():
    rng = np.random.default_rng(0)
    w = EYE + 1e-4 * rng.normal(size=(6, 6)) - (1 + 2e-4) * np.diag([0, 1, 0, 0, 0, 0.0])
    solved = st.friction_problem(w, Q, 0.3).solve()
    assert 1e-5 < solved.certificate.asymmetry < 1e-3
    assert -1e-3 < solved.certificate.least_eigenvalue < 0.0


def test_no_contact():
    empty = st.friction_problem(M=np.eye(2), H=np.zeros((2, 0)), f=[1.0, 2.0], mu=[]).solve()
    assert empty.r.shape == (0, 3)
    assert empty.converged
    np.testing.assert_array_equal(empty.v, [1.0, 2.0])
    assert empty.certificate.residual == 0.0
    assert st.friction_problem(np.zeros((0, 0)), [], []).solve().converged


def test_no_friction_and_high_friction():
    for mu, slip in ((0.0, 0.1), (1e3, 0.0)):
        solved = st.friction_problem(EYE, Q, mu).solve()
        assert solved.u[0, 1] == pytest.approx(slip, abs=1e-15)
        assert solved.converged


def test_a_fixed_contact_that_opens_is_solved():
    w = np.diag([0.0, 0, 0, 1, 1, 1])
    solved = st.friction_problem(w, -Q * [[1.0], [-1.0]], 0.3).solve()
    assert solved.converged
    assert solved.r[0].tolist() == [0.0, 0.0, 0.0]


def test_normal_second_is_the_same_problem():
    tower = brick_tower(2, 0.5, push=0.3)
    w, q = tower.local.matrix.toarray(), tower.local.q
    at = (np.arange(len(q))[:, None] * 3 + [1, 0, 2]).ravel()
    other = st.friction_problem(w[at][:, at], q[:, [1, 0, 2]], 0.5, normal=1)
    solved = other.solve()
    np.testing.assert_array_equal(solved.r[:, [1, 0, 2]], tower.solve().r)
    assert other.certificate(solved.r).residual <= 1e-10
    with pytest.raises(ModelError):
        other.certificate(solved.r[:-1])
    with pytest.raises(ModelError, match="solution: got 24 values"):
        brick_tower(1, 0.5).existence(solved)
    witness = other.existence(solved).witness.reshape(q.shape)
    np.testing.assert_array_equal(witness, solved.r)


def test_a_matrix_is_copied():
    mass = sp.csr_array(2.0 * np.eye(3))
    problem = st.friction_problem(M=mass, H=np.eye(3), f=[-1.0, 0.3, 0.0], mu=[0.1])
    mass.data[:] = 200.0
    solved = problem.solve()
    np.testing.assert_allclose(solved.v, solved.u.ravel(), atol=1e-15)


def test_a_contact_that_nothing_moves():
    still = st.friction_problem(np.zeros((2, 2)), [[0.0, 0.0]], 0.5)
    assert still.solve().certificate.least_eigenvalue == 0.0
    assert still.certificate([[-1.0, 0.0]]).residual == np.inf


def test_local_and_global_form_agree():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    mass, frames = root @ root.T + np.eye(6), rng.normal(size=(6, 6))
    f, w = rng.normal(size=6), rng.normal(size=6)
    for matrix in (mass, sp.csc_array(mass)):
        solved = st.friction_problem(M=matrix, H=frames, f=f, w=w, mu=[0.3, 0.6]).solve()
        np.testing.assert_allclose(frames.T @ solved.v + w, solved.u.ravel(), atol=1e-12)
        np.testing.assert_allclose(mass @ solved.v, frames @ solved.r.ravel() + f, atol=1e-10)
        assert solved.converged
    local = st.friction_problem(
        frames.T @ np.linalg.solve(mass, frames),
        frames.T @ np.linalg.solve(mass, f) + w,
        [0.3, 0.6],
    )
    np.testing.assert_allclose(local.solve().u, solved.u, atol=1e-11)


@pytest.mark.parametrize("suffix", ["dat", "hdf5"])
def test_normal_second_in_global_form(tmp_path, suffix):
    """M v = H r + f with forces as given, and a file of the same problem."""
    rng = np.random.default_rng(6)
    mass, frames = np.diag([2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), rng.normal(size=(6, 6))
    f, w = rng.normal(size=6), rng.normal(size=6)
    problem = st.friction_problem(M=mass, H=frames, f=f, w=w, mu=[0.3, 0.6], normal=1)
    solved = problem.solve()
    assert solved.converged
    assert solved.r.any()
    np.testing.assert_allclose(mass @ solved.v, frames @ solved.r.ravel() + f, atol=1e-12)
    np.testing.assert_allclose(frames.T @ solved.v + w, solved.u.ravel(), atol=1e-12)
    problem.write(tmp_path / f"problem.{suffix}")
    again = st.friction_problem(tmp_path / f"problem.{suffix}").solve()
    np.testing.assert_allclose(again.r, solved.r[:, [1, 0, 2]], atol=1e-12)
    np.testing.assert_allclose(again.v, solved.v, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_singular_masses_are_refused(sparse):
    mass = np.diag([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    given = sp.csc_array(mass) if sparse else mass
    with pytest.raises(ModelError, match="singular"):
        st.friction_problem(M=given, H=np.eye(6), f=np.ones(6), mu=[0.3, 0.3])
    with pytest.raises(ModelError, match="H"):
        st.friction_problem(M=np.eye(6), H=np.eye(5), f=np.ones(6), mu=[0.3])


@pytest.mark.parametrize("tol", [-1.0, 0.0, np.nan, "a"])
def test_a_tolerance_is_positive(tol):
    with pytest.raises(st.ModelError, match=r"friction_problem\.tol: got .*needs"):
        st.friction_problem(EYE, Q, 0.3).solve(tol=tol)


@pytest.mark.parametrize("contact", [2, -1, 0.5])
def test_an_interval_is_that_of_a_contact(contact):
    solved = st.friction_problem(EYE, Q, 0.3).solve()
    with pytest.raises(st.ModelError, match=r"contact: got .*needs"):
        solved.normal_force_interval(contact)


def test_the_shape_of_w_says_how_many_contacts_there_are():
    given = {"M": EYE, "H": EYE, "f": np.zeros(6), "mu": 0.3}
    for w, size in ((-np.ones((2, 3)), 3), (-np.ones((3, 2)), 2)):
        assert st.friction_problem(w=w, **given).local.q.shape == (6 // size, size)
