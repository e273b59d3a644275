# Written by tools/stubs.py from stiction/catalogue.py.

from stiction.studies.cycles.branch import CycleBranch as CycleBranch
from stiction.studies.cycles.branch import continue_cycle as continue_cycle
from stiction.studies.cycles.cycle import Cycle as Cycle
from stiction.studies.cycles.cycle import find_cycle as find_cycle
from stiction.studies.designs import Grid as Grid
from stiction.studies.designs import LatinHypercube as LatinHypercube
from stiction.studies.designs import Paired as Paired
from stiction.studies.designs import Range as Range
from stiction.studies.designs import Saltelli as Saltelli
from stiction.studies.designs import Sobol as Sobol
from stiction.studies.sensitivity.derivatives import Sensitivities as Sensitivities
from stiction.studies.sensitivity.derivatives import sensitivities as sensitivities
from stiction.studies.sensitivity.sobol import sobol_indices as sobol_indices
from stiction.studies.study import Study as Study
from stiction.studies.sweep import Sweep as Sweep
