"""J. Mech. Phys. Solids 146 (2021) 104194: its figures and statements, beside ours."""
