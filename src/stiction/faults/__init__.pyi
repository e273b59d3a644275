# Written by tools/stubs.py from stiction/catalogue.py.

from stiction.faults.injection import Injection as Injection
from stiction.faults.methods import Cycles as Cycles
from stiction.faults.model import Fault as Fault
from stiction.faults.model import SpringSlider as SpringSlider
from stiction.faults.presets import InjectedFault as InjectedFault
from stiction.faults.presets import StrikeSlipFault as StrikeSlipFault
