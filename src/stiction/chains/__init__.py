"""n masses on a rail, joined by springs and dampers, under set-valued friction.

`model` states the equations of motion, `methods` the schemes for the dynamic and quasistatic
problems, `stick_set` and `reachability` the static one.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
