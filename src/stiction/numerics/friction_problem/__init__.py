"""The frictional contact problem: forces and velocities under Coulomb's law, with a certificate."""
