"""Elastic rods and strings in rolling and slipping contact.

Rods are discrete Cosserat rods (`rod`, `leapfrog`, `midpoint`, `statics`); strings are the reduced
model of Gay-Balmaz and Putkaradze 2012, solved along characteristics (`strings`).

Shapes of strings are imported from here, because `stiction.chains.Sine` is a load of chains.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
