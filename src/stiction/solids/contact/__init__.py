"""Contact: boundaries, their partners, and the kernels of one pass."""
