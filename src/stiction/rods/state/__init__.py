"""What a run of rods keeps of its state: motion, inner forces, reactions, and what they rest on."""
