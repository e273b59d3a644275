"""Identification of friction laws: parameters with confidence intervals from measured curves.

A measured force over displacement or time is compared with the force that a law predicts for the
test rig. Parameters are fitted by weighted least squares; several laws can be compared.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
