"""Parameter studies and the analysis of parameter dependence.

A study is many runs of one scenario with varied fields; each run is called a member. The results of
all members are stored in one folder, and an interrupted study can be continued. The subpackages
`sensitivity` and `cycles` compute sensitivities, and periodic orbits with their bifurcations.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
