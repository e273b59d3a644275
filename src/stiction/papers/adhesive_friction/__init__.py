"""Comparison with Mergel, Scheibert, Sauer, J. Mech. Phys. Solids 146 (2021) 104194.

`cases` lists the runs; `laws`, `strip`, `cylinders`, `tape` and `cap` compare figures and
statements with them, section by section; `figures` draws them.
"""
