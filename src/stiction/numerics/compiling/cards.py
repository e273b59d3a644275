"""Kernels of the processor compiled again for a graphics card, with all they call."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any

__all__ = ["for_card", "on_card", "simulated"]


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
        made[plain] = on_card(cuda, again)
    return made[plain]


def on_card(cuda: Any, function: Any) -> Any:
    """Return a plain function as one of the card, made once for each set of types.

    A constant that is handed over is a number of its type: otherwise a function is made for each
    number, with all that it calls, and rows of tables are numbers.
    """
    made = cuda.jit(device=True)(function)
    if simulated():
        return made
    from numba.core.types import unliteral

    told = made.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return told(tuple(unliteral(kind) for kind in args), plain)

    made.get_call_template = get_call_template
    return made


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
