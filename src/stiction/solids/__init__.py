"""Deformable bodies at finite strain, with adhesion and friction that acts under tension.

The packages from the lowest to the highest; each imports only what stands before it:

``arrays``, ``dimensions``, ``material_laws``, ``materials``, ``stress_points``
    what kernels read, and what bodies are made of;
``shape_functions``, ``mesh``, ``contact``
    what displacements are made of; partners, laws and curves of contact boundaries;
``elements``, ``conditions``, ``constraints``, ``loads``, ``membranes``, ``space``
    energies, forces and stiffness; what is done to bodies; shells, and solids in space;
``many``, ``model``, ``equilibria``
    contact among many bodies; a solid in its parts; equations, Newton's method, load steps,
    arclength continuation;
``presets``, ``outcome``, ``motion``, ``run``, ``methods``
    examples of the literature, the `Run`, solids with mass, and the methods that solve them.
"""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
