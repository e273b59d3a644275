"""Deformable bodies at finite strain, with adhesion and friction that acts under tension."""
