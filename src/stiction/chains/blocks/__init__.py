"""Many chains that differ in a few numbers, such as stiffness or load, solved in one kernel call.

Sweeps use it through `EventDriven.blocks` and `ThetaStepper.blocks`.
"""
