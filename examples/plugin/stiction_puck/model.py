"""A puck that is thrown and slides until friction stops it."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from stiction.core.fields import Declared, Positive
from stiction.laws.coulomb import Coulomb
from stiction.laws.friction import Friction

_WHY = "a puck is thrown over ice."


@dataclass(frozen=True, eq=False, repr=False)
class Puck(Declared):
    """A puck on level ice under any friction law without memory."""

    default_method: ClassVar[str] = "Sliding"
    state_size: ClassVar[int] = 4

    mass: Annotated[float, Positive("kg", _WHY)] = 0.17
    speed: Annotated[float, Positive("m/s", _WHY)] = 3.0
    gravity: Annotated[float, Positive("m/s^2", _WHY)] = 9.81
    law: Friction = field(default_factory=lambda: Coulomb(0.05))
