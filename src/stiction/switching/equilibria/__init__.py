"""Equilibria of piecewise-smooth flows, and their branches over a parameter."""
