"""BibTeX entries of the papers on which systems and methods are based, for `Run.cite`."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["bibtex"]

_ENTRIES = {
    "chains": """@article{detachment2025,
  title   = {Detachment Waves in Frictional Contact {II}: Analysis and Simulations of a
             Three-Mass System},
  journal = {Axioms},
  volume  = {14},
  number  = {4},
  pages   = {299},
  year    = {2025}
}""",
    "switching": """@article{szalai2014,
  author  = {Szalai, Robert and Jeffrey, Mike R.},
  title   = {Nondeterministic dynamics of a mechanical system},
  journal = {Physical Review E},
  volume  = {90},
  pages   = {022914},
  year    = {2014},
  doi     = {10.1103/PhysRevE.90.022914}
}""",
    "strings": """@article{gaybalmaz2012,
  author  = {Gay-Balmaz, Fran{\\c{c}}ois and Putkaradze, Vakhtang},
  title   = {Dynamics of elastic rods in perfect friction contact},
  journal = {Physical Review Letters},
  volume  = {109},
  pages   = {244303},
  year    = {2012}
}""",
    "adhesive_friction": """@article{mergel2021,
  author  = {Mergel, Janine C. and Scheibert, Julien and Sauer, Roger A.},
  title   = {Contact with coupled adhesion and friction: Computational framework,
             applications, and new insights},
  journal = {Journal of the Mechanics and Physics of Solids},
  volume  = {146},
  pages   = {104194},
  year    = {2021}
}""",
    "stiction": """@software{stiction,
  title  = {Stiction: frictional contact where stick is exact},
  author = {{The Stiction developers}},
  year   = {2026}
}""",
}


def bibtex(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of `keys`, followed by that of this software."""
    return "\n\n".join(_ENTRIES[key] for key in (*keys, "stiction"))
