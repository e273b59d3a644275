"""How rods touch: where, what a contact may do, forces and impulses, and who is near whom."""
