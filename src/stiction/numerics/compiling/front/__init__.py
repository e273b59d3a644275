"""What Numba's front end does otherwise while a kernel of ours is compiled."""
