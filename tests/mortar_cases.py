"""Passes of virtual work over one boundary: what their tests share."""

import numpy as np
from solid_cases import curve, evaluate

from stiction.laws import DI, Frictionless, LennardJones
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact, History
from stiction.solids.contact.partners import Boundary
from stiction.solids.contact.virtual_work import MortarPass

LAW = LennardJones(1.0, 0.3)
# a law, and a tangential stiffness with which cells whose projection jumps slide or stick
FRICTION = {
    "none": (Frictionless(), 30.0),
    "slides": (DI(0.5, 1.0, 20.0), 30.0),
    "sticks": (DI(0.5, 1.0, 20.0), 1e-5),
}


def made_of(mine, other, degree, friction=FRICTION["none"][0], penalty=30.0, weights=None):
    """Return a pass with one cell for each element of a boundary, and places of all nodes."""
    points, first = np.concatenate([mine, other]), mine.shape[0]
    pair = curve(mine, degree, points=1), curve(other, degree, first=first, weights=weights)
    contact = Contact(
        Boundary(0, "a"), Boundary(1, "b"), LAW, friction, penalty=penalty, passes="mortar"
    )
    return MortarPass(contact, *pair, points), points


def slipped(contact_pass, x, seed):
    """Return a history in which some cells stick and others slide."""
    random = np.random.default_rng(seed)
    origin = evaluate(contact_pass, x, contact_pass.project(x, None), contact_pass.empty_history())[
        1
    ][:, k.ORIGIN]
    known = np.isfinite(origin)
    far = random.uniform(-0.3, 0.3, origin.size) * (random.random(origin.size) < 0.5)
    moved = np.where(known, origin + far + 0.001 * random.standard_normal(origin.size), 0.0)
    return History(moved[:, None], known, random.random(origin.size) < 0.5)


def dense_of(contact_pass, closest, history, values, size):
    dense = np.zeros((size, size))
    for r, c, block in zip(*contact_pass.blocks(closest, history), values, strict=True):
        at = [(nodes[:, None] * 2 + np.arange(2)).ravel() for nodes in (r, c)]
        np.add.at(dense, (at[0][:, None], at[1][None, :]), block)
    return dense
