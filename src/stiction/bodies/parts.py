"""Base class of systems of rigid bodies in the plane and in space: checks of their parts.

A part is a body or a support. Users give numbers of parts from 1, bodies first; arrays have m rows
from 0. `model.RigidBodies` and `space.model.SpatialBodies` inherit this class and call its checks
of laws, hinges, pairs and springs when they are made; `Mechanics` reads `contact_numbers` and
`separate`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Choice, Declared, Finite, Parts
from stiction.errors import ModelError

if TYPE_CHECKING:
    from stiction.bodies.joints.springs import Springs
    from stiction.bodies.model import ContactPair, Hinge, Spring
    from stiction.laws.coulomb import Coulomb

__all__ = ["IMPACT_LAW", "PAIRS", "RESTITUTION", "BodySystem"]

Floats = npt.NDArray[np.float64]

# rules of fields that both systems have
PAIRS = Parts("each of these pairs has its own contact law.", "give a list of ContactPair objects.")
IMPACT_LAW = Choice(
    ("newton", "poisson"),
    "restitution is a ratio of velocities (newton) or of impulses (poisson).",
    "leave this value out for Newton's law.",
)
RESTITUTION = Finite(
    "1",
    "above 1 an impact would create energy, and below 0 bodies would overlap.",
    least=0.0,
    most=1.0,
)


class BodySystem(Declared):
    """A system of rigid bodies: parts are bodies, then supports, numbered from 1.

    Subclasses have the fields below, of their own kinds of bodies and supports.
    """

    if TYPE_CHECKING:
        bodies: Sequence[Any]
        supports: Sequence[Any]
        law: Coulomb
        restitution: float
        impact_law: str
        gravity: Sequence[float] | Floats
        springs: Sequence[Spring]
        hinges: Sequence[Hinge]
        pairs: Sequence[ContactPair]

    @property
    def n(self) -> int:
        """Number of bodies."""
        return len(self.bodies)

    @functools.cached_property
    def size(self) -> float:
        """Smallest thickness of a body [m]."""
        return float(min(body.shape.thickness for body in self.bodies))

    def contact_numbers(self) -> tuple[Floats, Floats]:
        """Return two (m, m) symmetric arrays for pairs of parts: friction and restitution [1].

        They have the values of the system, and those of `pairs` where these give one.
        """
        count = self.n + len(self.supports)
        mu = np.full((count, count), float(self.law.mu))  # type: ignore[arg-type]
        e = np.full((count, count), float(self.restitution))
        for pair in self.pairs:
            at = [pair.first - 1, pair.second - 1], [pair.second - 1, pair.first - 1]
            if pair.law is not None:
                mu[at] = float(pair.law.mu)  # type: ignore[arg-type]
            if pair.restitution is not None:
                e[at] = pair.restitution
        return mu, e

    def _check_laws(self) -> None:
        """Raise if a law has one mu per contact."""
        laws: dict[str, Coulomb | None] = {"law": self.law}
        laws |= {f"pairs[{k}].law": p.law for k, p in enumerate(self.pairs)}
        laws |= {f"hinges[{k}].law": h.law for k, h in enumerate(self.hinges)}
        for name, law in laws.items():
            if law is not None and np.ndim(law.mu):
                got, needs = "one mu per contact", "one mu for all contacts"
                why = "contacts open and close during a run, and have no fixed numbers."
                where = f"{type(self).__name__}.{name}"
                raise ModelError(where, got, needs, why, "give Coulomb(0.5).")

    def separate(self) -> npt.NDArray[np.bool_]:
        """Return (m, m) whether two parts never touch: a hinge joins them, or a pair says so."""
        count = self.n + len(self.supports)
        out = np.zeros((count, count), dtype=bool)
        parts = [(hinge.first, hinge.second) for hinge in self.hinges]
        parts += [(pair.first, pair.second) for pair in self.pairs if not pair.contact]
        for first, second in parts:
            out[first - 1, second - 1] = out[second - 1, first - 1] = True
        return out

    def _check_parts(self, name: str, first: int, second: int, why: str) -> None:
        """Raise unless `first` and `second`, from 1, are the numbers of a body and another part.

        name : of the field, for the message; why : reason for the message
        """
        count = self.n + len(self.supports)
        parts = f"(bodies: {self.n}, supports: {len(self.supports)})"
        got = f"the parts {first} and {second} {parts}"
        needs, try_ = (
            "the number of a body and the number of another body or support",
            "correct `first` or `second`.",
        )
        if max(first, second) > count:
            needs, why = f"numbers up to {count}", "supports are numbered after the bodies."
        elif first != second and min(first, second) <= self.n:
            return
        raise ModelError(name, got, needs, why, try_)

    def _check_hinges(self) -> None:
        """Raise if a part of a hinge is none, or its friction is not defined."""
        for k, hinge in enumerate(self.hinges):
            name = f"{type(self).__name__}.hinges[{k}]"
            why = "a hinge joins at least one body, and two different parts."
            self._check_parts(name, hinge.first, hinge.second, why)
            # a SpatialHinge is a Hinge
            if len(hinge.at) != len(self.gravity):
                got, needs = type(hinge).__name__, "a Hinge"
                why, try_ = "points of the plane have two components.", "give Hinge(...)."
                raise ModelError(name, got, needs, why, try_)
            slides = getattr(hinge, "slides", False)
            if hinge.law is not None and hinge.law.mu and not (hinge.radius or slides):
                got, needs = "friction of a pin with radius = 0", "a radius > 0"
                why = "the moment of friction is proportional to the radius of the pin."
                raise ModelError(name, got, needs, why, "give `radius`, or leave `law` out.")
            if hinge.law is not None and self.impact_law == "poisson":
                got, needs = "friction of a pin with Poisson's law of impact", "Newton's law"
                why = (
                    "the expansion phase of Poisson's law is implemented without friction of pins."
                )
                raise ModelError(name, got, needs, why, "leave `impact_law` or `law` out.")

    def _check_pairs(self) -> None:
        """Raise if a pair is no pair of parts, is listed twice, or has a law but no contact."""
        why = "a body touches other bodies and supports only."
        for k, pair in enumerate(self.pairs):
            self._check_parts(f"{type(self).__name__}.pairs[{k}]", pair.first, pair.second, why)
        known: dict[frozenset[int], int] = {}
        separate = self.separate()
        for k, pair in enumerate(self.pairs):
            name, first, second = f"{type(self).__name__}.pairs[{k}]", pair.first, pair.second
            before = known.setdefault(frozenset((first, second)), k)
            if before != k:
                got, needs = f"the parts {first} and {second} of pairs[{before}]", "each pair once"
                why, try_ = "a contact has one law.", f"remove pairs[{before}] or pairs[{k}]."
                raise ModelError(name, got, needs, why, try_)
            given = pair.law is not None or pair.restitution is not None
            if given and separate[first - 1, second - 1]:
                got, needs = "a law or restitution of parts that never touch", "parts that touch"
                why = "parts that a hinge joins, and those with contact = False, have no contact."
                try_ = "leave `law` and `restitution` out, or remove the pair."
                raise ModelError(name, got, needs, why, try_)

    def springs_at_start(self) -> tuple[Springs, Floats]:
        """Return the springs, and places of bodies and supports, at the start."""
        raise NotImplementedError

    def _check_springs(self) -> None:
        """Raise if an end of a spring is no part, or a spring has no direction at the start."""
        for k, spring in enumerate(self.springs):
            name, why = (
                f"{type(self).__name__}.springs[{k}]",
                "a spring acts on at least one body, and has two different ends.",
            )
            self._check_parts(name, spring.first, spring.second, why)
            # a SpatialSpring is a Spring, whose third components the plane would ignore
            if len(spring.on_first) != len(self.gravity):
                got, needs = type(spring).__name__, "a Spring"
                why, try_ = "points of the plane have two components.", "give Spring(...)."
                raise ModelError(name, got, needs, why, try_)
        if not self.springs:
            return
        springs, pose = self.springs_at_start()
        ends, lengths = springs.places(pose), springs.length
        for k, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            if length > 0.0 and (end[0] == end[1]).all():
                got, needs = (
                    f"length = {length:g} m between ends at one point",
                    "ends at different points",
                )
                why = "the direction of the spring force is not determined."
                try_ = "move an end, or leave `length` out."
                raise ModelError(f"{type(self).__name__}.springs[{k}]", got, needs, why, try_)
