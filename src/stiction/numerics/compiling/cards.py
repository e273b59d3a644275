"""Kernels of the processor compiled again for a graphics card, with all they call."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any

__all__ = ["for_card", "simulated"]


def for_card(cuda: Any, function: Any, made: dict[Any, Any], specials: Mapping[str, Any]) -> Any:
    """Return a kernel of the processor as a function of the card.

    Parameters
    ----------
    cuda : ``numba.cuda``
    made : what was made before, by plain function; filled
    specials : {name: function of the card} for what cannot be compiled again, such as calls by
        address

    Verified by: tests/unit/chains/theta/test_cards.py::test_the_bits_of_the_processor
    """
    plain = function.py_func
    if plain.__name__ in specials:
        return specials[plain.__name__]
    if plain not in made:
        scope = dict(plain.__globals__)
        for name in plain.__code__.co_names:
            if hasattr(scope.get(name), "py_func"):
                scope[name] = for_card(cuda, scope[name], made, specials)
        if not simulated():
            scope["np"] = _numbers()
        again = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
        made[plain] = cuda.jit(device=True)(again)
    return made[plain]


def simulated() -> bool:
    """Return whether the card is Numba's simulator of one."""
    from numba import cuda

    return bool(getattr(vars(cuda).get("config"), "ENABLE_CUDASIM", False))


def _numbers() -> types.ModuleType:
    """Return what kernels use of NumPy from the standard library, which a card knows better."""
    found = types.ModuleType("numbers_for_cards")
    for name in ("sqrt", "log", "isfinite", "inf", "nan"):
        setattr(found, name, getattr(math, name))
    return found
