"""A box on a slope, a sliding cube and a thrown sphere by MuJoCo and Drake (docs/howto/engines.md).

    PYTHON_WITH_MUJOCO_AND_DRAKE benchmarks/peer_engines.py

Settings are the defaults of each program, but for those named in a row. Gravity is tilted in place
of the slope.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mujoco
import numpy as np
import pydrake.all as drake

G, MU = 9.81, 0.5
SLOPES = (0.5, 0.999, 1.001)
LONG, SETTLED = 60.0, 1.0
DENSITY = 1000.0

Rows = np.ndarray


class Scene(NamedTuple):
    """A box or a sphere on a plane.

    Attributes
    ----------
    half, height : half sizes, or the radius, and the height of the centre [m]
    tilt : of gravity [rad]
    duration, speed : [s], and along the plane at the start [m/s]
    """

    shape: str
    half: tuple[float, ...]
    height: float
    tilt: float
    mu: float
    duration: float
    speed: float


def scenes(solver: Any) -> str:
    """Return the row of a program.

    Parameters
    ----------
    solver : function of a scene that returns times, heights, positions and velocities
    """
    cells = []
    for factor in SLOPES:
        tilt = math.atan(factor * MU)
        t, _, x, _ = solver(Scene("box", (0.5, 0.3, 0.3), 0.3, tilt, MU, LONG, 0.0))
        cells.append(f"{x[-1] - x[np.searchsorted(t, SETTLED)]:.3g}")
    _, z, x, _ = solver(Scene("box", (0.5, 0.5, 0.5), 0.5, 0.0, MU, 4.0, 6.0))
    cells += [f"{(z - 0.5).max():.2g}", f"{x[-1]:.4f}"]
    *_, v = solver(Scene("sphere", (0.1,), 0.1, 0.0, 0.3, 2.0, 1.0))
    cells.append(f"{v[-1]:.4f}")
    return " | ".join(cells)


def by_mujoco(cone: str, options: str = "") -> Any:
    """Return the solver of MuJoCo with a friction cone and further options."""

    def solver(scene: Scene) -> tuple[Rows, Rows, Rows, Rows]:
        shape, half, height, tilt, mu, duration, speed = scene
        size = " ".join(map(str, half))
        gravity = f"{G * math.sin(tilt)} 0 {-G * math.cos(tilt)}"
        model = mujoco.MjModel.from_xml_string(f"""<mujoco>
            <option gravity="{gravity}" cone="{cone}" {options}/><worldbody>
            <geom type="plane" size="100 100 1" friction="{mu} 0 0"/>
            <body pos="0 0 {height}"><freejoint/>
            <geom type="{shape}" size="{size}" density="{DENSITY}" friction="{mu} 0 0"/></body>
            </worldbody></mujoco>""")
        data = mujoco.MjData(model)
        data.qvel[0] = speed
        rows = []
        for _ in range(round(duration / model.opt.timestep)):
            mujoco.mj_step(model, data)
            rows.append((data.time, data.qpos[2], data.qpos[0], data.qvel[0]))
        t, z, x, v = np.array(rows).T
        return t, z, x, v

    return solver


def by_drake(approximation: str) -> Any:
    """Return the solver of Drake: discrete, step 1 ms; boxes are compliant hydroelastic bodies."""

    def solver(scene: Scene) -> tuple[Rows, Rows, Rows, Rows]:
        shape, half, height, tilt, mu, duration, speed = scene
        builder = drake.DiagramBuilder()
        config = drake.MultibodyPlantConfig(
            time_step=1e-3,
            contact_model="hydroelastic_with_fallback",
            discrete_contact_approximation=approximation,
        )
        plant, _ = drake.AddMultibodyPlant(config, builder)
        gravity = [G * math.sin(tilt), 0.0, -G * math.cos(tilt)]
        plant.mutable_gravity_field().set_gravity_vector(gravity)
        floor, surface = drake.ProximityProperties(), drake.ProximityProperties()
        for properties in (floor, surface):
            drake.AddContactMaterial(
                friction=drake.CoulombFriction(mu, mu), properties=properties, dissipation=1.0
            )
        if shape == "box":
            # the pair of a box and a half space has one contact point otherwise
            drake.AddRigidHydroelasticProperties(0.1, floor)
            drake.AddCompliantHydroelasticProperties(0.1, 1e7, surface)
            sides = [2.0 * size for size in half]
            geometry = drake.Box(*sides)
            inertia = drake.SpatialInertia.SolidBoxWithDensity(DENSITY, *sides)
        else:
            geometry = drake.Sphere(half[0])
            inertia = drake.SpatialInertia.SolidSphereWithDensity(DENSITY, half[0])
        frame = drake.RigidTransform()
        plant.RegisterCollisionGeometry(
            plant.world_body(), frame, drake.HalfSpace(), "floor", floor
        )
        body = plant.AddRigidBody("body", inertia)
        plant.RegisterCollisionGeometry(body, frame, geometry, "surface", surface)
        plant.Finalize()
        simulator = drake.Simulator(builder.Build())
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetFloatingBaseBodyPoseInWorldFrame(
            context, body, drake.RigidTransform([0.0, 0.0, height])
        )
        start = drake.SpatialVelocity([0.0, 0.0, 0.0], [speed, 0.0, 0.0])
        plant.SetFreeBodySpatialVelocity(context, body, start)
        rows = []
        for t in np.arange(0.01, duration + 1e-9, 0.01):
            simulator.AdvanceTo(t)
            x = plant.EvalBodyPoseInWorld(context, body).translation()
            v = plant.EvalBodySpatialVelocityInWorld(context, body).translational()
            rows.append((t, x[2], x[0], v[0]))
        times, z, x, v = np.array(rows).T
        return times, z, x, v

    return solver


if __name__ == "__main__":
    print("program | drift .5 | .999 | 1.001 [m] | lift [m] | stop [m] | sphere [m/s]")
    fall = G * math.cos(math.atan(1.001 * MU)) * 0.001 * MU * (LONG**2 - SETTLED**2) / 2.0
    print(f"exact | 0 | 0 | {fall:.3g} | 0 | {36.0 / (2.0 * MU * G):.4f} | {5.0 / 7.0:.4f}")
    for options in ("", 'noslip_iterations="20"', 'impratio="100"'):
        for cone in ("pyramidal", "elliptic"):
            print(f"MuJoCo {cone} {options} | {scenes(by_mujoco(cone, options))}", flush=True)
    for approximation in ("sap", "lagged"):
        print(f"Drake {approximation} | {scenes(by_drake(approximation))}", flush=True)
