"""Spring sliders and faults under rate-and-state friction, loaded by plates at constant speed.

`model` and `presets` define the systems, `methods` the time integration; runs contain slip, slip
speed, state, shear stress and energies of every cell.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
