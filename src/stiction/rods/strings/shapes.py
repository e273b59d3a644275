"""Initial shapes and velocities of strings: sines, bumps, plucks, samples, sums, functions.

A `Shape` is a function of the position x on 0 <= x <= length. With fixed ends it must vanish at
both; on a circle it has the period `length`. All quantities are dimensionless. `RollingStrings`
checks shapes, `initial_waves` and `strands` evaluate them.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Finite, Parts, Positive
from stiction.errors import ModelError

__all__ = ["Bump", "Pluck", "Samples", "Shape", "Sine", "Sum", "UserShape"]

Floats = npt.NDArray[np.float64]

_TRY = "give a finite number."
_MODE = Count(
    1,
    "a string has this many half waves between fixed ends, or waves on a circle.",
    "give a whole number, such as 1.",
    most=1_000_000,
)
_AMPLITUDE = Finite("1", "the wave has this height.", _TRY)
_PHASE = Finite("rad", "the phase shifts the wave on a circle.", _TRY)
_MIDDLE = Finite("1", "the middle of the bump is at this position.", _TRY)
_WIDTH = Positive(
    "1",
    "the bump is zero outside the interval from at - width to at + width.",
    "give a positive width.",
)
_HEIGHT = Finite("1", "the bump has this height in the middle.", _TRY)
_PULLED = Finite("1", "the string is plucked at this position.", _TRY)
_ASIDE = Finite("1", "the string has this deflection at the pluck.", _TRY)
_VALUES = Finite(
    "1",
    "a spline of degree 5, with six coefficients or more, interpolates the values.",
    "give a list of at least 6 numbers.",
    per="place",
    fewest=6,
)
_PARTS = Parts(
    "the values of these shapes are added.",
    "for example Sum([Sine(1, 1.0), Sine(3, 0.2)]).",
    "a list of shapes",
    least=1,
)
_KINKS = Finite(
    "1", "a derivative jumps at these positions.", "for example [0.5].", per="kink", fewest=0
)


class Shape(Declared, abc.ABC):
    """Base class of functions of the position along a string.

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> class Parabola(st.rods.Shape):
    ...     def value(self, x, length, ends):
    ...         return x * (length - x)
    ...     def slope(self, x, length, ends):
    ...         return length - 2.0 * x
    >>> Parabola().value(np.array([0.5]), 1.0, "fixed").tolist()
    [0.25]
    """

    @abc.abstractmethod
    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the shape at `x` (...), 0 <= x <= length; `ends` is "fixed" or "periodic"."""

    @abc.abstractmethod
    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return its derivative at `x` (...); at a corner that of either side."""

    def corners(self, length: float, ends: str) -> Floats:
        """Return (k,) positions at which a derivative of the shape jumps, without the ends."""
        return np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class Sine(Shape):
    """One sine wave.

    With fixed ends amplitude sin(mode_number pi x / length), so sin x on the length 2 pi has the
    mode number 2; on a circle amplitude sin(2 pi mode_number x / length + phase).

    Parameters
    ----------
    mode_number : 1, 2, 3, ...
    amplitude : [1]
    phase : [rad]; 0 with fixed ends

    Verified by: tests/unit/rods/strings/test_shapes.py::test_sine_on_both_ends
    """

    mode_number: Annotated[int, _MODE]
    amplitude: Annotated[float, _AMPLITUDE]
    phase: Annotated[float, _PHASE] = 0.0

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the sine at `x`."""
        k = self._wave_number(length, ends)
        return np.asarray(self.amplitude * np.sin(k * x + self.phase))

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the derivative of the sine at `x`."""
        k = self._wave_number(length, ends)
        return np.asarray(k * self.amplitude * np.cos(k * x + self.phase))

    def _wave_number(self, length: float, ends: str) -> float:
        """Return the wave number; ModelError for a phase with fixed ends."""
        if ends == "periodic":
            return 2.0 * np.pi * self.mode_number / length
        if self.phase != 0.0:
            raise ModelError(
                "Sine.phase",
                repr(self.phase),
                "0 on fixed ends",
                "a shifted sine does not vanish at the ends.",
                "leave the phase out, or take periodic ends.",
            )
        return np.pi * self.mode_number / length


@dataclass(frozen=True, eq=False, repr=False)
class Bump(Shape):
    """A smooth bump that is zero outside |x - at| < width, with continuous derivatives.

    height exp(1 - 1 / (1 - ((x - at) / width)^2)). On a circle it may contain x = 0; with fixed
    ends a part of it must be on the string.

    Parameters
    ----------
    at : middle [1]
    width : half of its support [1]
    height : value in the middle [1]

    Verified by: tests/unit/rods/strings/test_shapes.py::test_slope_is_the_derivative

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> hump = st.rods.Bump(at=1.0, width=0.5, height=0.2)
    >>> hump.value(np.array([0.4, 1.0]), 2.0, "fixed").tolist()
    [0.0, 0.2]
    """

    at: Annotated[float, _MIDDLE]
    width: Annotated[float, _WIDTH]
    height: Annotated[float, _HEIGHT]

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the bump at `x`."""
        return self._both(x, length, ends)[0]

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the derivative of the bump at `x`."""
        return self._both(x, length, ends)[1]

    def _both(self, x: Floats, length: float, ends: str) -> tuple[Floats, Floats]:
        """Return value and derivative of the bump at `x`."""
        if ends == "periodic" and 2.0 * self.width > length:
            raise ModelError(
                "Bump.width",
                self.width,
                f"at most half the length, {length / 2}",
                "a wider bump would overlap itself on the circle.",
                "make it narrower.",
            )
        if ends != "periodic" and not -self.width < self.at < length + self.width:
            raise ModelError(
                "Bump.at",
                self.at,
                f"a bump on the string, between {-self.width:.6g} and {length + self.width:.6g}",
                f"the string ends at 0 and at {length:.6g}, and would stay straight.",
                "move the bump between the ends.",
            )
        away = np.asarray(x, dtype=np.float64) - self.at
        if ends == "periodic":
            away = away - length * np.round(away / length)
        z = away / self.width
        inside = np.abs(z) < 1.0
        room = np.where(inside, 1.0 - z * z, 1.0)
        y = np.where(inside, self.height * np.exp(1.0 - 1.0 / room), 0.0)
        return y, np.asarray(-2.0 * z * y / (room * room * self.width))


@dataclass(frozen=True, eq=False, repr=False)
class Pluck(Shape):
    """A plucked string: two straight lines that meet in a corner.

    With fixed ends the lines end there at zero; on a circle they reach zero half a length from the
    corner.

    Parameters
    ----------
    at : position of the corner [1]
    height : deflection at the corner [1]

    Verified by: tests/unit/rods/strings/test_shapes.py::test_pluck_has_a_corner

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> st.rods.Pluck(at=0.5, height=0.1).value(np.array([0.25, 0.5, 1.0]), 2.0, "fixed").tolist()
    [0.05, 0.1, 0.06666666666666667]
    """

    at: Annotated[float, _PULLED]
    height: Annotated[float, _ASIDE]

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the two lines at `x`."""
        x = np.asarray(x, dtype=np.float64)
        if ends == "periodic":
            return np.asarray(self.height * (1.0 - 2.0 * np.abs(self._away(x, length)) / length))
        self._check(length)
        sides = np.minimum(x / self.at, (length - x) / (length - self.at))
        return np.asarray(self.height * sides)

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the slopes of the lines at `x`."""
        x = np.asarray(x, dtype=np.float64)
        if ends == "periodic":
            rising = self._away(x, length) < 0.0
            return np.asarray(np.where(rising, 2.0, -2.0) * self.height / length)
        self._check(length)
        sides = np.where(x < self.at, 1.0 / self.at, -1.0 / (length - self.at))
        return np.asarray(self.height * sides)

    def corners(self, length: float, ends: str) -> Floats:
        """Return the position of the pluck, on a circle also the opposite point."""
        if ends == "periodic":
            return np.asarray(np.mod(np.array([self.at, self.at + 0.5 * length]), length))
        return np.array([self.at])

    def _away(self, x: Floats, length: float) -> Floats:
        """Return the distance from the corner on a circle, with sign, at most half the length."""
        away = x - self.at
        return np.asarray(away - length * np.round(away / length))

    def _check(self, length: float) -> None:
        """Raise ModelError if the corner is not between the ends."""
        if not 0.0 < self.at < length:
            raise ModelError(
                "Pluck.at",
                self.at,
                f"a position between the ends, 0 and {length}",
                "the ends are fixed.",
                "pluck the string between the ends.",
            )


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Shape):
    """Equally spaced values, interpolated by a spline of degree 5.

    With fixed ends the first and last value belong to the ends and must be zero; on a circle the
    last value is one spacing before the first. The spline has no corners; use `Pluck` for a shape
    with a corner.

    Parameters
    ----------
    values : (n,) n >= 6 [1]

    Verified by: tests/unit/rods/strings/test_shapes.py::test_samples_follow_a_smooth_function

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> shape = st.rods.Samples(np.sin(np.linspace(0.0, np.pi, 21)))
    >>> bool(abs(shape.value(np.array([0.3]), 1.0, "fixed") - np.sin(0.3 * np.pi)) < 1e-6)
    True
    """

    values: Annotated[Sequence[float] | Floats, _VALUES]

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the spline at `x`."""
        return np.asarray(self._spline(ends)(np.asarray(x) / length))

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the derivative of the spline at `x`."""
        return np.asarray(self._spline(ends)(np.asarray(x) / length, nu=1) / length)

    def _spline(self, ends: str) -> Any:
        """Return the spline of the values over x / length."""
        return _spline(np.asarray(self.values).tobytes(), ends)


@functools.lru_cache(maxsize=64)
def _spline(raw: bytes, ends: str) -> Any:
    """Return the spline through values given as bytes, which can be a key of the cache."""
    from scipy.interpolate import make_interp_spline

    values = np.frombuffer(raw)
    if ends == "periodic":
        values = np.append(values, values[0])
        x = np.linspace(0.0, 1.0, values.size)
        return make_interp_spline(x, values, k=5, bc_type="periodic")
    return make_interp_spline(np.linspace(0.0, 1.0, values.size), values, k=5)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Shape):
    """The sum of several shapes.

    Parameters
    ----------
    parts : at least one shape

    Verified by: tests/unit/rods/strings/test_shapes.py::test_sum_adds_and_keeps_corners

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> both = st.rods.Sum([st.rods.Pluck(at=0.5, height=0.1), st.rods.Pluck(at=1.5, height=0.1)])
    >>> both.corners(2.0, "fixed").tolist()
    [0.5, 1.5]
    """

    parts: Annotated[Sequence[Shape], _PARTS]

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the sum of the shapes at `x`."""
        return np.asarray(sum(part.value(x, length, ends) for part in self.parts))

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the sum of the derivatives at `x`."""
        return np.asarray(sum(part.slope(x, length, ends) for part in self.parts))

    def corners(self, length: float, ends: str) -> Floats:
        """Return the positions of the corners of all shapes."""
        return np.unique(np.concatenate([part.corners(length, ends) for part in self.parts]))


@dataclass(frozen=True, eq=False, repr=False)
class UserShape(Shape):
    """A shape from Python functions of x; it cannot be written to a scenario file.

    Parameters
    ----------
    function : returns the values at an array of positions
    derivative : returns the derivatives; required for u0 and v0, not for velocities
    kinks : positions at which a derivative jumps

    Verified by: tests/unit/rods/strings/test_shapes.py::test_user_shape_needs_a_derivative

    Examples
    --------
    >>> import numpy as np
    >>> import stiction as st
    >>> shape = st.rods.UserShape(lambda x: x * (1.0 - x), lambda x: 1.0 - 2.0 * x)
    >>> shape.slope(np.array([0.0, 0.5]), 1.0, "fixed").tolist()
    [1.0, 0.0]
    """

    function: Callable[[Floats], Floats]
    derivative: Callable[[Floats], Floats] | None = None
    kinks: Annotated[Sequence[float] | Floats, _KINKS] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("function", "derivative"):
            given = getattr(self, name)
            if not callable(given) and not (given is None and name == "derivative"):
                why, try_ = (
                    "the function is called with an array of positions.",
                    "for example np.sin.",
                )
                raise ModelError(f"UserShape.{name}", repr(given), "a function", why, try_)

    def value(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the values of `function` at `x`."""
        return self._call("function", x)

    def slope(self, x: Floats, length: float, ends: str) -> Floats:
        """Return the values of `derivative` at `x`."""
        if self.derivative is None:
            raise ModelError(
                "UserShape.derivative",
                "None",
                "the derivative of an initial shape",
                "waves depend on the derivative, and finite differences would lose digits.",
                "give derivative=..., or sample the function and use Samples.",
            )
        return self._call("derivative", x)

    def corners(self, length: float, ends: str) -> Floats:
        """Return the positions `kinks`, on a circle modulo its length."""
        kinks = np.asarray(self.kinks, dtype=np.float64).reshape(-1)
        return np.mod(kinks, length) if ends == "periodic" else kinks

    def _call(self, name: str, x: Floats) -> Floats:
        """Return the values at `x` of the function in a field; ModelError if they are not valid."""
        x = np.asarray(x, dtype=np.float64)
        try:
            y = np.asarray(getattr(self, name)(x), dtype=np.float64)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ModelError(
                f"UserShape.{name}",
                f"{type(error).__name__}: {error}",
                "a function of an array of positions that returns an array",
                "the function is called once, with the array of all positions.",
                "write it with NumPy, or wrap it in numpy.vectorize.",
            ) from error
        y = np.full(x.shape, float(y)) if y.ndim == 0 else y
        if y.shape != x.shape or not np.isfinite(y).all():
            raise ModelError(
                f"UserShape.{name}",
                "values that are not finite" if y.shape == x.shape else f"shape {y.shape}",
                f"finite values of shape {x.shape}",
                "the values are the shape or the velocity of a string.",
                "call the function with an array of positions to find the error.",
            )
        return y


def narrowest(shape: Shape | None) -> float:
    """Return the smallest width of the bumps in a shape; infinity for none."""
    if isinstance(shape, Sum):
        return min(narrowest(part) for part in shape.parts)
    return shape.width if isinstance(shape, Bump) else np.inf
