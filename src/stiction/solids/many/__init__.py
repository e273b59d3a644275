"""Many bodies that may touch: pairs found by their boxes, at the start and on the way."""
