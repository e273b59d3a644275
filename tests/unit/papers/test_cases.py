"""Runs of adhering solids: each is what its name says, in both sizes."""

import numpy as np
import pytest

from stiction.laws import DI, EA, Frictionless
from stiction.papers.adhesive_friction import cases as made

LAWS = {"ea": EA, "di": DI}


@pytest.mark.parametrize("full", [False, True])
def test_laws_of_strips_and_cylinders_are_those_of_their_names(full):
    for name, case in made.cases(full=full).items():
        body, *rest = name.replace("--", "-~").split("-")
        if body == "cap":
            continue
        word, mu = rest[0], float(rest[1])
        cut = float(rest[3].replace("~", "-")) if "cut" in rest else 1.0
        expected = LAWS[word](mu, cut)
        if mu == 0.0 and body == "strip":
            expected = Frictionless()
        if name == "cylinders-ea-0":
            # the ready system itself
            expected = type(case.system)().model
        assert case.system.model == expected, name


@pytest.mark.parametrize("full", [False, True])
def test_loads_of_caps_are_those_of_their_names(full):
    found = {k: c.system for k, c in made.cases(full=full).items() if k.startswith("cap")}
    for name, system in found.items():
        force = name.replace("--", "-~").split("-")[-1].replace("~", "-")
        assert system.normal_force == float(force), name
        assert system.adhesive is ("dry" not in name), name
        assert (system.nu == 0.4) is ("nu-0.4" in name), name
        assert (system.material is not None) is ("linear" in name), name


@pytest.mark.parametrize(("full", "size", "end"), [(False, "quick", 80.0), (True, "paper", 140.0)])
def test_sizes_and_ends_of_runs(full, size, end):
    for name, case in made.cases(full=full).items():
        assert case.system.size == size, name
        assert not name.startswith("strip") or case.system.u_end == end, name
        assert all(0.0 <= u <= case.system.u_end for u in case.at), name


def test_profiles_of_two_bodies_in_contact_with_penetration():
    along = np.linspace(0.0, 1.0, 5)
    values = {
        "surface_coordinate": np.tile(along, 2),
        "body_of_point": np.repeat([1, 2], 5),
        "surface_x": np.concatenate([1.1 * along, 7.0 - 0.9 * along])[None],
        "surface_y": np.zeros((1, 10)),
        "gap": np.linspace(-1e-3, 0.1, 10)[None],
    }
    values |= dict.fromkeys(("normal_traction", "tangential_traction", "slides"), np.ones((1, 10)))
    profiles = made._profiles(values, np.zeros(1), 0, (0.0,))
    # the gap is below 20 times 1e-3 at the first two points
    assert profiles["coordinate"].tolist() == [0.0, 0.25]
    assert made._stretch(values, 0) == pytest.approx(np.repeat([1.1, 0.9], 5), rel=1e-14)
