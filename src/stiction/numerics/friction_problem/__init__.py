"""The frictional contact problem: forces and velocities under Coulomb's law, and proofs on them."""
