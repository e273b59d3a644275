"""Solids from scenario files: every condition, and what is refused with exit code 2."""

import csv
import json

import numpy as np
import pytest

BLOCK = """
[system]
type = "Solid"
dimensionless = true
[system.readings]
displacement = 1
start = 1.0
reactions = [{type = "Reaction", where = {type = "Boundary", body = 0, name = "bottom"}}]
[[system.bodies]]
type = "Body"
mesh = {type = "rectangle", width = 2.0, height = 0.6, cells = [12, 3], origin = [-1.0, 0.0]}
element = {type = "Q1N2", reduced = true}
material = {type = "NearlyIncompressible", young = 1.0, poisson = 0.45}
[[system.contacts]]
type = "Contact"
boundary = {type = "Boundary", body = 0, name = "top"}
partner = {type = "RigidCircle", centre = [0.0, 1.61], radius = 0.8}
adhesion = {type = "LennardJones", hamaker = 0.0227, r0 = 0.33}
friction = {type = "EA", mu = 0.4}
friction_from = 1.0
[[system.boundary_conditions]]
type = "Fixed"
where = {type = "Boundary", body = 0, name = "bottom"}
[[system.boundary_conditions]]
type = "Spring"
where = {type = "Rigid", contact = 0}
component = 0
stiffness = 0.5
program = {times = [1.0, 2.0], values = [0.0, 0.05]}
[[system.boundary_conditions]]
type = "Turned"
where = {type = "Rigid", contact = 0}
program = {times = [1.0, 2.0], values = [0.0, -0.05]}
[[system.boundary_conditions]]
type = "Pressure"
where = {type = "Boundary", body = 0, name = "left"}
program = {times = [0.0, 1.0], values = [0.0, 0.01]}
[[system.boundary_conditions]]
type = "Traction"
where = {type = "Boundary", body = 0, name = "right"}
component = 1
program = {times = [0.0, 1.0], values = [0.0, 0.005]}
[[system.boundary_conditions]]
type = "Tied"
where = {type = "Boundary", body = 0, name = "right"}
component = 0
[[system.boundary_conditions]]
type = "Linear"
program = {times = [0.0], values = [0.0]}
[[system.boundary_conditions.terms]]
type = "Term"
where = {type = "Boundary", body = 0, name = "left"}
component = 1
[[system.stages]]
type = "Stage"
until = 1.0
rows = 2
[[system.stages.conditions]]
type = "Loaded"
where = {type = "Rigid", contact = 0}
component = 1
program = {times = [0.0, 1.0], values = [0.0, -0.05]}
[[system.stages]]
type = "Stage"
until = 2.0
steps = 8
[method]
type = "Quasistatic"
steps = 10
on_bifurcation = {type = "StayOnPath"}
[solve]
t_end = 2.0
"""


def test_a_file_with_every_condition_runs_and_runs_again(stiction, here):
    (here / "block.toml").write_text(BLOCK)
    answer = stiction("run", "block.toml", "--out", "first", "--no-figures")
    assert answer.code == 0, answer
    again = stiction("run", "first/scenario.toml", "--out", "second", "--no-figures")
    assert again.code == 0, again
    reported = [
        json.loads((here / name / "summary.json").read_text()) for name in ("first", "second")
    ]
    assert reported[0]["final"] == reported[1]["final"]
    assert reported[0]["energy"] == reported[1]["energy"]
    assert {"reaction_1_x", "torque_3"} <= set(reported[0]["final"])
    with (here / "first" / "events.csv").open() as file:
        head = next(csv.reader(file))
    assert head[5:] == [
        "displacement",
        "force_x",
        "force_y",
        "contact_length",
        "displacement_before",
    ]
    assert np.isfinite(reported[0]["final"]["reaction_1_moment"])


def test_a_run_without_equilibrium_at_its_start_is_saved(stiction, here):
    """A law too strong for the block: nothing balances, and that is reported and saved."""
    (here / "block.toml").write_text(BLOCK.replace("hamaker = 0.0227", "hamaker = 0.3"))
    answer = stiction("run", "block.toml", "--out", "failed", "--no-figures")
    assert answer.code == 1
    assert json.loads((here / "failed" / "summary.json").read_text())["status"] == "unconverged"


BAD = {
    "clash": (
        'name = "left"}\nprogram = {times = [0.0, 1.0], values = [0.0, 0.01]}',
        'name = "left"}\nprogram = {times = [0.0, 1.0], values = [0.0, 0.01]}\n'
        '[[system.boundary_conditions]]\ntype = "Driven"\ncomponent = 1\n'
        'where = {type = "Boundary", body = 0, name = "bottom"}\n',
        ["boundary 'bottom' of body 0", "y displacement"],
    ),
    "sum that is held": (
        "program = {times = [0.0], values = [0.0]}\n[[system.boundary_conditions.terms]]\n"
        'type = "Term"\nwhere = {type = "Boundary", body = 0, name = "left"}',
        "program = {times = [0.0], values = [0.3]}\n[[system.boundary_conditions.terms]]\n"
        'type = "Term"\nwhere = {type = "Boundary", body = 0, name = "bottom"}',
        ["Linear with 1 y of boundary 'bottom' of body 0", "Fixed on boundary 'bottom'"],
    ),
    "partner without length": ("radius = 0.8", "radius = 0.0", ["RigidCircle.radius"]),
    "partner inside the body": (
        "centre = [0.0, 1.61]",
        "centre = [0.0, 1.0]",
        ["deep inside its partner"],
    ),
    "no boundary": (
        'body = 0, name = "right"}\ncomponent = 1',
        'body = 0, name = "rigth"}\ncomponent = 1',
        ["'right'"],
    ),
    "plane that turns": (
        'partner = {type = "RigidCircle", centre = [0.0, 1.61], radius = 0.8}',
        'partner = {type = "RigidPlane", point = [0.0, 0.81], normal = [0.0, -1.0]}',
        ["Turned.where", "a plane has no axis"],
    ),
    "unknown condition": ('type = "Pressure"', 'type = "Presure"', ["Pressure"]),
    "stages back": ("until = 2.0", "until = 0.5", ["Solid.stages"]),
    "soft spring": ("stiffness = 0.5", "stiffness = -0.5", ["Spring.stiffness"]),
    "policy": ('{type = "StayOnPath"}', '{type = "Follow"}', ["FollowBranch"]),
    "mesh": ("cells = [12, 3]", "cells = [0, 3]", ["rectangle.cells"]),
    "unknown key of a mesh": ("width = 2.0", "widht = 2.0", ["width"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(name, refused, here):
    old, new, words = BAD[name]
    assert BLOCK.count(old) == 1, name
    (here / "bad.toml").write_text(BLOCK.replace(old, new))
    said = refused("run", "bad.toml", "--no-figures")
    assert all(word in said for word in words), said


PAIR = """
[system]
type = "Solid"
dimensionless = true
[[system.bodies]]
type = "Body"
mesh = {type = "rectangle", width = 1.0, height = 1.0, cells = [4, 2], origin = [0.5, 0.01]}
[[system.bodies]]
type = "Body"
mesh = {type = "rectangle", width = 2.0, height = 1.0, cells = [8, 2], origin = [0.0, -1.0]}
[[system.contacts]]
type = "Contact"
boundary = {type = "Boundary", body = 0, name = "bottom"}
partner = {type = "Boundary", body = 1, name = "top"}
adhesion = {type = "LennardJones", hamaker = 1e-6, r0 = 0.02}
[[system.boundary_conditions]]
type = "Fixed"
where = {type = "Boundary", body = 1, name = "bottom"}
[[system.boundary_conditions]]
type = "Fixed"
where = {type = "Boundary", body = 0, name = "top"}
[solve]
t_end = 1.0
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("origin = [0.5, 0.01]", "origin = [0.5, -0.1]"),
        # beside the end of the partner, where no nearest point is normal to it
        ('body = 1, name = "top"}\nadhesion', 'body = 1, name = "left"}\nadhesion'),
    ],
)
def test_bodies_inside_each_other_are_refused(old, new, refused, here):
    assert PAIR.count(old) == 1
    text = PAIR.replace(old, new)
    if "left" in new:
        text = text.replace("origin = [0.5, 0.01]", "origin = [0.5, -0.4]")
    (here / "bad.toml").write_text(text)
    assert "deep inside" in refused("run", "bad.toml", "--no-figures")


def test_a_boundary_that_goes_round_twice_is_refused(refused, here):
    """Boundaries that touch may close, but meet themselves nowhere else."""
    points = "[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]"
    mesh = f"{{type = 'Mesh', points = {points}, cells = [[0, 1, 2, 3]], "
    closed = (
        mesh + "boundaries = {bottom = [[0, 0], [0, 1], [0, 2], [0, 3], [0, 0]], top = [[0, 2]]}}"
    )
    old = PAIR.split("mesh = ")[1].split("\n")[0]
    (here / "bad.toml").write_text(PAIR.replace(old, closed))
    assert "an edge listed twice" in refused("run", "bad.toml", "--no-figures")
    gap = mesh + "boundaries = {bottom = [[0, 0], [0, 2]], top = [[0, 2]]}}"
    (here / "bad.toml").write_text(PAIR.replace(old, gap))
    assert "edges in order" in refused("run", "bad.toml", "--no-figures")
    none = mesh + "boundaries = {bottom = [], top = [[0, 2]]}}"
    (here / "bad.toml").write_text(PAIR.replace(old, none))
    assert "no edges" in refused("run", "bad.toml", "--no-figures")


BALL = """
[system]
type = "Solid"
dimensionless = true
readings = {displacement = 1}
[[system.bodies]]
type = "SweptBody"
mesh = {type = "rectangle", width = 1.6, height = 0.7, cells = [4, 2], origin = [-0.8, 0.0]}
breaks = [-0.8, -0.3, 0.3, 0.8]
element = {type = "Q1N2", reduced = true, contact_points = 3}
material = {type = "NearlyIncompressible", young = 1.0, poisson = 0.4}
shape = {type = "Dome", tip = [0.0, 0.7, 0.0], radius = 2.5}
[[system.contacts]]
type = "Contact"
boundary = {type = "Boundary", body = 0, name = "top"}
partner = {type = "RigidSphere", centre = [0.0, 2.76, 0.0], radius = 2.0}
adhesion = {type = "LennardJones", hamaker = 0.005, r0 = 0.1}
friction = {type = "DI", mu = 0.4}
[[system.boundary_conditions]]
type = "Fixed"
where = {type = "Boundary", body = 0, name = "bottom"}
components = [0, 1, 2]
[[system.boundary_conditions]]
type = "Driven"
where = {type = "Rigid", contact = 0}
component = 1
program = {times = [0.0, 1.0], values = [0.0, -0.05]}
[method]
type = "Quasistatic"
steps = 3
[solve]
t_end = 1.0
"""


def test_bodies_and_balls_in_files(stiction, here):
    """From the command line, with figures and a movie."""
    (here / "ball.toml").write_text(BALL)
    answer = stiction("run", "ball.toml")
    assert answer.code in (0, 3), answer
    reported = json.loads((here / "out" / "ball" / "summary.json").read_text())
    assert reported["status"] == "solved"
