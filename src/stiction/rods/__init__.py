"""Strings and rods in rolling contact: reduced strings, solved exactly, and elastic rods.

Shapes of strings are imported from here, because `stiction.Sine` is a load of chains.
"""

from stiction.rods.shapes import Bump, Pluck, Samples, Shape, Sine, Sum, UserShape
from stiction.rods.strings import RollingStrings

__all__ = ["Bump", "Pluck", "RollingStrings", "Samples", "Shape", "Sine", "Sum", "UserShape"]
