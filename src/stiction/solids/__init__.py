"""Deformable bodies at finite strain, with adhesion and friction that acts under tension.

The packages from the lowest to the highest; each imports only what stands before it:

``arrays``, ``dimensions``, ``material_laws``, ``materials``, ``stress_points``
    arrays of a discretised body, strain energies, stress and tangent at integration points;
``shape_functions``, ``mesh``, ``contact``
    interpolation, meshes with named boundaries, closest points and tractions of contact pairs;
``elements``, ``conditions``, ``constraints``, ``loads``, ``membranes``, ``three_d``
    finite elements and their assembly, boundary conditions and loads, membranes and bodies in
    three dimensions;
``many``, ``model``, ``equilibria``
    contact among many bodies, the description `Solid`, the discrete equations, Newton's method,
    load steps and arclength continuation;
``presets``, ``outcome``, ``dynamics``, ``run``, ``methods``
    examples of the literature, the `Run`, solids with mass, and the methods that solve them.
"""

from __future__ import annotations

from stiction._lazy import subpackage_names

__getattr__, __dir__ = subpackage_names(__name__)
