"""The movie of solids: what it shows is what the run holds. The run is made up."""

import dataclasses

import numpy as np
import pytest
from solid_runs import strip

from stiction.core.run import Variable
from stiction.solids.figures.data import SolidData
from stiction.solids.figures.player import SolidFrames, movie_of, times_of, tractions


@pytest.fixture(scope="module")
def run():
    """A strip whose surface goes along with its first drawn points."""
    made = strip()
    taken = made.variables["snapshot_time"].values
    drawn = made.variables["drawn_position"].values
    count = made.variables["surface_coordinate"].values.size
    on = np.linspace(0, drawn.shape[1] - 1, count).astype(int)
    places = [
        np.stack([np.interp(made.time, taken, drawn[:, k, j]) for k in on], axis=1) for j in (0, 1)
    ]
    added = {
        name: Variable(values, ("time", "point"), "1", "made up")
        for name, values in zip(("surface_x", "surface_y"), places, strict=True)
    }
    return dataclasses.replace(made, variables={**made.variables, **added})


def test_frames_are_the_saved_bodies(run):
    data = SolidData(run)
    time = times_of(data, 900)
    assert np.isin(data.snapshot_time, time).all()
    assert np.isin(data.time, time).all()
    movie = movie_of(data, time)
    at = np.searchsorted(time, data.snapshot_time)
    cells = movie.views[0].layers[0]
    assert cells.points[at] == pytest.approx(data.values("drawn_position"))
    assert SolidFrames(data, time).follows.all()
    assert "interpolated between snapshots" in movie.notes


def test_bodies_that_snap_are_held(run):
    data = SolidData(run)
    middle = 0.5 * (data.snapshot_time[0] + data.snapshot_time[1])
    row = int(np.argmin(np.abs(data.time - middle)))
    jumped = data.values("surface_y").copy()
    jumped[row] += 0.1 * np.ptp(data.values("drawn_position"))
    changed = dataclasses.replace(run.variables["surface_y"], values=jumped)
    data = SolidData(dataclasses.replace(run, variables={**run.variables, "surface_y": changed}))
    frames = SolidFrames(data, data.time)
    assert frames.follows.tolist() == [False] + [True] * (frames.follows.size - 1)
    assert frames.body("drawn_position")[row].tolist() == data.values("drawn_position")[0].tolist()
    assert "move too suddenly" in movie_of(data, data.time).notes


def test_the_key_says_what_is_drawn(run):
    def words_of(**changes):
        made = {n: dataclasses.replace(run.variables[n], values=v) for n, v in changes.items()}
        data = SolidData(dataclasses.replace(run, variables={**run.variables, **made}))
        return [word for _, word in movie_of(data, data.time[:2]).keys]

    slides = run.variables["slides"].values
    assert words_of() == ["traction in stick", "traction in slip"]
    assert words_of(slides=0 * slides) == ["traction"]
    tractions = {
        n: 0.0 * run.variables[n].values for n in ("normal_traction", "tangential_traction")
    }
    assert words_of(**tractions) == []


def test_a_single_snapshot_is_held(run):
    cut = {
        name: dataclasses.replace(variable, values=variable.values[:1])
        for name, variable in run.variables.items()
        if "snapshot" in variable.dims[:1]
    }
    data = SolidData(dataclasses.replace(run, variables={**run.variables, **cut}))
    points = movie_of(data, data.time).views[0].layers[0].points
    assert (points == data.values("drawn_position")).all()


def test_tractions_carry_the_forces(run):
    data = SolidData(run)
    shape = data.values("normal_traction").shape
    flat = np.broadcast_to(np.linspace(0.0, 1.0, shape[1]), shape)
    low = np.full(shape, data.values("drawn_position")[..., 1].min() - 1.0)
    pressed = {
        "normal_traction": np.full(shape, 2.0),
        "tangential_traction": np.full(shape, 0.5),
    }
    variables = dict(run.variables)
    for name, values in pressed.items():
        variables[name] = dataclasses.replace(variables[name], values=values)
    data = SolidData(dataclasses.replace(run, variables=variables))
    order = np.argsort(data.values("surface_coordinate"))
    surface = np.stack([flat, low], axis=2)
    surface[:, order] = surface.copy()
    force = tractions(data, surface)
    # pressure on the lower side pushes up into the body; shear acts along the surface
    assert force[..., 1] == pytest.approx(2.0)
    assert force[..., 0] == pytest.approx(0.5)
