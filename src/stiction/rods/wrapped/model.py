from dataclasses import dataclass
from typing import Any
@dataclass
class WrappedRod:
    rod: Any
    obstacles: Any
    friction: Any = None
    gravity: Any = (0.0,0.0,0.0)
