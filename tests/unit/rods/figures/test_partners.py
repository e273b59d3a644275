"""Rigid partners in figures: their surfaces lie where the bodies are."""

import numpy as np
import pytest

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    CylinderPartner,
    PlanePartner,
    Rods,
    RollingLeapfrog,
    SpherePartner,
    Straight,
)
from stiction.rods.figures.data import RodData
from stiction.rods.figures.partners import faces_near, near


@pytest.fixture(scope="module")
def run():
    line = Straight([0.0, 0.0, 0.0], [0.5, 0.0, 0.0])
    bodies = [
        CylinderPartner([0.0, 0.2, 0.0], [0.5, 0.2, 0.0], 0.05),
        SpherePartner([0.2, 0.0, 0.3], 0.1),
        PlanePartner([0.0, 0.0, -0.2], [0.0, 0.1, 1.0]),
    ]
    rod = CosseratRod(CircularSection(0.02, 1e6), line, elements=8)
    return st.solve(Rods([rod], partners=bodies), RollingLeapfrog(), (0.0, 0.001), save=2)


def test_surfaces_lie_on_the_bodies(run):
    cylinder, sphere, plane = (s.reshape(-1, 3) for s in RodData(run).scene(1).surfaces)
    nearest = np.clip(cylinder[:, 0], 0.0, 0.5)[:, None] * [1.0, 0.0, 0.0] + [0.0, 0.2, 0.0]
    np.testing.assert_allclose(np.linalg.norm(cylinder - nearest, axis=1), 0.05)
    np.testing.assert_allclose(np.linalg.norm(sphere - [0.2, 0.0, 0.3], axis=1), 0.1)
    assert np.abs((plane - [0.0, 0.0, -0.2]) @ [0.0, 0.1, 1.0]).max() < 1e-12


def test_lines_show_them(run):
    figure = run.plot.scene(tubes=False)
    assert len(figure.axes[0].collections) >= 3
    assert "rigid" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_faces_that_are_cut_are_left_out_whole(run):
    scene = RodData(run).scene(1)
    low, high = np.array([0.0, 0.0, 0.0]), np.array([0.1, 0.1, 0.1])
    faces = [faces_near(body, (low, high)) for body in scene.surfaces]
    whole = (scene.surfaces[0].shape[0] - 1) * (scene.surfaces[0].shape[1] - 1)
    assert 0 < len(faces[0]) < whole
    for part in faces:
        assert part.shape[1:] == (4, 3)
        assert np.isfinite(part).all()
        assert near(part, (low, high)).all()
