"""Measured curves: columns, units, files."""
