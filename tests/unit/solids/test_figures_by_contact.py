"""A body that touches several others is drawn contact by contact."""

import types

import numpy as np

from stiction.solids.figures.data import SolidData


def data_of(**values):
    held = {name: types.SimpleNamespace(values=np.asarray(v)) for name, v in values.items()}
    data = object.__new__(SolidData)
    object.__setattr__(data, "run", types.SimpleNamespace(variables=held))
    return data


def test_contacts_have_lines_apart():
    """Points of two contacts at the same places would make a saw of one line."""
    data = data_of(
        surface_coordinate=[2.0, 1.0, 1.0, 2.0, 3.0],
        body_of_point=[1, 1, 1, 1, 2],
        contact_of_point=[1, 1, 2, 2, 2],
    )
    assert [points.tolist() for points in data.by_contact(1)] == [[1, 0], [2, 3]]
    assert [points.tolist() for points in data.by_contact(2)] == [[4]]


def test_one_contact_is_one_line():
    data = data_of(surface_coordinate=[2.0, 1.0])
    assert [points.tolist() for points in data.by_contact(1)] == [[1, 0]]
