"""Forces that friction laws predict for measured curves, in compiled kernels."""
