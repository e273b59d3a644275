# Written by tools/stubs.py from stiction/catalogue.py.

from stiction.fits.comparison import compare_fits as compare_fits
from stiction.fits.curves.curve import Curve as Curve
from stiction.fits.curves.reading import read_curve as read_curve
from stiction.fits.fitting import fit as fit
from stiction.fits.intervals import Bootstrap as Bootstrap
from stiction.fits.intervals import Profile as Profile
from stiction.fits.loading import SavedFit as SavedFit
from stiction.fits.outcome import Fit as Fit
from stiction.fits.rigs import Free as Free
from stiction.fits.rigs import ImposedSlip as ImposedSlip
from stiction.fits.rigs import Simulated as Simulated
from stiction.fits.rigs import SpringDrive as SpringDrive
from stiction.fits.simulated import fit_scenario as fit_scenario
