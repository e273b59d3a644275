r"""
Fit and compare laws of a friction damper with backlash
=======================================================

**Physics.** A band is wound around a drum; a load of 22 lb at its slack end becomes a friction
force of about 5 kN. The drum oscillates, and force and displacement are measured. Three laws are
fitted to the first loops and compared. None of them contains the backlash of the band, which
appears as a step near zero force after each reversal. The data favour a law with presliding, and
the audit reports that the residuals are not noise. Intervals that allow for this are about twice
as wide as those that do not.

Source: D. Coble, P. Huggins, L. Cao, J. Ricles, A. Downey, *Dataset friction damper with backlash*
(2022), github.com/ARTS-Laboratory/Dataset-Friction-Damper-with-Backlash, test 0.5Hz20lbtension,
every 32nd row from 0.2 to 6.6 s, rounded. The table below is under CC BY-SA 4.0, as the
data set is; the script is not part of it.
"""

import tempfile
from pathlib import Path

import stiction as st
from stiction.fits import Bootstrap, ImposedSlip, Profile, compare_fits
from stiction.laws import BoucWen, Dahl

# each row: time in s/1024, displacement in inch/1000, force in kip/1000
MEASURED = """
205 13 -8; 237 21 11; 269 30 77; 301 39 139; 333 50 240; 365 60 383; 397 71 562; 429 82 746; 461
93 958; 493 103 1179; 525 113 1403; 557 123 1404; 589 132 1463; 621 139 1395; 653 145 1364; 685
148 1375; 717 148 1408; 749 147 1337; 781 144 1140; 813 137 850; 845 128 547; 877 116 269; 909
101 45; 941 84 -62; 973 65 -99; 1005 43 -150; 1037 21 -161; 1069 -4 -245; 1101 -30 -392; 1133
-57 -642; 1165 -85 -649; 1197 -114 -714; 1229 -143 -708; 1261 -172 -687; 1293 -201 -765; 1325
-229 -738; 1357 -257 -752; 1389 -283 -766; 1421 -307 -782; 1453 -328 -785; 1485 -346 -812; 1517
-361 -813; 1549 -373 -828; 1581 -381 -856; 1613 -386 -892; 1645 -388 -879; 1677 -386 -781; 1709
-381 -552; 1741 -371 -308; 1773 -355 -170; 1805 -335 -109; 1837 -310 -58; 1869 -282 -24; 1901
-250 133; 1933 -215 598; 1965 -177 1449; 1997 -133 1361; 2029 -87 932; 2061 -40 1015; 2093 10
925; 2125 60 943; 2157 112 968; 2189 164 965; 2221 216 999; 2253 268 1006; 2285 319 1019; 2317
369 1023; 2349 415 1032; 2381 458 1042; 2413 497 1041; 2445 532 1050; 2477 562 1057; 2509 587
1066; 2541 607 1070; 2573 622 1081; 2605 632 1108; 2637 637 1189; 2669 635 983; 2701 627 636;
2733 609 217; 2765 585 -40; 2797 555 -130; 2829 518 -176; 2861 475 -318; 2893 427 -677; 2925 373
-713; 2957 315 -705; 2989 252 -759; 3021 186 -731; 3053 117 -765; 3085 46 -761; 3117 -28 -797;
3149 -104 -783; 3181 -180 -814; 3213 -257 -822; 3245 -333 -827; 3277 -408 -825; 3309 -480 -846;
3341 -548 -859; 3373 -610 -878; 3405 -667 -876; 3437 -718 -888; 3469 -764 -884; 3501 -803 -912;
3533 -835 -896; 3565 -859 -927; 3597 -875 -939; 3629 -883 -983; 3661 -884 -959; 3693 -879 -679;
3725 -865 -280; 3757 -840 -112; 3789 -806 -42; 3821 -763 30; 3853 -713 558; 3885 -654 1438; 3917
-577 1107; 3949 -494 916; 3981 -410 950; 4013 -326 964; 4045 -238 963; 4077 -145 990; 4109 -48
979; 4141 51 999; 4173 150 999; 4205 250 1016; 4237 348 1031; 4269 441 1023; 4301 528 1023; 4333
610 1012; 4365 679 1026; 4397 740 1035; 4429 799 1041; 4461 855 1037; 4493 904 1038; 4525 943
1058; 4557 972 1067; 4589 992 1074; 4621 1004 1092; 4653 1008 1150; 4685 1003 872; 4717 986 331;
4749 957 -45; 4781 918 -139; 4813 870 -217; 4845 815 -698; 4877 752 -781; 4909 681 -640; 4941
605 -832; 4973 523 -735; 5005 436 -803; 5037 346 -761; 5069 251 -822; 5101 155 -814; 5133 57
-826; 5165 -42 -827; 5197 -142 -848; 5229 -240 -852; 5261 -337 -867; 5293 -431 -869; 5325 -520
-884; 5357 -603 -886; 5389 -679 -897; 5421 -748 -900; 5453 -811 -915; 5485 -865 -908; 5517 -911
-913; 5549 -948 -923; 5581 -977 -925; 5613 -996 -938; 5645 -1005 -993; 5677 -1007 -1018; 5709
-1001 -722; 5741 -986 -281; 5773 -960 -107; 5805 -923 -47; 5837 -878 38; 5869 -825 809; 5901
-762 1255; 5933 -681 1007; 5965 -596 948; 5997 -511 955; 6029 -425 995; 6061 -336 987; 6093 -243
1022; 6125 -146 1003; 6157 -48 1019; 6189 52 1020; 6221 151 1035; 6253 250 1042; 6285 348 1043;
6317 440 1043; 6349 529 1038; 6381 610 1036; 6413 679 1039; 6445 740 1051; 6477 798 1059; 6509
854 1061; 6541 903 1063; 6573 942 1076; 6605 972 1080; 6637 992 1088; 6669 1004 1111; 6701 1008
1166; 6733 1003 908
"""

# %%
# The model
# ---------
# The slip is imposed, and the force has an offset. The header gives the units. The force on the
# band is unknown: with a normal force of 1 kN, coefficients are forces in kN.
rows = [row.split() for row in MEASURED.split(";")]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "damper.csv")
    lines = [f"{int(t) / 1024},{int(x) / 1000},{int(f) / 1000}" for t, x, f in rows]
    path.write_text("time [s],displacement [in],force [kip]\n" + "\n".join(lines))
    damper = st.fits.read_curve(path, normal_force=1e3)
rig = ImposedSlip(drift=0.0)

# %%
# The law
# -------
# Friction without and with presliding, all rate-independent.
laws = (st.Coulomb, Dahl, BoucWen)

# %%
# Method and solve
# ----------------
fits = [st.fit(damper, law, rig) for law in laws]
table = compare_fits(fits)
print(table[["parameters", "noise", "aic", "left_out"]].to_string())

# %%
# Reading the result
# ------------------
# The best law and the data.
best = next(f for f in fits if type(f.law).__name__ == table.index[0])
print(best)
best.plot.data()

# %%
# Successive residuals are correlated: they come from the backlash of the band and are not noise.
# Resampled blocks of residuals preserve this.
best.plot.residuals()

# %%
wide = st.fit(damper, type(best.law), rig, intervals=Bootstrap(resamples=100))
for name in best.table.index[:2]:
    white, honest = best[name], wide[name]
    share = (honest.high - honest.low) / (white.high - white.low)
    print(f"{name}: {white.value:.4g}, interval {share:.1f} times as wide")

failed = [check.check for check in best.audit if check.ok is False]
assert isinstance(best.intervals, Profile)
assert "residuals_white" in failed
assert table.index[-1] == "Coulomb"
