"""What laws say of curves: forces at the rows, in kernels."""
