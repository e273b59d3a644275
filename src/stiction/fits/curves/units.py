"""Units of the columns of a measured curve: conversion to SI units, and check of the dimension.

A unit such as "kN/mm" is a product of powers of SI and a few other units with prefixes. Its factor
is the product of the powers of theirs, its dimension the sum of their exponents. `reading` calls
`factor_of`.
"""

from __future__ import annotations

import re

from stiction.errors import ModelError

__all__ = ["DIMENSIONS", "Dimension", "factor_of"]

# exponents of kilogram, metre and second
Dimension = tuple[int, int, int]

_FORCE, _LENGTH, _TIME, _NONE = (1, 1, -2), (0, 1, 0), (0, 0, 1), (0, 0, 0)
_MASS, _SPEED, _STIFFNESS, _STRESS = (1, 0, 0), (0, 1, -1), (1, 0, -2), (1, -1, -2)

# {quantity: (dimension, unit that messages show for it)}
DIMENSIONS: dict[str, tuple[Dimension, str]] = {
    "time": (_TIME, "s"),
    "displacement": (_LENGTH, "m"),
    "velocity": (_SPEED, "m/s"),
    "force": (_FORCE, "N"),
    "normal_force": (_FORCE, "N"),
    "noise": (_FORCE, "N"),
    "coefficient": (_NONE, "1"),
    "stiffness": (_STIFFNESS, "N/m"),
    "mass": (_MASS, "kg"),
    "weight": (_NONE, "1"),
}

# {unit that may have a prefix: (factor to SI units, dimension)}, and units without prefixes
_BASE: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, _LENGTH),
    "s": (1.0, _TIME),
    "g": (1e-3, _MASS),
    "N": (1.0, _FORCE),
    "Pa": (1.0, _STRESS),
}
_OTHERS: dict[str, tuple[float, Dimension]] = {
    "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "in": (0.0254, _LENGTH),
    "inch": (0.0254, _LENGTH),
    "ft": (0.3048, _LENGTH),
    "lbf": (4.4482216152605, _FORCE),
    "lb": (0.45359237, _MASS),
    "kip": (4448.2216152605, _FORCE),
    "gf": (9.80665e-3, _FORCE),
    "kgf": (9.80665, _FORCE),
    "dyn": (1e-5, _FORCE),
    "t": (1e3, _MASS),
    "1": (1.0, _NONE),
    "-": (1.0, _NONE),
    "%": (0.01, _NONE),
}
_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "k": 1e3, "M": 1e6, "G": 1e9}
# signs that are replaced: both characters of micro, and dots of products
_MICRO = str.maketrans({"\u00b5": "u", "\u03bc": "u", "\u00b7": "*", "\u22c5": "*"})
# one unit and its power: "mm", "s^-1", "m2"
_ONE_UNIT = re.compile(r"([A-Za-z%1-]+?)(?:\^?(-?[1-9]))?")


def factor_of(unit: str, quantity: str, where: str) -> float:
    """Return the factor that converts a value in `unit` to SI units.

    Parameters
    ----------
    unit : for example "mN", "um/s", "kN/mm", "mm/min"
    quantity : a key of `DIMENSIONS`
    where : source of the unit, for messages

    Raises
    ------
    ModelError : if the unit is unknown, or has another dimension than the quantity.

    Verified by: tests/unit/fits/test_units.py::test_units_of_headers
    """
    wanted, shown = DIMENSIONS[quantity]
    found = _parsed(unit)
    why = "the columns are converted to SI units, which needs a known unit."
    if found is None:
        # no similar unit is suggested: m is similar to um, and a million times larger
        known = {**_BASE, **_OTHERS}
        alike = [name for name in known if known[name][1] == wanted]
        needs = f"a unit of {quantity}, such as {shown}"
        try_ = (
            f"{', '.join(alike or known)}, or a prefix n, u, m, c, d, k, M or G before "
            f"{', '.join(_BASE)}."
        )
        raise ModelError(where, repr(unit), needs, why, try_)
    factor, dimension = found
    if dimension != wanted:
        needs = f"a unit of {quantity}, such as {shown}"
        why = f"{unit} is not a unit of {quantity}."
        try_ = f"name the unit by --unit {quantity}={shown}, or another column by --column."
        raise ModelError(where, repr(unit), needs, why, try_)
    return factor


def _parsed(unit: str) -> tuple[float, Dimension] | None:
    """Return factor and dimension of a product of units; None if a unit is unknown.

    "kN/mm" gives (1e6, (1, 0, -2)): 1e6 N/m, in kilogram, metre and second.
    """
    text = unit.strip().translate(_MICRO).replace(" ", "*")
    parts = re.split(r"([*/])", text)
    factor, powers, over = 1.0, [0, 0, 0], False
    for part in parts:
        if part in ("*", "/"):
            over = part == "/"
            continue
        match = _ONE_UNIT.fullmatch(part)
        one = None if match is None else _single(match[1])
        if match is None or one is None:
            return None
        power = int(match[2] or 1) * (-1 if over else 1)
        factor *= one[0] ** power
        powers = [have + power * more for have, more in zip(powers, one[1], strict=True)]
    return factor, (powers[0], powers[1], powers[2])


def _single(name: str) -> tuple[float, Dimension] | None:
    """Return factor and dimension of one unit with its prefix; None if it is unknown."""
    for table in (_BASE, _OTHERS):
        if name in table:
            return table[name]
    if len(name) > 1 and name[0] in _PREFIXES and name[1:] in _BASE:
        factor, dimension = _BASE[name[1:]]
        return factor * _PREFIXES[name[0]], dimension
    return None
