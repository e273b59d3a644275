"""The movie of a flow, and its machines."""

import numpy as np
import pytest

import stiction as st
from stiction.plot.player.movie import STUCK, Boxes, Dots, Ground
from stiction.switching import TwoBlockStickSlip
from stiction.switching.figures.data import FlowData
from stiction.switching.figures.player import FlowFrames, movie_of


@pytest.fixture(scope="module")
def wheel():
    return st.solve(st.WheelOnTurntable(), t_span=(0.0, 6.0), save=301, throw=False)


def test_frames_are_the_saved_states(wheel):
    frames = FlowFrames(FlowData(wheel), wheel.time)
    for name in wheel.final:
        assert frames.state(name) == pytest.approx(wheel.variables[name].values, abs=1e-14)
    at_events = FlowFrames(FlowData(wheel), wheel.event_log.time)
    reported = wheel.event_log.columns["r_after"]
    assert at_events.state("r") == pytest.approx(np.asarray(reported), abs=1e-14)


def test_wheel_rolls_where_it_slides(wheel):
    movie = movie_of(FlowData(wheel), wheel.time)
    layers = movie.views[1].layers
    place = next(layer for layer in layers if isinstance(layer, Dots)).points[:, 0]
    r, system = wheel.variables["r"].values, wheel.system
    # the slider stays in the slit, at its distance from the axis
    assert np.hypot(*place.T) == pytest.approx(np.hypot(r, system.d))
    # against the turntable the wheel moves along itself where it sticks
    seconds = np.concatenate(
        [
            [0.0],
            np.cumsum(0.5 * np.diff(wheel.time) * (_pace(system, r)[1:] + _pace(system, r)[:-1])),
        ]
    )
    turn = -system.omega0 * seconds
    back = np.stack(
        [
            np.cos(turn) * place[:, 0] - np.sin(turn) * place[:, 1],
            np.sin(turn) * place[:, 0] + np.cos(turn) * place[:, 1],
        ],
        axis=1,
    )
    ends = layers[3].points
    way = ends[:, 1] - ends[:, 0]
    way = np.stack(
        [
            np.cos(turn) * way[:, 0] - np.sin(turn) * way[:, 1],
            np.sin(turn) * way[:, 0] + np.cos(turn) * way[:, 1],
        ],
        axis=1,
    )
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    steps = np.diff(back, axis=0)
    middle = way[1:] + way[:-1]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    aside = np.abs(steps[:, 0] * middle[:, 1] - steps[:, 1] * middle[:, 0])
    sticks = (wheel.variables["mode"].values[:, 0] == 0)[1:-1] & (
        wheel.variables["mode"].values[:, 0] == 0
    )[2:]
    assert sticks.sum() > 20
    share = aside[1:][sticks] / np.linalg.norm(steps[1:][sticks], axis=1)
    assert share.max() < 5e-3


def _pace(system, r):
    return system.m * (system.beta**2 + r**2)


def test_blocks_ride_on_the_belt():
    run = st.solve(TwoBlockStickSlip(), t_span=(0.0, 10.0), save=201)
    movie = movie_of(FlowData(run), run.time)
    layers = movie.views[1].layers
    ground = next(layer for layer in layers if isinstance(layer, Ground))
    boxes = next(layer for layer in layers if isinstance(layer, Boxes))
    moved = np.diff(boxes.points[:, 0, 0])
    sticks = (boxes.colour[1:, 0] == STUCK) & (boxes.colour[:-1, 0] == STUCK)
    assert sticks.sum() > 5
    assert moved[sticks] == pytest.approx(np.diff(ground.points[:, 0, 0])[sticks], abs=1e-9)
