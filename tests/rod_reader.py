"""Reads saved runs of rods: the lines of the ledger from the file, by NumPy alone.

Nothing of the package is used, so that what it saves is shown to be enough.
"""

import h5py
import numpy as np


def read(path):
    """Return the arrays of run.nc by name; contacts keep their axis where there is one alone."""
    with h5py.File(path) as file:
        found = {name: stored[...] for name, stored in file.items()}
    if found.get("contact_mode", np.zeros((1, 1))).ndim == 1:
        for name in ("contact_force", "contact_point", "slip_velocity", "contact_impulse"):
            found[name] = found[name][:, None, :]
        for name in ("contact_mode", "first_body", "second_body", "contact_impact_loss"):
            found[name] = found[name][:, None]
    return found


def directors(q):
    """Return (..., 3, 3) matrices whose columns are the directors of quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(q / np.linalg.norm(q, axis=-1)[..., None], -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def turned(a, b):
    """Return (..., 3) rotation vectors from frames a to frames b (..., 3, 3), in either."""
    c = np.swapaxes(a, -1, -2) @ b
    skew = [c[..., 2, 1] - c[..., 1, 2], c[..., 0, 2] - c[..., 2, 0], c[..., 1, 0] - c[..., 0, 1]]
    sine = 0.5 * np.stack(skew, axis=-1)
    size = np.linalg.norm(sine, axis=-1)
    angle = np.arctan2(size, 0.5 * (np.trace(c, axis1=-2, axis2=-1) - 1.0))
    return sine * np.where(size > 1e-9, angle / np.maximum(size, 1e-300), 1.0)[..., None]


def summed(time, power):
    """Return the integral of power over time up to each saved time."""
    parts = 0.5 * (power[1:] + power[:-1]) * np.diff(time)
    return np.concatenate([[0.0], np.cumsum(parts)])


def kinetic(d):
    """Return (t,) kinetic energies: of nodes, and of frames with twice the inertia along."""
    d3, w = directors(d["frame"])[..., 2], d["angular_velocity"]
    turning = (w**2).sum(-1) + (w * d3).sum(-1) ** 2
    moving = (d["mass_of_node"] * (d["velocity"] ** 2).sum(-1)).sum(-1)
    return 0.5 * (moving + (d["inertia_of_element"] * turning).sum(-1))


def joints(d):
    """Return node, frame before and frame behind it for every joint, frames (t, 3, 3)."""
    frames = directors(d["frame"])
    start, end = d["nodes_of_element"].astype(int).T - 1
    after = dict(zip(start.tolist(), np.moveaxis(frames, 1, 0), strict=True))
    before = dict(zip(end.tolist(), np.moveaxis(frames, 1, 0), strict=True))
    for k, node in enumerate(d.get("node_of_clamp", np.zeros(0)).astype(int) - 1):
        held = directors(d["clamp_frame"][:, k])
        (after if node in before else before)[node] = held
    for node in np.flatnonzero(d["bending_of_joint"] > 0.0):
        yield node, before[node], after[node]


def stored(d):
    """Return (t,) elastic energies: stretch and shear of elements, bending and twist of joints."""
    start, end = d["nodes_of_element"].astype(int).T - 1
    gap = (d["position"][:, end] - d["position"][:, start]) / d["length_of_element"][:, None]
    strain = np.einsum("teji,tej->tei", directors(d["frame"]), gap) - [0.0, 0.0, 1.0]
    across, along = (strain[..., :2] ** 2).sum(-1), strain[..., 2] ** 2
    stiff = d["shear_stiffness"] * across + d["axial_stiffness"] * along
    total = 0.5 * (d["length_of_element"] * stiff).sum(-1)
    for node, a, b in joints(d):
        angle = turned(a, b) - d["natural_angle"][node]
        total += 0.5 * d["bending_of_joint"][node] * (angle[:, :2] ** 2).sum(-1)
        total += 0.5 * d["twist_of_joint"][node] * angle[:, 2] ** 2
    return total


def partner_velocity(d, k):
    """Return (t, 3) the velocity of the partner of contact k where it touches; 0 for a rod."""
    found = np.zeros_like(d["contact_point"][:, k])
    rods = int(d["rod_of_node"].max())
    for j in range(d.get("partner_velocity", np.zeros((0, 0, 3))).shape[1]):
        arm = d["contact_point"][:, k] - d["partner_point"][:, j, 0]
        speed = d["partner_velocity"][:, j] + np.cross(d["partner_angular_velocity"][:, j], arm)
        found[d["second_body"][:, k] == rods + j + 1] = speed[
            d["second_body"][:, k] == rods + j + 1
        ]
    return found


def external_work(d):
    """Return (t,) work of gravity, loads, moving clamps and driven partners."""
    time, moved, v = d["time"], d["position"] - d["position"][0], d["velocity"]
    work = (d["mass_of_node"][:, None] * d["gravity"] * moved).sum((1, 2))
    if "constant_force" in d:
        work = work + (d["constant_force"] * moved).sum((1, 2))
    power = np.zeros_like(time)
    if "varying_force" in d:
        power += (d["varying_force"] * v).sum((1, 2))
    if "applied_moment" in d:
        power += (d["applied_moment"] * d["angular_velocity"]).sum((1, 2))
    if "clamp_force" in d:
        power += (d["clamp_force"] * v[:, d["node_of_clamp"].astype(int) - 1]).sum((1, 2))
        power += (d["clamp_moment"] * d["clamp_angular_velocity"]).sum((1, 2))
    for k in range(d["second_body"].shape[1] if "second_body" in d else 0):
        driven = np.nan_to_num(partner_velocity(d, k))
        power += (np.nan_to_num(d["contact_force"][:, k]) * driven).sum(-1)
        blows = np.diff(d["contact_impulse"][:, k], axis=0, prepend=0.0)
        work = work + np.cumsum((blows * driven).sum(-1))
    return work + summed(time, power)


def friction_heat(d):
    """Return (t, contact) heat of slip."""
    power = -np.nan_to_num((d["contact_force"] * d["slip_velocity"]).sum(-1))
    return np.stack([summed(d["time"], column) for column in power.T], axis=1)


def viscous_heat(d):
    """Return (t,) heat of drag and of the material."""
    v, w, frames = d["velocity"], d["angular_velocity"], directors(d["frame"])
    start, end = d["nodes_of_element"].astype(int).T - 1
    # what is held has no drag
    free, turns = np.ones(v.shape[1]), np.ones(w.shape[1])
    for node, kind in zip(d.get("node_of_clamp", ()), d.get("kind_of_clamp", ()), strict=True):
        free[int(node) - 1] = 0.0
        if kind == 3:
            beside = (start == node - 1) | (end == node - 1)
            free[start[beside]], free[end[beside]], turns[beside] = 0.0, 0.0, 0.0
    power = (d.get("drag_of_node", 0.0) * free * (v**2).sum(-1)).sum(-1)
    power += (d.get("drag_of_element", 0.0) * turns * (w**2).sum(-1)).sum(-1)
    if "retardation_of_element" not in d:
        return summed(d["time"], power)
    late = d["retardation_of_element"]
    gap = d["position"][:, end] - d["position"][:, start]
    rate = (v[:, end] - v[:, start] - np.cross(w, gap)) / d["length_of_element"][:, None]
    rate = np.einsum("teji,tej->tei", frames, rate)
    size = d["shear_stiffness"] * (rate[..., :2] ** 2).sum(-1)
    size += d["axial_stiffness"] * rate[..., 2] ** 2
    power += (late * d["length_of_element"] * size).sum(-1)
    spin = dict(zip(start.tolist(), np.moveaxis(w, 1, 0), strict=True))
    back = dict(zip(end.tolist(), np.moveaxis(w, 1, 0), strict=True))
    for k, node in enumerate(d.get("node_of_clamp", np.zeros(0)).astype(int) - 1):
        (spin if node in back else back)[node] = d["clamp_angular_velocity"][:, k]
    late = dict(zip(start.tolist(), late, strict=True)) | dict(zip(end.tolist(), late, strict=True))
    for node, a, b in joints(d):
        turn = spin[node] - back[node]
        # the axis of the frame behind the joint, or of the one before a clamp at the end
        along = (turn * (b if node in start else a)[..., 2]).sum(-1)
        bend, twist = d["bending_of_joint"][node], d["twist_of_joint"][node]
        power += late[node] * (bend * (turn**2).sum(-1) + (twist - bend) * along**2)
    return summed(d["time"], power)
