"""What pictures of the paper on nondeterminism are drawn from."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.papers import switching
from stiction.papers.items import LOST


class Figure:
    def __init__(self, *given, **named):
        self.given, self.named = given, named

    def savefig(self, path, dpi=None):
        self.path, self.dpi = path, dpi


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn last, by any of the figures."""
    made = []

    def figure(*given, **named):
        made.append(Figure(*given, **named))
        return made[-1]

    for place in (
        "local.local_flow", "local.condition_panels", "surface.recurrence", "surface.surface_map",
        "surface.tyre_curves", "line.line_returns",
    ):  # fmt: skip
        monkeypatch.setattr(f"stiction.switching.figures.{place}", figure)
    return made


def test_the_local_flow_is_that_of_the_linear_system(monkeypatch, drawn, tmp_path):
    """Sliding by xi' = -J2 xi + ... : lines along the eigenvectors grow by the eigenvalues."""
    j1, j2, values = -1.2, -1.5, (0.4, -0.9)
    found = SimpleNamespace(J1=j1, J2=j2, eigenvalues=values)
    monkeypatch.setattr(switching, "_two_fold", lambda runs: found)
    arcs = []
    monkeypatch.setattr(
        "stiction.switching.portraits.local_arcs",
        lambda *given: arcs.append(given) or [f"arc {len(arcs)}"],
    )
    monkeypatch.setattr(
        "stiction.switching.portraits.local_sticking",
        lambda a, b, xi, eta: (a, b, xi[0], eta[:, 0]),
    )
    switching._draw_3({}, tmp_path / "p.png")
    (figure,) = drawn
    (across, up), sticking, directions, eigenvalues, shown, sliding = figure.given
    np.testing.assert_array_equal(across, np.linspace(-1.0, 1.0, 120))
    np.testing.assert_array_equal(up, across)
    assert sticking[:2] == (j1, j2)
    np.testing.assert_array_equal(sticking[2], across)
    np.testing.assert_allclose(directions, [[0.4 - j2, 1.0], [-0.9 - j2, 1.0]])
    assert eigenvalues == list(values)
    assert [a[2:] for a in arcs] == [((-0.10, -0.08), 1, 2), ((-0.16, -0.13), -1, 2)]
    assert [a[:2] for a in arcs] == [(j1, j2)] * 2
    assert shown == ["arc 1", "arc 2"]
    # two lines from each of four starts, one the other turned around
    assert len(sliding) == 8
    rows = np.stack(directions)
    for k, start in enumerate(((1.0, 0.25), (1.0, 0.6), (0.7, 1.0), (0.3, 1.0))):
        line, other = sliding[2 * k], sliding[2 * k + 1]
        np.testing.assert_allclose(line[1:, 0], start, atol=1e-12)
        np.testing.assert_allclose(other, -line, atol=1e-12)
        assert (line[0] == 0.0).all()
        assert np.abs(line).max() <= 1.0
        # in the frame of the eigenvectors each part grows by its eigenvalue
        parts = np.linalg.solve(rows.T, line[1:])
        s = np.linspace(0.0, 30.0, 400)
        inside = [
            abs(x).max() <= 1.0 for x in ((parts[:, :1] * np.exp(np.outer(values, s))).T @ rows)
        ]
        assert line.shape[1] == sum(inside)
    assert (figure.path, figure.dpi) == (tmp_path / "p.png", 150)


def test_tyres_of_figure_8(drawn, tmp_path):
    """In full slip the force is 2 a rho delta; the table is that of the caption."""
    rows = switching._figure_8({})
    ours = {row.what: row.ours for row in rows}
    papers = {row.what: row.paper for row in rows}
    for letter, delta in (("a", 1.0), ("b", 1e-3)):
        what = f"({letter}) force in full slip [N]; the paper's 2 a delta lacks rho"
        assert papers[what] == pytest.approx(2.0 * delta)
        assert ours[what] == pytest.approx(2.0 * delta * 2.0 / 3.0)
        assert papers[f"({letter}) moment in full slip [N m]"] == 0.0
        assert ours[f"({letter}) moment in full slip [N m]"] == pytest.approx(0.0, abs=1e-12)
        assert ours[f"({letter}) slip begins at angle [rad]"] > 0.0
    tyre = next(iter(switching._tyres().values()))
    assert (tyre.stiffness, tyre.max_pressure, tyre.half_length) == (1.0, 1.0, 1.0)
    angles = np.linspace(0.5, 1.5, 2001) * tyre.onset_angle
    assert ours["(a) largest moment [N m]"] == pytest.approx(float(tyre.moment(angles).max()))
    switching._draw_8({}, tmp_path / "p.png")
    (figure,) = drawn
    angle, panels = figure.given
    assert (angle[0], angle[-1], angle.size) == (0.0, pytest.approx(0.5 * np.pi), 4000)
    assert (np.diff(angle) >= 0.0).all()
    for (title, force, moment), (key, law) in zip(panels, switching._tyres().items(), strict=True):
        assert title == key
        np.testing.assert_array_equal(force, law.force(angle))
        np.testing.assert_array_equal(moment, law.moment(angle))


def test_rows_of_the_two_fold(monkeypatch):
    found = SimpleNamespace(
        Kpp=-1.0, Kpm=2.0, Kmp=3.0, Kmm=4.0, J1=-1.5, J2=None, case=1, kind="invisible-invisible",
        eigenvalues=(0.5, -0.5), eigenvectors=((1.0, 2.0), (1.0, -2.0)), deterministic=False,
    )  # fmt: skip
    monkeypatch.setattr(switching, "_two_fold", lambda runs: found)
    rows = switching._figure_3({})
    assert [row.ours for row in rows[:5]] == [-1.0, 2.0, 3.0, 4.0, -1.5]
    assert np.isnan(rows[5].ours)
    assert [row.ours for row in rows[6:9]] == [0.5, -0.5, 1.0]
    assert [row.ours for row in rows[9:]] == ["yes"] * 4
    assert [row.what[:3] for row in rows[:4]] == ["K++", "K+-", "K-+", "K--"]
    other = SimpleNamespace(
        **{**vars(found), "kind": "visible-visible", "deterministic": True, "case": None,
           "eigenvectors": ((1.0, -2.0), (1.0, 2.0))}
    )  # fmt: skip
    monkeypatch.setattr(switching, "_two_fold", lambda runs: other)
    rows = switching._figure_3({})
    assert rows[8].ours == 0.0
    assert [row.ours for row in rows[9:]] == ["no"] * 4


def log(*events):
    return SimpleNamespace(time=np.array([t for t, _ in events]), kind=[k for _, k in events])


def test_arcs_of_slip_lie_between_crossings():
    made = SimpleNamespace(
        event_log=log((0.5, "cross"), (1.0, "slide"), (1.75, "cross"), (2.0, "cross"))
    )
    assert switching._slip_times(made) == "1.2500, 0.2500"


@pytest.mark.parametrize(
    ("kinds", "word"), [((), "no"), (("two_fold",), "yes"), (("two_fold", "fold"), "no")]
)
def test_how_a_run_ended(kinds, word):
    losses = [SimpleNamespace(kind=kind) for kind in kinds]
    run = SimpleNamespace(determinism=SimpleNamespace(losses=losses))
    assert switching._ended(run, "two_fold") == word


def test_rows_of_the_futures(monkeypatch):
    class Funnel:
        dwell = np.array([0.5, 2.5, 1.0])

        def __len__(self):
            return 3

        def return_times(self, kind, hazard):
            assert kind == "codim2_line"
            return np.array([1.0, 4.0]), np.array([0.25, 0.5]) * hazard

    monkeypatch.setattr(switching, "_futures", lambda runs: Funnel())
    rows = switching._funnel({})
    assert [row.ours for row in rows] == pytest.approx([3.0, 2.5, 0.375, 3.0, 1.5, 3.0])
    assert rows[2].what.startswith("leaving at rate 0.5 per")
    assert rows[4].what.startswith("leaving at rate 2 per")


def test_rows_of_the_line(monkeypatch):
    times = {"up": np.array([1.0, np.nan, 3.0, np.nan])}
    maps = {"slide": (np.array([1.0, 2.0, 3.0]), np.array([0.5, np.nan, 2.75]))}
    monkeypatch.setattr(switching, "_wheel", lambda run: "wheel")
    monkeypatch.setattr(switching, "_line_times", lambda wheel: times)
    monkeypatch.setattr(switching, "_line_maps", lambda wheel: maps)
    rows = switching._line({"wheel-leaves-minus": None})
    assert [row.ours for row in rows] == pytest.approx([0.5, 3.0, 2.0 / 3.0, 0.5])
    assert {row.paper for row in rows} == {"not mentioned"}


@pytest.mark.parametrize(("spread", "word"), [(2e6, "yes"), (5e5, "no")])
def test_rows_of_the_smoothing(monkeypatch, spread, word):
    study = SimpleNamespace(
        shapes=("one", "two"), order=(1.0, 2.0), spread=np.array([[1.0, spread], [1.0, 3e6]])
    )
    monkeypatch.setattr(switching, "_study", lambda: study)
    rows = switching._smoothing({})
    assert [row.ours for row in rows] == [1.0, 2.0, word]
    assert rows[0].what.startswith("one: order")


def test_conditions_are_counted_by_area(monkeypatch):
    names = ("b", "c", "d", "e", "f", "g1", "g2")
    flags = {name: i % 2 == 0 for i, name in enumerate(names)}
    at = SimpleNamespace(flags=flags, kappa=0.25, k2=7.0)
    wheel = SimpleNamespace(
        two_folds_at=lambda r, omega: at if (r, omega) == switching._PLACE else 0
    )
    held = {"all": np.array([[True, False, True], [True, False, False]])}
    grid = np.array([1.0, 1.5, 2.0]), np.array([-3.0, -2.8]), held
    monkeypatch.setattr(switching, "_wheel", lambda run: wheel)
    monkeypatch.setattr(switching, "_conditions", lambda runs: grid)
    rows = switching._figure_4({"wheel-into-two-fold": None})
    assert [row.ours for row in rows[:7]] == ["yes", "no", "yes", "no", "yes", "no", "yes"]
    assert [row.ours for row in rows[7:]] == pytest.approx([0.25, 7.0, 3 * 0.5 * 0.2, 0.5])
    assert rows[9].paper == LOST


def test_a_wheel_along_the_slit(monkeypatch):
    """Both boundaries are 2 mu (beta^2 + r^2) apart: no two-fold, nothing escapes."""
    wheel = SimpleNamespace(beta=0.5, mu=0.3, two_fold_state=lambda: SimpleNamespace(r=np.zeros(0)))
    r = np.array([[0.0, 1.0], [2.0, 3.0]])
    minus = np.array([[0.1, 0.2], [0.3, 0.4]]) + 2.0 * 0.3 * (0.25 + r**2)
    surface = SimpleNamespace(
        l_minus=minus, l_plus=np.array([[0.1, 0.2], [0.3, 0.4]]), x=r[..., None],
        region=np.array([[0, 2], [2, 0]]),
    )  # fmt: skip
    run = SimpleNamespace(determinism=SimpleNamespace(losses=[]))
    monkeypatch.setattr(switching, "_wheel", lambda run: wheel)
    monkeypatch.setattr(switching, "_surface", lambda wheel, r, omega: surface)
    ours = [row.ours for row in switching._gamma_90({"wheel-gamma-90": run})]
    assert ours[:3] == pytest.approx([0.0, 2.0, 0.0], abs=1e-12)
    assert ours[3:] == ["no", "no"]
    surface.region[0, 1], surface.l_minus[0, 0] = 1, surface.l_minus[0, 0] + 0.25 * 0.03
    run.determinism.losses.append("lost")
    ours = [row.ours for row in switching._gamma_90({"wheel-gamma-90": run})]
    assert ours[1:3] == pytest.approx([2.0 + 0.1 / 4.0, 0.1])
    assert ours[3:] == ["yes", "yes"]
