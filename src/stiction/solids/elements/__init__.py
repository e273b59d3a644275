"""Elements: Lagrange inside, with a layer of splines on the boundaries that touch."""
