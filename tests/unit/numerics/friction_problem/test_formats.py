import numpy as np
import pytest
from friction_cases import FILES, FOLDER, brick_tower, problem_in

from stiction.errors import ModelError
from stiction.numerics.friction_problem.problem import friction_problem


def made_problems():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(10, 10))
    mass, frames = np.diag(rng.uniform(1, 2, 6)), rng.normal(size=(6, 4))
    return {
        "space": brick_tower(2, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]),
        "rolling": friction_problem(w @ w.T, rng.normal(size=(2, 5)), 0.5, rolling=[0.1, 0.2]),
        "rolling in the plane": friction_problem(
            w[:6] @ w[:6].T, rng.normal(size=(2, 3)), 0.5, rolling=[0.1, 0.2]
        ),
        "global": friction_problem(
            M=mass, H=frames, f=rng.normal(size=6), w=rng.normal(size=4), mu=[0.3, 0.4]
        ),
    }


@pytest.mark.parametrize("ending", ["dat", "hdf5"])
@pytest.mark.parametrize("kind", ["space", "rolling", "rolling in the plane", "global"])
def test_round_trips(tmp_path, kind, ending):
    problem = made_problems()[kind]
    path = tmp_path / f"problem.{ending}"
    problem.write(path)
    again = friction_problem(path)
    # a file of the global form has a sparse M, which is factorised in another order
    slack = 1e-13 if kind == "global" else 0.0
    ours, theirs = problem.local, again.local
    np.testing.assert_allclose(theirs.matrix.toarray(), ours.matrix.toarray(), atol=slack)
    np.testing.assert_allclose(theirs.q, ours.q, atol=slack)
    np.testing.assert_array_equal(again.local.mu, problem.local.mu)
    np.testing.assert_array_equal(again.local.rolling, problem.local.rolling)
    assert ours.n_tangent == theirs.n_tangent
    assert (again.masses is None) == (kind != "global")


def test_dense_matrices_lie_by_columns(tmp_path):
    """Siconos writes its array as it lies in memory; an H of 6 x 4 shows the order."""
    problem = made_problems()["global"]
    mass, frames, f, w = problem.masses
    words = [2, 2]
    for matrix in (mass, frames):
        full = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        words += [0, *full.shape, *full.shape, *full.ravel(order="F")]
    words += [*f, *w, 0.3, 0.4]
    path = tmp_path / "dense.dat"
    path.write_text("\n".join(map(repr, map(float, words))).replace(".0\n", "\n") + "\n")
    again = friction_problem(path)
    np.testing.assert_allclose(
        again.local.matrix.toarray(), problem.local.matrix.toarray(), atol=1e-13
    )
    np.testing.assert_allclose(again.local.q, problem.local.q, atol=1e-13)


@pytest.mark.parametrize("ending", ["dat", "hdf5"])
@pytest.mark.parametrize("name", FILES[::4] or ["no files"])
def test_files_round_trip(tmp_path, name, ending):
    problem = problem_in(name)
    problem.write(tmp_path / f"again.{ending}")
    again = friction_problem(tmp_path / f"again.{ending}")
    np.testing.assert_array_equal(again.local.matrix.toarray(), problem.local.matrix.toarray())
    np.testing.assert_array_equal(again.local.q, problem.local.q)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["space", "rolling", "rolling in the plane", "global"])
def test_texts_cut_short_are_refused(tmp_path, kind, share):
    path = tmp_path / "cut.dat"
    made_problems()[kind].write(path)
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    with pytest.raises(ModelError, match="Try"):
        friction_problem(path)


@pytest.mark.parametrize("name", FILES or ["no files"])
def test_files_cut_short_are_refused(tmp_path, name):
    problem_in(name)
    content = (FOLDER / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: int(0.6 * len(content))])
    with pytest.raises(ModelError, match="Try"):
        friction_problem(path)


SPARSE = "3\n1\n2\n3\n3\n0\ntriplet: 3-by-3, nzmax: 3 nnz: {}\n{} 0 : 1\n1 1 : 1\n2 2 : 1\n"
SPARSE += "-1 0 0\n.5\n"
DENSE = "3\n1\n0\n3\n3\n3 3\n1 0 0 0 1 0 0 0 1\n{}\n.5\n{}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        "7\n1\n",
        "3\n1\n9\n3\n3\n",
        "3\n1\n0\n3\n3\n3 3\n1 x 3\n",
        SPARSE.format(3, 7),
        SPARSE.format(3, "a"),
        SPARSE.format(-3, 0),
        DENSE.format("-1 0 0", "0.1 0.2\n"),
        DENSE.format("-1 0 0", "0.1 1\n0\n1\n"),
    ],
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "other.dat"
    path.write_text(text)
    with pytest.raises(ModelError, match="friction_problem"):
        friction_problem(path)


def test_files_by_hand(tmp_path):
    """Whole numbers in q that look like the head of a matrix, a flag, rolling in the plane."""
    path = tmp_path / "hand.dat"
    for text, n_tangent, last in (
        (SPARSE.format(3, 0), 2, 0.0),
        (DENSE.format("1 3 3", ""), 2, 3.0),
        (DENSE.format("-1 0 0", "1\n"), 2, 0.0),
        (DENSE.format("-1 0 0", ".2\n1\n"), 1, 0.0),
    ):
        path.write_text(text)
        local = friction_problem(path).local
        assert (local.n_tangent, local.q[0, 2]) == (n_tangent, last)
        assert local.rolling.tolist() == [0.2 if n_tangent == 1 else 0.0]
    # the last coefficient of rolling friction of two contacts is no flag, but a third word is
    problem = friction_problem(np.eye(6), -np.ones((2, 3)), 0.5, rolling=[0.5, 0.25])
    problem.write(path)
    words = path.read_text().split()[:-2]
    for more in ("0.5 0\n", "0.5 0 1\n"):
        path.write_text(" ".join(words) + " " + more)
        assert friction_problem(path).local.rolling.tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("vectors/mu", b"a"),
        ("vectors/mu", None),
        ("vectors/q", None),
        ("W/m", []),
        ("W/i", 99),
        ("spacedim", [2]),
    ],
)
def test_damaged_hdf5_is_refused(tmp_path, place, value):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "damaged.h5"
    made_problems()["space"].write(path)
    with h5py.File(path, "a") as file:
        group = file["fclib_local"]
        value = np.full(group[place].shape, 99) if value == 99 else value
        del group[place]
        group.create_group(place) if value is None else group.create_dataset(place, data=value)
    with pytest.raises(ModelError, match=r"friction_problem\('damaged.h5'\).*needs"):
        friction_problem(path)


@pytest.mark.parametrize(("kind", "names"), [("local", "VR"), ("global", "G")])
def test_bilateral_constraints_are_refused(tmp_path, kind, names):
    """FCLIB has G in the global form, V and R in the local one, beside the contacts."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "problem.hdf5"
    made_problems()[{"local": "space"}.get(kind, kind)].write(path)
    with h5py.File(path, "a") as file:
        for name in names:
            file.create_group(f"fclib_{kind}/{name}")
    with pytest.raises(ModelError, match="bilateral constraints " + " and ".join(names)):
        friction_problem(path)


def test_a_path_without_a_file_is_refused(tmp_path):
    for place in (tmp_path / "none.dat", tmp_path):
        with pytest.raises(ModelError, match="needs a readable file of Siconos or FCLIB"):
            friction_problem(place)
