"""Prediction of the force of a measured curve by a friction law, in compiled kernels.

`models.py` selects the kernel for a law and a rig; `slip_kernels.py` integrates a law for imposed
slip, `spring_kernels.py` for a slider behind a spring; `law_kernels.py` has the laws.
"""
