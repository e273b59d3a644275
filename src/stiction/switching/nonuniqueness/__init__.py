"""Non-unique solutions: admissible continuations, exits, and choices of policies."""
