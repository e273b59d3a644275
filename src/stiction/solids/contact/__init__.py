"""Contact pairs: closest-point projection, mortar segments, tractions, tangents."""
