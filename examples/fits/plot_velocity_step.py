r"""
Fit a rate-and-state law and the rig stiffness to a published velocity step
===========================================================================

**Physics.** Basalt gouge slides at 20 MPa. At one time the speed of the loading ram increases from
3 to 10 micrometres a second. Friction jumps up by the direct effect (a) and decreases again by the
evolution effect (b, over the slip length L). The ram acts through the elastic rig, which smooths
the jump: its stiffness must be fitted with the law, or a and L are wrong. The fit also includes a
small drift of friction.

Source: P. Giacomel, D. R. Faulkner, V. Lambert, M. J. Allen, *Geosphere* 2024,
doi:10.1130/GES02739.1, the step `velstep4_BRAVA_expb819_basalt` of the repository that comes with
it, from 40 s before the step to 40 s after it. The numbers below are means of 10 to 100 rows each.
They are under the MIT License, Copyright (c) 2024 Piercarlo Giacomel: permission is granted, free
of charge, to any person obtaining a copy to deal in them without restriction, provided that this
notice is retained; they come as they are, without warranty of any kind.
"""

import numpy as np

import stiction as st
from stiction.fits import Curve, Free, ImposedSlip, SpringDrive
from stiction.laws import SlipLaw

# each row: time since the step in ms, friction over normal force in 1e-5, number of averaged rows
MEASURED = """
-39026 60724 20; -37026 60763 20; -35026 60750 20; -33026 60749 20; -31026 60711 20; -29026 60757
20; -27026 60789 20; -25026 60758 20; -23026 60771 20; -21026 60734 20; -19026 60787 20; -17026
60755 20; -15026 60773 20; -13026 60770 20; -11026 60775 20; -9026 60762 20; -7026 60770 20; -5026
60800 20; -3026 60781 20; -1741 60765 48; -1251 60764 50; -751 60808 50; -251 60800 50; 49 60888
10; 149 60820 10; 249 61116 10; 349 61276 10; 449 61570 10; 549 61744 10; 649 61725 10; 749 61578
10; 849 61499 10; 949 61454 10; 1049 61319 10; 1149 61296 10; 1249 61198 10; 1349 61090 10; 1449
61047 10; 1549 61039 10; 1649 60987 10; 1749 60994 10; 1849 60983 10; 1949 60821 10; 2049 60880 10;
2149 60851 10; 2249 60888 10; 2349 60896 10; 2449 60750 10; 2549 60791 10; 2649 60791 10; 2749
60841 10; 2849 60826 10; 2949 60736 10; 3124 60816 25; 3374 60777 25; 3624 60748 25; 3874 60777 25;
4124 60772 25; 4374 60801 25; 4624 60788 25; 4874 60810 25; 5124 60778 25; 5374 60749 25; 5624
60769 25; 5874 60820 25; 6499 60781 100; 7499 60771 100; 8499 60765 100; 9499 60753 100; 10499
60745 100; 11499 60753 100; 12499 60769 100; 13499 60721 100; 14499 60752 100; 15499 60742 100;
16499 60754 100; 17499 60779 100; 18499 60737 100; 19499 60794 100; 20499 60757 100; 21499 60768
100; 22499 60772 100; 23499 60791 100; 24499 60784 100; 25499 60790 100; 26499 60811 100; 27499
60784 100; 28499 60824 100; 29499 60788 100; 30499 60783 100; 31499 60836 100; 32499 60803 100;
33499 60831 100; 34499 60849 100; 35499 60820 100; 36499 60836 100; 37499 60854 100; 38499 60844
100; 39499 60839 100
"""

# %%
# The model
# ---------
# The ram has a constant speed before and after the step, from straight lines through its measured
# displacement. Friction is a force over the normal force, and so is the fitted stiffness, in 1/m.
# The noise of a mean decreases with the number of its samples.
rows = np.array([row.split() for row in MEASURED.split(";")], dtype=float)
time, friction, count = 1e-3 * rows[:, 0], 1e-5 * rows[:, 1], rows[:, 2]
ram = np.where(time < 0.0, 3.021e-6 * time, 10.033e-6 * time)
basalt = Curve(
    force=friction, time=time, displacement=ram, noise=9.65e-4 / np.sqrt(count), title="basalt"
)
rig = SpringDrive(stiffness=Free(start=3e3), offset=0.0)

# %%
# The law
# -------
# The slip law of Ruina: contacts are renewed by slip, not by time.
law = SlipLaw

# %%
# Method and solve
# ----------------
found = st.fit(basalt, law, rig)
print(found)

# %%
# Reading the result
# ------------------
found.plot.data()

# %%
# The peak is 1.6 % of friction, and its parameters are determined to some percent. The audit
# reports that the residuals exceed the noise of single samples and are correlated, because the
# machine vibrates. True errors are therefore larger than the intervals.
found.plot.residuals()

# %%
# Errors of a and b are correlated: their difference, which determines stability, has a smaller
# error.
a, b = found["a"], found["b"]
together = found.correlation[0, 1] * a.error * b.error
error = np.sqrt(a.error**2 + b.error**2 - 2.0 * together)
print(f"b - a = {b.value - a.value:.5f}, standard error {error:.5f}")

# %%
# For a rigid rig the direct effect would be too small, and the length too large.
rigid = st.fit(basalt, law, ImposedSlip(offset=0.0))
for name in ("a", "b", "length"):
    print(f"{name}: {found[name].value:.3g} with the rig, {rigid[name].value:.3g} without")

assert 0.007 < found["a"].value < 0.010
assert 8e-6 < found["length"].value < 1.2e-5
assert 2e3 < found["rig.stiffness"].value < 5e3
assert rigid["a"].value < found["a"].value
assert rigid.aic > found.aic
assert "residuals_white" in [check.check for check in found.audit if check.ok is False]
