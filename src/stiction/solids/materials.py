"""Material laws: hyperelastic strain energies in the principal invariants, and linear elasticity.

A hyperelastic law is psi(I1, I2, J) per reference volume, with I1 and I2 of C = F^T F and
J = det F. Its volumetric part is separate, so that elements can integrate it at fewer points.
Each class below states its energy; `table` returns its constants as one array, from which
`material_laws` computes energy and derivatives for `stress_points` and the kernels.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, NonNegative, Positive
from stiction.errors import ModelError

__all__ = [
    "LinearElastic",
    "Material",
    "MooneyRivlin",
    "NearlyIncompressible",
    "NeoHookean",
    "Yeoh",
]

Floats = npt.NDArray[np.float64]

# smallest modulus whose powers do not underflow [Pa]
_LEAST = 1e-100
_WHY_YOUNG = "a body without stiffness has no unique equilibrium."
_WHY_POISSON = "for other values the strain energy is not positive."

YOUNG = Positive(
    "Pa",
    f"{_WHY_YOUNG[:-1]}, and products of moduli must not underflow.",
    "give Young's modulus, such as 2e6, or choose another unit of stress.",
    least=_LEAST,
    most=1.0 / _LEAST,
)
POISSON = Finite(
    "1",
    _WHY_POISSON,
    "give 0.3; 0.49 with reduced=True elements stands for nearly incompressible bodies.",
    above=-1.0,
    below=0.5,
    needs="a number between -1 and 0.5, both excluded",
)
_CONSTANT = NonNegative("Pa", _WHY_POISSON, "give a positive number.")
_BULK = Positive(
    "Pa",
    "the bulk modulus resists a change of volume.",
    "give a hundred times the shear modulus for a nearly incompressible body.",
)
_STIFF = Positive("Pa", _WHY_YOUNG)
_STIFFENING = Finite("Pa", "the strain energy has this coefficient.")


class Material(Declared, abc.ABC):
    """Base of materials: an energy per reference volume, with its moduli at small strain."""

    @abc.abstractmethod
    def moduli(self) -> tuple[float, float]:
        """Return shear modulus and bulk modulus at small strain [Pa]."""

    @abc.abstractmethod
    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants in the layout of `material_laws`, (8,), in a new array."""

    def elastic_constants(self) -> tuple[float, float]:
        """Return Young's modulus [Pa] and Poisson's ratio [1] at small strain."""
        g, k = self.moduli()
        return 9.0 * k * g / (3.0 * k + g), (3.0 * k - 2.0 * g) / (6.0 * k + 2.0 * g)

    def contact_modulus(self, plane_stress: bool = False) -> float:
        """Return E* [Pa]: E / (1 - nu^2) in plane strain, E in plane stress."""
        e, nu = self.elastic_constants()
        return e if plane_stress else e / (1.0 - nu * nu)


def _table(kind: str, plane_stress: bool, **entries: float) -> Floats:
    """Return the constants (8,); `kind` and `entries` name codes and indices of `material_laws`."""
    from stiction.solids import material_laws as mk

    table = np.zeros(8)
    table[mk.KIND] = getattr(mk, kind.upper())
    table[mk.ACROSS] = mk.PLANE_STRESS if plane_stress else mk.PLANE_STRAIN
    for name, value in entries.items():
        table[getattr(mk, name.upper())] = value
    return table


def _lame(young: float, poisson: float) -> tuple[float, float]:
    """Return Lame's constants lam and mu [Pa]."""
    mu = young / (2.0 * (1.0 + poisson))
    return 2.0 * mu * poisson / (1.0 - 2.0 * poisson), mu


@dataclass(frozen=True, eq=False, repr=False)
class NeoHookean(Material):
    """Compressible Neo-Hookean law: mu/2 (I1 - 3) - mu ln J + lam/2 (ln J)^2.

    Parameters
    ----------
    young : Young's modulus at small strain [Pa], > 0
    poisson : Poisson's ratio at small strain [1], between -1 and 0.5

    Source: Bonet and Wood 1997, section 5.4.3; docs/formulas/solids.md, section 5.
    Verified by: tests/unit/solids/test_materials.py::test_uniaxial_tension
    """

    young: Annotated[float, YOUNG] = 1.0
    poisson: Annotated[float, POISSON] = 0.3

    def moduli(self) -> tuple[float, float]:
        """Return shear modulus and bulk modulus at small strain [Pa]."""
        lam, mu = _lame(self.young, self.poisson)
        return mu, lam + 2.0 * mu / 3.0

    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants as kernels read them."""
        lam, mu = _lame(self.young, self.poisson)
        return _table("neo_hookean", plane_stress, mu=mu, lam=lam)


@dataclass(frozen=True, eq=False, repr=False)
class NearlyIncompressible(NeoHookean):
    """Neo-Hookean law, isochoric and volumetric: mu/2 (J^-2/3 I1 - 3) + k/2 (J - 1)^2.

    For Poisson's ratios near 0.5, with elements whose volumetric part is integrated at fewer
    points (`reduced=True`).

    Parameters
    ----------
    young : Young's modulus at small strain [Pa], > 0
    poisson : Poisson's ratio at small strain [1], between -1 and 0.5

    Source: Bonet and Wood 1997, section 5.5; docs/formulas/solids.md, section 5.
    Verified by: tests/unit/solids/test_materials.py::test_uniaxial_tension
    """

    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants as kernels read them."""
        mu, k = self.moduli()
        return _table("nearly_incompressible", plane_stress, mu=mu, bulk=k)


@dataclass(frozen=True, eq=False, repr=False)
class MooneyRivlin(Material):
    """Mooney-Rivlin law: c10 (J^-2/3 I1 - 3) + c01 (J^-4/3 I2 - 3) + k/2 (J - 1)^2.

    Parameters
    ----------
    c10, c01 : [Pa], >= 0, one of them positive; the shear modulus is 2 (c10 + c01)
    bulk : k [Pa], > 0

    Source: Mooney 1940; Rivlin 1948; the split of Bonet and Wood 1997, section 5.5.
    Verified by: tests/unit/solids/test_materials.py::test_uniaxial_tension
    """

    c10: Annotated[float, _CONSTANT] = 0.1
    c01: Annotated[float, _CONSTANT] = 0.05
    bulk: Annotated[float, _BULK] = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c10 + self.c01 == 0.0:
            got = "both c10 and c01 zero"
            needs, try_ = "one positive constant [Pa]", "give c10 = 0.1."
            raise ModelError("MooneyRivlin.c10", got, needs, _WHY_YOUNG, try_)

    def moduli(self) -> tuple[float, float]:
        """Return shear modulus and bulk modulus at small strain [Pa]."""
        return 2.0 * (self.c10 + self.c01), self.bulk

    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants as kernels read them."""
        return _table("mooney_rivlin", plane_stress, c1=self.c10, c2=self.c01, bulk=self.bulk)


@dataclass(frozen=True, eq=False, repr=False)
class Yeoh(Material):
    """Yeoh's law: c1 w + c2 w^2 + c3 w^3 + k/2 (J - 1)^2 with w = J^-2/3 I1 - 3.

    Parameters
    ----------
    c1 : [Pa], > 0; the shear modulus at small strain is 2 c1
    c2, c3 : coefficients of the stiffening at large strain [Pa]
    bulk : k [Pa], > 0

    Source: Yeoh 1993; the split of Bonet and Wood 1997, section 5.5.
    Verified by: tests/unit/solids/test_materials.py::test_uniaxial_tension

    Examples
    --------
    >>> import stiction as st
    >>> 2.0 * st.solids.Yeoh(c1=0.2, c2=-0.01).c1  # shear modulus at small strain [Pa]
    0.4
    """

    c1: Annotated[float, _STIFF] = 0.15
    c2: Annotated[float, _STIFFENING] = 0.0
    c3: Annotated[float, _STIFFENING] = 0.0
    bulk: Annotated[float, _BULK] = 10.0

    def moduli(self) -> tuple[float, float]:
        """Return shear modulus and bulk modulus at small strain [Pa]."""
        return 2.0 * self.c1, self.bulk

    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants as kernels read them."""
        return _table("yeoh", plane_stress, c1=self.c1, c2=self.c2, c3=self.c3, bulk=self.bulk)


@dataclass(frozen=True, eq=False, repr=False)
class LinearElastic(NeoHookean):
    """Hooke's law for the symmetric part of the displacement gradient: for small rotations.

    Parameters
    ----------
    young : Young's modulus [Pa], > 0
    poisson : Poisson's ratio [1], between -1 and 0.5

    Source: docs/formulas/solids.md, section 5, to first order.
    Verified by: tests/unit/solids/test_materials.py::test_uniaxial_tension
    """

    def table(self, plane_stress: bool = False) -> Floats:
        """Return the constants as kernels read them."""
        lam, mu = _lame(self.young, self.poisson)
        return _table("linear", plane_stress, mu=mu, lam=lam, bulk=lam + 2.0 * mu / 3.0)
