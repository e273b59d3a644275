# Written by tools/stubs.py from stiction/catalogue.py.

from stiction.bodies.equilibrium import Rest as Rest
from stiction.bodies.equilibrium import rests as rests
from stiction.bodies.equilibrium import steepest_rest as steepest_rest
from stiction.bodies.methods import EventDriven as EventDriven
from stiction.bodies.methods import TimeStepper as TimeStepper
from stiction.bodies.model import ContactPair as ContactPair
from stiction.bodies.model import RigidBodies as RigidBodies
from stiction.bodies.model import RigidBody as RigidBody
from stiction.bodies.model import Spring as Spring
from stiction.bodies.model import Support as Support
from stiction.bodies.shapes import Box as Box
from stiction.bodies.shapes import Disc as Disc
from stiction.bodies.shapes import HalfPlane as HalfPlane
from stiction.bodies.shapes import Polygon as Polygon
