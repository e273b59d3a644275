"""Contact of rods: kinematics, contact laws, forces and impulses, broad phase."""
