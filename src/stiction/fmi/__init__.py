"""Export of chains with friction to other simulators, as co-simulation units of FMI 3.

FMI is the Functional Mock-up Interface. Transitions of stick and slip are outputs of the unit.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
