"""Sensitivity of results to parameters: Sobol's indices of a study, and derivatives of one run."""
