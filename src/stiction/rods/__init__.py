"""Strings and rods in rolling contact: reduced strings, solved exactly, and elastic rods.

Shapes of strings are imported from here, because `stiction.Sine` is a load of chains.
"""

from stiction.rods.centreline import Arc, Centreline, Curve, Helix, Straight
from stiction.rods.contact import ContactSearch, RollingContact
from stiction.rods.leapfrog import RollingLeapfrog
from stiction.rods.model import Rods, RodSystem
from stiction.rods.presets import CrossedRods, RodNet, RodOnFixedRod
from stiction.rods.rod import (
    Clamped,
    CosseratRod,
    Driven,
    Free,
    GivenMotion,
    LineForce,
    Pinned,
    PointForce,
    PointMoment,
    RigidMotion,
    SineSpin,
    SineVelocity,
)
from stiction.rods.section import CircularSection
from stiction.rods.shapes import Bump, Pluck, Samples, Shape, Sine, Sum, UserShape
from stiction.rods.strings import RollingStrings
from stiction.rods.tied import Braid, TighteningKnot

__all__ = [
    "Arc",
    "Braid",
    "Bump",
    "Centreline",
    "CircularSection",
    "Clamped",
    "ContactSearch",
    "CosseratRod",
    "CrossedRods",
    "Curve",
    "Driven",
    "Free",
    "GivenMotion",
    "Helix",
    "LineForce",
    "Pinned",
    "Pluck",
    "PointForce",
    "PointMoment",
    "RigidMotion",
    "RodNet",
    "RodOnFixedRod",
    "RodSystem",
    "Rods",
    "RollingContact",
    "RollingLeapfrog",
    "RollingStrings",
    "Samples",
    "Shape",
    "Sine",
    "SineSpin",
    "SineVelocity",
    "Straight",
    "Sum",
    "TighteningKnot",
    "UserShape",
]
