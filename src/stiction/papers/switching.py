"""Figures of "Nondeterministic dynamics of a mechanical system" and its special cases.

The system is a wheel on a turntable, whose dry friction is discontinuous on the surface h = 0. At a
two-fold both vector fields are tangent to this surface, and the solution may lose its uniqueness.
The state is x = (r, v, omega): position [m] and velocity [m/s] of the slider in the slit of a disk,
angular velocity of the disk [rad/s]; values at the two-fold have a star. K_ab is the derivative of
L_a h along the field of side b, and J1 and J2 are the ratios of K_ab that determine the local
sliding flow (`switching.two_folds.local_flow`). kappa [m] is moment over force of the tyre at
h = 0, and k2 [N/m] is the stiffness of the spring. The force has a kink at g = 0.

Functions `_figure_...`, named after a figure or a special case, return the rows of a comparison:
`Row(what, paper, ours)`, with LOST where the text of the paper has no value. Functions `_draw_...`
draw the figure.

Source: Szalai, Jeffrey 2014. The paper prints few numbers, so that most rows compare
statements. Its formulas are used with the corrections of the theory page; a row says where a
correction changes what the paper prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.papers.items import LOST, Item, Row, Runs

if TYPE_CHECKING:
    from stiction.laws.tyre import StretchedString
    from stiction.switching.funnel import Funnel
    from stiction.switching.portraits import Portrait
    from stiction.switching.smoothing import SmoothingStudy
    from stiction.switching.two_folds.local_flow import TwoFold
    from stiction.switching.wheel.model import WheelOnTurntable

__all__ = ["ITEMS"]

Floats = npt.NDArray[np.float64]

_PLACE = (0.1859, -1.037)
_THROUGH = ("wheel-through-plus", "wheel-through-minus", "wheel-slips-then-slides")
_RECURRENT = ("wheel-into-two-fold", *_THROUGH, "wheel-leaves-minus", "wheel-recurrent")
_GRID = 241  # points of a map along each side


def _yes(holds: object) -> str:
    return "yes" if holds else "no"


def _wheel(run: Run) -> WheelOnTurntable:
    from stiction.switching.wheel.model import WheelOnTurntable

    assert isinstance(run.system, WheelOnTurntable)
    return run.system


def _two_fold(runs: Runs) -> TwoFold:
    from stiction.switching.two_folds.finding import two_fold

    return two_fold(_wheel(runs["wheel-into-two-fold"]), (0.19, -0.03, -1.04))


# ---- Fig. 3


def _figure_3(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 3: K_ab, J1, J2, eigenvalues and case of the two-fold."""
    fold = _two_fold(runs)
    names = ("K++", "K+-", "K-+", "K--")
    values = (fold.Kpp, fold.Kpm, fold.Kmp, fold.Kmm)
    first, second = fold.eigenvalues
    weak, strong = fold.eigenvectors
    return [
        *(
            Row(f"{name} [m/s per scaled time squared]", LOST, v)
            for name, v in _pairs(names, values)
        ),
        Row("J1", LOST, float(fold.J1 or np.nan)),
        Row("J2", LOST, float(fold.J2 or np.nan)),
        Row("lambda1", LOST, first),
        Row("lambda2", LOST, second),
        Row("case", 1.0, float(fold.case or 0)),
        Row("both folds are invisible", "yes", _yes(fold.kind == "invisible-invisible")),
        Row("first eigenvector points into sliding", "yes", _yes(weak[0] * weak[1] > 0.0)),
        Row("second eigenvector points into crossing", "yes", _yes(strong[0] * strong[1] < 0.0)),
        Row(
            "sticking orbits pass through without a unique continuation",
            "yes",
            _yes(not fold.deterministic),
        ),
    ]


def _pairs(names: Sequence[str], values: Sequence[float]) -> list[tuple[str, float]]:
    """Return pairs of a name and its value."""
    return list(zip(names, values, strict=True))


def _draw_3(runs: Runs, path: Path) -> None:
    """Draw the normal form of the two-fold: sliding field, sliding orbits, crossing orbits."""
    from stiction.switching.figures.local import local_flow
    from stiction.switching.portraits import local_arcs, local_sticking

    fold = _two_fold(runs)
    j1, j2 = float(fold.J1 or np.nan), float(fold.J2 or np.nan)
    across = np.linspace(-1.0, 1.0, 120)
    xi, eta = np.meshgrid(across, across)
    eigenvalues = np.array(fold.eigenvalues)
    directions = np.stack([eigenvalues - j2, np.ones(2)], axis=-1)
    sliding = []
    for start in ((1.0, 0.25), (1.0, 0.6), (0.7, 1.0), (0.3, 1.0)):
        parts = np.linalg.solve(directions.T, np.array(start))
        s = np.linspace(0.0, 30.0, 400)
        into = (parts * np.exp(np.outer(s, eigenvalues))) @ directions
        for line in (into, -into):
            inside = np.abs(line).max(axis=1) <= 1.0
            sliding.append(np.stack([0.0 * s, *line.T])[:, inside])
    orbits = []
    for start, side in (((-0.10, -0.08), 1), ((-0.16, -0.13), -1)):
        orbits += local_arcs(j1, j2, start, side, 2)
    figure = local_flow(
        (across, across),
        local_sticking(j1, j2, xi, eta),
        directions,
        eigenvalues.tolist(),
        orbits,
        sliding,
    )
    figure.savefig(path, dpi=150)


# ---- Fig. 4


def _figure_4(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 4: the conditions at one place, and the area where all hold."""
    wheel = _wheel(runs["wheel-into-two-fold"])
    at = wheel.two_folds_at(*_PLACE)
    r, omega, flags = _conditions(runs)
    cell = (r[1] - r[0]) * (omega[1] - omega[0])
    words = {
        "b": "(b) K-- > 0",
        "c": "(c) K++ < 0",
        "d": "(d) J1 < 0",
        "e": "(e) J2 < 0",
        "f": "(f) J1 J2 > 1",
        "g1": "(g) k2 > 0",
        "g2": "(g) kappa > 0",
    }
    return [
        *(
            Row(f"{word} at r* = 0.1859 m, omega* = -1.037 rad/s", "yes", _yes(at.flags[name]))
            for name, word in words.items()
        ),
        Row("kappa there [m]", LOST, float(at.kappa)),
        Row("k2 there [N/m]", LOST, float(at.k2)),
        Row(
            "area where all hold, of the area drawn [m rad/s]",
            LOST,
            float(flags["all"].sum() * cell),
        ),
        Row("fraction of the area drawn", LOST, float(flags["all"].mean())),
    ]


def _conditions(runs: Runs) -> tuple[Floats, Floats, dict[str, npt.NDArray[np.bool_]]]:
    """Return r* [m], omega* [rad/s] and {condition: whether it holds on their grid}."""
    # omega* = omega0 itself is left out: there g* = 0 and no two-fold exists
    r, omega = np.linspace(0.02, 0.35, 660), np.linspace(-1.1, -1.0005, 400)
    return r, omega, _wheel(runs["wheel-into-two-fold"]).fig4_flags(r, omega)


def _draw_4(runs: Runs, path: Path) -> None:
    from stiction.switching.figures.local import condition_panels

    condition_panels(*_conditions(runs), _PLACE).savefig(path, dpi=200)


# ---- Fig. 5


def _figure_5(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 5: the two-fold, orbits into it, and orbits that leave it."""
    fold = _two_fold(runs)
    r, v, omega = (float(x) for x in fold.x)
    recurrent = runs["wheel-recurrent"]
    kinds = list(recurrent.event_log.kind)
    leaves = runs["wheel-leaves-minus"]
    stopped = {name: runs[name].determinism.losses[-1].kind for name in _RECURRENT[:-1]}
    at_line = [name for name, kind in stopped.items() if kind == "codim2_line"]
    return [
        Row("r* [m]", 0.1859, r),
        Row("omega* [rad/s]", -1.037, omega),
        Row("v* [m/s]", LOST, v),
        Row("kappa [m]", LOST, _wheel(leaves).kappa),
        Row("k2 [N/m]", LOST, _wheel(leaves).k2),
        Row(
            "sliding orbits reach the two-fold",
            "yes",
            _ended(runs["wheel-into-two-fold"], "two_fold"),
        ),
        Row("at scaled time", LOST, runs["wheel-into-two-fold"].t_end),
        Row(
            "scaled times of the slip phases of wheel-leaves-minus",
            "the orbits wind outward",
            _slip_times(leaves),
        ),
        Row(
            "orbits from the escaping region that reach the line h = g = 0",
            "not mentioned",
            f"{len(at_line)} of 3",
        ),
        Row(
            "scaled time at which wheel-leaves-minus reaches the line",
            "not mentioned",
            leaves.t_end,
        ),
        Row(
            "all such trajectories find their way back into the singularity",
            "yes",
            "depends on the rule at the line h = g = 0",
        ),
        Row(
            "arrivals at the two-fold up to scaled time 60, slip to h < 0 at the line",
            LOST,
            float(kinds.count("two_fold")),
        ),
        Row(
            "arrivals at the line up to scaled time 60",
            "not mentioned",
            float(kinds.count("codim2_line")),
        ),
    ]


def _ended(run: Run, kind: str) -> str:
    return _yes(run.determinism.losses and run.determinism.losses[-1].kind == kind)


def _slip_times(run: Run) -> str:
    """Return the durations of the slip phases between crossings."""
    log = run.event_log
    crossings = log.time[np.array(log.kind) == "cross"]
    return ", ".join(f"{length:.4f}" for length in np.diff(crossings))


def _draw_5(runs: Runs, path: Path) -> None:
    """Draw the surface h = 0 around the two-fold with the orbits of Fig. 5."""
    from stiction.switching.figures.surface import recurrence

    fold = _two_fold(runs)
    wheel = _wheel(runs["wheel-into-two-fold"])
    r, omega = np.linspace(0.13, 0.25, _GRID), np.linspace(-1.12, -0.99, _GRID)
    surface = _surface(wheel, r, omega)
    flow = surface.sticking
    weak = fold.directions[0][[0, 2]]
    figure = recurrence(
        (r, omega),
        surface.region,
        (flow[..., 0], flow[..., 2]),
        fold.x.tolist(),
        weak.tolist(),
        {name: runs[name] for name in ("wheel-into-two-fold", *_THROUGH)},
        {name: runs[name] for name in ("wheel-leaves-minus", *_THROUGH[:2], "wheel-recurrent")},
        wheel.omega0,
    )
    figure.savefig(path, dpi=200)


def _surface(wheel: WheelOnTurntable, first: Floats, second: Floats) -> Portrait:
    """Return regions and sliding field of the surface h = 0 over two coordinates."""
    from stiction.switching.portraits import portrait, wheel_surface

    return portrait(wheel, wheel_surface(wheel, first, second))


# ---- Fig. 8


def _tyres() -> dict[str, StretchedString]:
    """Return the two tyres of Fig. 8 by their captions."""
    from stiction.laws.tyre import StretchedString

    # rho is not in the caption; 2/3 is the value of appendix B
    return {
        "(a) k = 1, δ = 1, σ = 1, a = 1": StretchedString(1.0, 1.0, 2.0 / 3.0, 1.0, 1.0),
        "(b) k = 10³, δ = 10⁻³, σ = 10⁻³, a = 1": StretchedString(1e3, 1e-3, 2.0 / 3.0, 1e-3, 1.0),
    }


def _figure_8(runs: Runs) -> list[Row]:
    """Return the rows of Fig. 8: force and moment of the stretched-string tyres."""
    rows = [Row("kinetic over largest pressure rho, not in the caption", 2.0 / 3.0, 2.0 / 3.0)]
    for letter, tyre in zip("ab", _tyres().values(), strict=True):
        moment = tyre.moment(tyre.onset_angle * np.linspace(0.5, 1.5, 2001))
        rows += [
            Row(f"({letter}) slip begins at angle [rad]", LOST, tyre.onset_angle),
            Row(f"({letter}) slip is complete at angle [rad]", LOST, tyre.full_slip_angle),
            Row(
                f"({letter}) force in full slip [N]; the paper's 2 a delta lacks rho",
                2.0 * tyre.half_length * tyre.max_pressure,
                float(tyre.force(0.5 * np.pi)),
            ),
            Row(f"({letter}) largest moment [N m]", LOST, float(moment.max())),
            Row(f"({letter}) moment in full slip [N m]", 0.0, float(tyre.moment(0.5 * np.pi))),
        ]
    return rows


def _draw_8(runs: Runs, path: Path) -> None:
    """Draw force and moment of both tyres over the slip angle from 0 to pi/2."""
    from stiction.switching.figures.surface import tyre_curves

    # tyre (b) has its whole rise below a millionth
    fine = np.geomspace(1e-8, 1e-2, 2000)
    angle = np.sort(np.concatenate([np.linspace(0.0, 0.5 * np.pi, 2000), fine]))
    panels = [(title, t.force(angle), t.moment(angle)) for title, t in _tyres().items()]
    tyre_curves(angle, panels).savefig(path, dpi=200)


# ---- section VI


def _gamma_0(runs: Runs) -> list[Row]:
    """Return the rows of the wheel at gamma = 0, where both fields agree at the two-fold."""
    wheel = _wheel(runs["wheel-gamma-0"])
    folds = wheel.two_fold_state()
    state = folds.states[0]
    jump = np.abs(wheel.field(state, 1.0) - wheel.field(state, -1.0)).max()
    size = np.abs(wheel.field(state, 1.0)).max()
    return [
        Row("number of two-folds", 1.0, float(folds.r.size)),
        Row(
            "r* [m]; the paper writes kappa and, two lines later, -kappa",
            wheel.kappa,
            float(state[0]),
        ),
        Row("omega* [rad/s]", wheel.omega0, float(state[2])),
        Row("v* [m/s]", LOST, float(state[1])),
        Row("relative difference of both fields at the two-fold", 0.0, float(jump / size)),
        Row("loss of determinism at the two-fold", "no", _yes(folds.case[0] == 1)),
    ]


def _draw_gamma_0(runs: Runs, path: Path) -> None:
    """Draw the surface h = 0 at gamma = 0 over r and v."""
    from stiction.switching.figures.surface import surface_map

    wheel = _wheel(runs["wheel-gamma-0"])
    # an even number of points, so that none lies on the lines r = 0 and v = 0
    r, v = np.linspace(-0.5, 0.5, _GRID + 1), np.linspace(-0.5, 0.5, _GRID + 1)
    surface = _surface(wheel, r, v)
    flow = surface.sticking
    state = wheel.two_fold_state().states[0]
    figure = surface_map(
        (r, v),
        surface.region,
        (flow[..., 0], flow[..., 1]),
        (("r", "m"), ("v", "m/s")),
        points=[(float(state[0]), float(state[1]))],
        line=0.0,
    )
    figure.savefig(path, dpi=200)


def _gamma_90(runs: Runs) -> list[Row]:
    """Return the rows of the wheel at gamma = 90 degrees, which has no two-fold."""
    run = runs["wheel-gamma-90"]
    wheel = _wheel(run)
    r, omega = np.linspace(-0.6, 0.6, 61), np.linspace(-3.0, 1.0, 61)
    surface = _surface(wheel, r, omega)
    gap = (surface.l_minus - surface.l_plus) / (wheel.beta**2 + surface.x[..., 0] ** 2)
    spread = float(np.ptp(gap))
    return [
        Row("number of two-folds", 0.0, float(wheel.two_fold_state().r.size)),
        Row("distance of both boundaries, over mu", 2.0, float(gap.mean() / wheel.mu)),
        Row("variation of this distance over the surface, over mu", 0.0, spread / wheel.mu),
        Row("escaping region on the surface", "no", _yes((surface.region == 1).any())),
        Row("loss of determinism up to scaled time 14", "no", _yes(run.determinism.losses)),
    ]


def _draw_gamma_90(runs: Runs, path: Path) -> None:
    """Draw the surface h = 0 at gamma = 90 degrees over r and omega, with an orbit."""
    from stiction.switching.figures.surface import surface_map

    run = runs["wheel-gamma-90"]
    wheel = _wheel(run)
    r, omega = np.linspace(-0.9, 0.9, _GRID + 1), np.linspace(-2.6, 0.6, _GRID + 1)
    surface = _surface(wheel, r, omega)
    flow = surface.sticking
    data: dict[str, Any] = {name: run.variables[name].values for name in ("r", "omega", "mode")}
    figure = surface_map(
        (r, omega),
        surface.region,
        (flow[..., 0], flow[..., 2]),
        (("r", "m"), ("ω", "rad/s")),
        orbit=(data["r"], data["omega"], data["mode"].reshape(-1)),
        line=wheel.omega0,
    )
    figure.savefig(path, dpi=200)


# ---- what the paper does not show: the line h = g = 0


def _line_maps(wheel: WheelOnTurntable) -> dict[str, tuple[Floats, Floats]]:
    """Return {exit direction: (r, next r)} of the return map of the line h = g = 0 [m]."""
    from stiction.switching.wheel.return_map import LineExit, line_return

    r = np.linspace(0.15, 0.19, 801)
    rules = {"slip to h < 0": LineExit.SLIP_MINUS, "slide": LineExit.SLIDE}
    return {word: (r, line_return(wheel, r, rule).r) for word, rule in rules.items()}


def _line_times(wheel: WheelOnTurntable) -> dict[str, Floats]:
    """Return times to the line from even points of the escaping region, left at once."""
    from stiction.switching.ensembles.study import ensemble
    from stiction.switching.wheel.escapes import escaping_points

    points = escaping_points(wheel, 4000, 0.152, 0.186)
    sides = {"leave to h > 0": 1.0, "leave to h < 0": -1.0}
    return {
        word: ensemble(wheel, points, 20.0, sides=np.full(len(points), side)).return_times(
            "codim2_line"
        )
        for word, side in sides.items()
    }


def _line(runs: Runs) -> list[Row]:
    """Return the rows of the line h = g = 0: how many orbits reach it, and how many return."""
    wheel = _wheel(runs["wheel-leaves-minus"])
    rows = []
    for word, times in _line_times(wheel).items():
        rows += [
            Row(
                f"fraction of 4000 exits that reach the line, {word}",
                "not mentioned",
                _finite_fraction(times),
            ),
            Row(
                f"longest scaled time to the line, {word}", "not mentioned", float(np.nanmax(times))
            ),
        ]
    for word, (r, after) in _line_maps(wheel).items():
        rows += [
            Row(
                f"fraction of positions r, 0.15 to 0.19 m, that return, {word}",
                "not mentioned",
                _finite_fraction(after),
            ),
            Row(
                f"largest r less next r [m], {word}",
                "not mentioned",
                float(np.nanmax(r - after)),
            ),
        ]
    return rows


def _finite_fraction(values: Floats) -> float:
    return float(np.isfinite(values).mean())


def _draw_line(runs: Runs, path: Path) -> None:
    from stiction.switching.figures.line import line_returns

    wheel = _wheel(runs["wheel-leaves-minus"])
    line_returns(_line_maps(wheel), _line_times(wheel)).savefig(path, dpi=200)


# ---- what the paper could not show


def _futures(runs: Runs) -> Funnel:
    from stiction.switching.funnel import futures

    return futures(_wheel(runs["wheel-into-two-fold"]), _two_fold(runs).x, 10.0)


def _funnel(runs: Runs) -> list[Row]:
    """Return the rows of the futures of the two-fold, for exits at two random rates."""
    futures = _futures(runs)
    rows = [
        Row("solutions from a grid of exits", "none computed", float(len(futures))),
        Row("longest time at the two-fold [scaled time]", "none", float(futures.dwell.max())),
    ]
    for hazard in (0.5, 2.0):
        times, weights = futures.return_times("codim2_line", hazard)
        mean = float(weights @ times / weights.sum())
        word = f"leaving at rate {hazard:g} per scaled time"
        rows.append(Row(f"{word}: fraction at the line by 10", "none", float(weights.sum())))
        rows.append(Row(f"{word}: mean time to the line [scaled time]", "none", mean))
    return rows


def _draw_funnel(runs: Runs, path: Path) -> None:
    _futures(runs).plot().savefig(path)


def _study() -> SmoothingStudy:
    from stiction.switching.presets import NormalForm
    from stiction.switching.smoothing import smoothing_study

    local = NormalForm(J1=-1.2, J2=-1.5, x0=(0.0, 0.3, 0.1), mode="slide")
    return smoothing_study(local, [1e-2, 1e-3, 1e-4, 1e-5], 2.5)


def _smoothing(runs: Runs) -> list[Row]:
    """Return the rows of the regularised flows: order before, spread after the two-fold."""
    study = _study()
    rows = [
        Row(f"{shape}: order in the width before the two-fold", "none", float(order))
        for shape, order in zip(study.shapes, study.order, strict=True)
    ]
    rows.append(
        Row(
            "very sensitive to the form of the smoothing and to rounding (section VII)",
            "yes",
            _yes(float(study.spread[:, -1].min()) > 1e6),
        )
    )
    return rows


def _draw_smoothing(runs: Runs, path: Path) -> None:
    _study().plot().savefig(path)


ITEMS = {
    "figure-3": Item(
        "the local flow at the two-fold", ("wheel-into-two-fold",), _figure_3, _draw_3
    ),
    "figure-4": Item(
        "where the two-fold loses determinism", ("wheel-into-two-fold",), _figure_4, _draw_4
    ),
    "figure-5": Item("sticking flow and recurrent motion", _RECURRENT, _figure_5, _draw_5),
    "figure-8": Item("force and moment of the stretched string", (), _figure_8, _draw_8),
    "gamma-0": Item(
        "section VI A: the wheel rolls along the slit", ("wheel-gamma-0",), _gamma_0, _draw_gamma_0
    ),
    "gamma-90": Item(
        "section VI B: the wheel rolls across the slit",
        ("wheel-gamma-90",),
        _gamma_90,
        _draw_gamma_90,
    ),
    "line": Item(
        "the line h = g = 0: its return map, and the time to it",
        ("wheel-leaves-minus",),
        _line,
        _draw_line,
    ),
    "funnel": Item(
        "the solutions after the two-fold", ("wheel-into-two-fold",), _funnel, _draw_funnel
    ),
    "smoothing": Item(
        "smoothed signs beside the set-valued law", ("normal-form",), _smoothing, _draw_smoothing
    ),
}
