"""Deformable bodies at finite strain, with adhesion and friction that acts under tension.

Where things are, from the description of a problem to its run:

``mesh``, ``elements``, ``splines``
    shapes, what displacements are made of, and the curves on contact boundaries;
``materials``, ``partners``, ``contact``, ``conditions``
    what bodies are made of, what they touch and how, what is done to them;
``model``, ``presets``
    a solid in its parts, and the examples of the literature as ready ones;
``continuation``
    the method that follows equilibria around limit points; `stiction.methods.Quasistatic` goes
    from load step to load step;
``arrays``, ``assembly``
    what kernels read, and the matrix that values are added to in place;
``outcome``
    from what was recorded to a `Run`.

Private modules hold the compiled kernels (``*_kernels``), the equations (``_problem``), Newton's
method (``_newton``), the two marches (``*_run``) and what they keep (``_history``,
``_readings``, ``_pictures``, ``_checkpoint``). May import laws, methods, results and numerics.
"""

from __future__ import annotations

from stiction._lazy import room_names

__getattr__, __dir__ = room_names(__name__)
