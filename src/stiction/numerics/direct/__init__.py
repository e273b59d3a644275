"""Factors of sparse and of band matrices; `linear_solvers` describes the solvers to users."""
