"""Shape functions of plane elements and splines, Bezier forms, bounds of Jacobians, hourglass."""
