"""Measured curves of force: the class `Curve`, units, and readers of CSV and NetCDF files."""
