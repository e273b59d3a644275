"""Stiction: frictional contact where stick is exact and every result says how far to trust it.

``solve(system, method, t_span)`` integrates a mechanical system whose contacts stick and slip. It
returns a ``Run``: the trajectory, the events, the energy ledger, the losses of uniqueness and the
audit of the model's assumptions. This package exports the most used names; each subpackage
exports all of its own:

``stiction.chains``
    ``Chain``: n masses, springs and dampers on a rail with Coulomb friction; loads; the set of
    sticking equilibria ``StickSet``; ``reach``.
``stiction.switching``
    piecewise-smooth (Filippov) flows: ``PiecewiseSmooth``, ``WheelOnTurntable`` and others;
    policies for states with more than one admissible solution; ``two_fold``, ``futures``,
    ``ensemble``.
``stiction.rods``
    strings and elastic rods in contact that roll, slip and separate: ``RollingStrings``, ``Rods``.
``stiction.solids``
    deformable bodies at finite strain with adhesion and friction: ``Solid``, ``StripPeeling``.
``stiction.bodies``
    rigid bodies with frictional contacts: ``RigidBodies``.
``stiction.faults``
    earthquake cycles with rate-and-state friction: ``SpringSlider``, ``Fault``.
``stiction.laws``
    laws of friction, of tyre forces and of adhesion.

A scenario file in TOML describes the same objects (`read_scenario`); the command ``stiction``
runs it.
"""

from __future__ import annotations

from stiction import _lazy
from stiction._version import __version__
from stiction.catalogue import TOP
from stiction.solve import solve

__all__ = ["__version__", "solve", *TOP]

__getattr__, __dir__ = _lazy.top_names(__name__, __all__)
