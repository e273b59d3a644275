"""Explicit time integration of rods in contact: nonholonomic leapfrog and velocity Verlet."""
