"""Stiction: frictional contact where stick is exact and every result says how far to trust it.

One verb, ``solve(system, method, t_span)``, and swappable nouns: systems, laws, methods. What
comes out is a ``Run``: events, energy ledger, determinism, audit and data. This package holds
the names that every first user needs; each room holds all of its own:

``stiction.chains``
    ``Chain``: n masses, springs and dampers on a rail; loads; ``StickSet``, ``reach``.
``stiction.switching``
    flows that switch: ``PiecewiseSmooth``, ``WheelOnTurntable`` and others; policies for places
    where the future is not unique; ``two_fold``, ``futures``, ``ensemble``.
``stiction.rods``
    ``RollingStrings``, and elastic rods that roll, slip and open: ``Rods`` and their parts.
``stiction.solids``
    deformable bodies at finite strain: ``Solid`` and its parts, ``StripPeeling`` and others.
``stiction.laws``
    what resists: friction, tyres, adhesion.

Scenarios in TOML describe the same objects (`read_scenario`); the command ``stiction`` runs
them.
"""

from __future__ import annotations

from stiction import _lazy
from stiction._version import __version__
from stiction.catalogue import TOP
from stiction.solve import solve

__all__ = ["__version__", "solve", *TOP]

__getattr__, __dir__ = _lazy.top_names(__name__, __all__)
