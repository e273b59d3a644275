# Written by tools/stubs.py from stiction/catalogue.py.

from stiction.fmi.export import export_fmu as export_fmu
