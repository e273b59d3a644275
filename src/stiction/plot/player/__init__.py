"""Animations of runs: one movie type for every system, written as an HTML page, GIF or MP4.

A system supplies a function of a run and of the times of the frames that returns a `Movie`:
lines, dots, boxes, arrows and cells. The modules here sample, compress, draw and play it.
"""
