"""Quasistatic problem (Problem 2): monotone load intervals, active sets, branches of solutions."""
