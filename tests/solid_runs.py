"""Made-up runs of solids, with every variable that figures and files read."""

import numpy as np

from stiction.core.audit import Audit
from stiction.core.determinism import Determinism
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.io.output import OUTPUT

WORK, TAU = 0.0153, 0.165


def build(name, time, curves, points, drawn, ledger, quantities, *, unit="1", losses=(), log=None):
    """A Run of the family of solids from plain arrays."""
    variables = {}
    for key, values in curves.items():
        variables[key] = Variable(np.asarray(values, dtype=float), ("time",), unit, key)
    for key, values in points.items():
        dims = ("time", "point") if np.ndim(values) == 2 else ("point",)
        variables[key] = Variable(np.asarray(values), dims, unit, key)
    dims = {
        "snapshot_time": ("snapshot",),
        "drawn_position": ("snapshot", "drawn", "axis"),
        "drawn_cell": ("cell", "corner"),
        "body_of_drawn": ("drawn",),
        "rigid_x": ("snapshot", "outline"),
        "rigid_y": ("snapshot", "outline"),
    }
    for key, values in drawn.items():
        variables[key] = Variable(
            np.asarray(values), dims.get(key, ("snapshot", "drawn")), unit, key
        )
    return Run(
        output=OUTPUT,
        system=None,
        method=None,
        system_name=name,
        method_name="Quasistatic",
        status=Status.SOLVED,
        reason="",
        t_end=float(time[-1]),
        time=time,
        variables=variables,
        final={key: variables[key].values[-1:].copy() for key in ("displacement", "force_y")},
        event_log=log or EventLog(),
        energy=ledger,
        determinism=Determinism(tuple(losses)),
        audit=Audit(()),
        quantities={key: Quantity(v, "1", key) for key, v in quantities.items()},
        stats={"steps": time.size},
        time_unit="1",
        energy_unit="1" if unit == "1" else "J/m",
    )


def grid_of(nx, ny):
    """Points (p, 2) of the unit square and its cells (c, 4)."""
    x, y = np.meshgrid(np.linspace(0.0, 1.0, nx + 1), np.linspace(0.0, 1.0, ny + 1))
    first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    cells = np.stack([first, first + 1, first + nx + 2, first + nx + 1], axis=1)
    return np.stack([x.ravel(), y.ravel()], axis=1), cells


def strip(mu=0.01, *, unit="1", rows=121, nx=48, ny=4, snapshots=5, losses=()):
    """A strip of 200 x 10 whose peeling front runs from 150 to 30 while u goes to 100."""
    t = np.linspace(0.0, 1.0, rows)
    u = 100.0 * t
    peeled = 120.0 * np.clip((t - 0.07) / 0.93, 0.0, 1.0) ** 0.8
    sliding = np.minimum(150.0, 150.0 * np.clip((t - 0.03) / (0.1 + 8.0 * mu), 0.0, 1.0))
    force = 0.06 * (t / 0.2) * np.exp(1.0 - t / 0.2) + 0.02 * t
    spent = WORK * (1.0 + 20.0 * mu * (1.0 + (sliding >= 150.0)))
    x = np.linspace(0.0, 150.0, 301)
    ahead = (150.0 - peeled)[:, None] - x
    normal = (
        np.where(ahead > 0.0, 0.02 * np.exp(-(((ahead - 12.0) / 6.0) ** 2)), 0.0)
        - 0.06 * np.exp(-((ahead / 2.0) ** 2)) * np.minimum(1.0, 10.0 * t)[:, None]
    )
    in_contact = ahead > 0.0
    slides = np.where(in_contact, np.where(x > (150.0 - sliding)[:, None], 2, 1), 0)
    shear = np.where(slides == 2, -mu * 0.06, np.where(slides == 1, -mu * 0.03, 0.0))
    gap = 0.25 + np.where(in_contact, 0.0, 0.02 * ahead**2)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(u))])
    adhesive = -WORK * (150.0 - peeled)
    heat = np.minimum(np.maximum(work - WORK * peeled, 0.0) * 0.5, work)
    stored = work - heat - WORK * peeled
    when = np.linspace(0.0, 1.0, snapshots)
    places, cells = grid_of(nx, ny)
    flat = places * [200.0, 10.0]
    moved, trace = [], []
    for now in when:
        front = 150.0 - np.interp(now, t, peeled)
        lift = np.maximum(flat[:, 0] - front, 0.0) / (200.0 - front)
        bent = flat + np.stack([-5.0 * now * lift, 100.0 * now * lift**1.6], axis=1)
        moved.append(bent)
        near = np.exp(-(((flat[:, 0] - front) / 12.0) ** 2))
        trace.append(0.08 * now * near * (1.0 - places[:, 1] * 2.0))
    trace = np.array(trace)
    return build(
        "StripPeeling" if unit == "1" else "Solid",
        t,
        {
            "displacement": u,
            "force_x": mu * force * (1.0 + t),
            "force_y": force,
            "contact_length": 150.0 - peeled,
            "peeling_length": peeled,
            "sliding_length": sliding,
            "fracture_energy": np.where(peeled > 0.5, spent, np.nan),
            "probe_stress_yy_corner": 0.1 * np.sin(3.0 * t),
        },
        {
            "surface_coordinate": x,
            "gap": gap,
            "normal_traction": normal,
            "tangential_traction": shear,
            "slides": slides,
            "body_of_point": np.ones(x.size, dtype=int),
        },
        {
            "snapshot_time": when,
            "drawn_position": np.array(moved),
            "stress_trace": trace,
            "stress_yy": 0.5 * trace,
            "stress_xy": 0.1 * trace,
            "drawn_cell": cells,
            "body_of_drawn": np.ones(flat.shape[0], dtype=int),
            "rigid_x": np.tile([-20.0, 230.0], (snapshots, 1)),
            "rigid_y": np.tile([-0.5, -0.5], (snapshots, 1)),
        },
        Ledger(t, 0.0 * t, stored, work, heat[:, None], adhesive=adhesive),
        {"work_of_adhesion": WORK, "contact_length_initial": 150.0, "full_sliding_at": 21.0},
        unit=unit,
        losses=losses,
    )


def cap(normal=0.3, *, adhesive=True, rows=101, bodies=1):
    """A cap: preload until 0.3, then sheared until all of it slides at 0.8."""
    t = np.linspace(0.0, 1.0, rows)
    u = 3.0 * np.clip((t - 0.3) / 0.7, 0.0, 1.0)
    start = 9.0 + 8.0 * normal + (2.0 if adhesive else 0.0)
    xi = (3.7e3 if adhesive else 3.0e3) * start ** (-3.71 if adhesive else -3.54)
    end = min(1.0 / (2.0 * xi * TAU) * (np.sqrt(1.0 + 4.0 * xi * TAU**2 * start) - 1.0), 3.0)
    force = np.minimum(0.8 * end * u, end)
    length = np.where(t < 0.3, start * t / 0.3, start - xi * force**2)
    x = np.concatenate([np.linspace(0.0, 40.0, 201)] * bodies)
    of = np.repeat(np.arange(1, bodies + 1), 201)
    from_middle = np.abs(x - 20.0) / np.maximum(0.5 * length, 0.1)[:, None]
    in_contact = from_middle < 1.0
    pressure = 0.1 * np.sqrt(np.maximum(1.0 - from_middle**2, 0.0))
    pressure -= 0.15 * np.exp(-(((from_middle - 1.0) * 15.0) ** 2)) * adhesive
    slid = np.where(force >= end, 1.0, 0.9 * (force / end) ** 2)[:, None]
    slides = np.where(in_contact, np.where(from_middle > 1.0 - slid, 2, 1), 0)
    shear = np.where(slides == 2, -TAU, np.where(slides == 1, -TAU * (force / end)[:, None], 0.0))
    work = np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(u))])
    heat = np.where(force >= end, work - np.interp(1.25, u, work), 0.0)
    log = EventLog(
        np.array([t[np.argmax(force >= end)]]),
        np.ones(1, dtype=np.int64),
        ["sticks somewhere"],
        ["slides everywhere"],
        ["full_sliding"],
    )
    return build(
        "CapSliding",
        t,
        {
            "displacement": u,
            "force_x": force,
            "force_y": np.where(t < 0.3, -normal * t / 0.3, -normal),
            "contact_length": length,
            "peeling_length": np.where(t < 0.3, 0.0, start - length),
            "sliding_length": np.where(t < 0.3, 0.0, start * slid[:, 0]),
        },
        {
            "surface_coordinate": x,
            "gap": 0.08 + 0.3 * np.maximum(from_middle - 1.0, 0.0),
            "normal_traction": pressure,
            "tangential_traction": shear,
            "slides": slides,
            "body_of_point": of,
        },
        {},
        Ledger(t, 0.0 * t, work - heat, work, heat[:, None]),
        {"xi": xi, "xi_spread": 0.02, "eta": 2.1 - 0.2 * normal, "contact_length_initial": start},
        log=log,
    )
