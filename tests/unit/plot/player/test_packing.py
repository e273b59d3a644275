"""Packing arrays as text."""

import numpy as np
import pytest

from stiction.plot.player.packing import Packer, unpacked


def test_what_is_packed_is_unpacked():
    random = np.random.default_rng(5)
    packer = Packer()
    floats = random.normal(size=(7, 5, 3)) * np.array([1.0, 1e-9, 1e9])
    colours = random.integers(0, 256, size=(4, 6))
    cells = random.integers(0, 90000, size=(8, 4))
    constant = np.full((3, 2, 2), 4.5)
    where = [packer.add(values) for values in (floats, colours, cells, constant)]
    text = packer.text()
    back = [unpacked(text, place) for place in where]
    size = np.ptp(floats.reshape(-1, 3), axis=0)
    assert (np.abs(back[0] - floats) <= size / 65535 * 0.5001).all()
    assert back[1].tolist() == colours.tolist()
    assert back[2].tolist() == cells.tolist()
    assert back[3] == pytest.approx(constant)


def test_each_coordinate_of_a_trail_has_its_own_range():
    turn = np.linspace(0.0, 6.0, 50)
    trail = np.stack([1e-6 * np.cos(turn), 1e3 * np.sin(turn)], axis=1)
    packer = Packer()
    where = packer.add(trail)
    error = np.abs(unpacked(packer.text(), where) - trail)
    assert (error <= np.ptp(trail, axis=0) / 65535 * 0.5001).all()
