"""Entries, rows and slices of arrays, reached by as few instructions as they take.

For `a[i]` Numba puts the array into memory, reads its shape and its strides twice, as tuples that
it takes apart and puts together, and multiplies by one and adds zero: some thirty instructions for
a vector and forty-five for a matrix, which LLVM then takes away again. They were a third of all
that it was handed. Here the address is made of the array's own fields; it is the same one, negative
places counted from the end included. Slices with a step, assigning to more than one entry, arrays
as places, and checked bounds stay with Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as kinds
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item

from stiction.numerics.compiling.front.looping import part_of

__all__ = ["INDEXING"]

_GET: Any = Lower.lower_getitem
_SET: Any = Lower.lower_setitem


def _axes(context: Any, array: Any, index: Any) -> tuple[Any, ...] | None:
    """Return the types of places in an array of numbers, an axis each; None for what is left."""
    if type(array) is not kinds.Array or context.enable_boundscheck:
        return None
    if not isinstance(array.dtype, kinds.Float | kinds.Integer | kinds.Boolean):
        return None
    several: Any = index
    axes = tuple(several) if isinstance(index, kinds.BaseTuple) else (index,)
    known = all(isinstance(axis, kinds.Integer) or _is_plain_slice(axis) for axis in axes)
    return axes if known and 0 < len(axes) <= array.ndim else None


def _is_plain_slice(kind: Any) -> bool:
    return isinstance(kind, kinds.SliceType) and not kind.has_step


def _names_one(array: Any, axes: tuple[Any, ...]) -> bool:
    """Say whether places name a single entry."""
    return len(axes) == array.ndim and all(isinstance(axis, kinds.Integer) for axis in axes)


class _Fields:
    """The fields of an array.

    Parameters
    ----------
    context, builder : what lowers
    kind, value : an array's type, and the array
    """

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.context, self.builder, self.kind, self.value = context, builder, kind, value
        self._model = context.data_model_manager[kind]

    def __call__(self, name: str, *place: int) -> Any:
        """Return a field, or a part of it."""
        position = self._model.get_field_position(name)
        return self.builder.extract_value(self.value, [position, *place])

    def place(self, axis: int, kind: Any, given: Any) -> Any:
        """Return a place on an axis; negative ones are counted from the end."""
        context, builder = self.context, self.builder
        if isinstance(kind, kinds.IntegerLiteral):
            constant = context.get_constant(kinds.intp, kind.literal_value)
            below = kind.literal_value < 0
            return builder.add(self("shape", axis), constant) if below else constant
        if not kind.signed:
            return context.cast(builder, given, kind, kinds.uintp)
        return self._from_end(axis, context.cast(builder, given, kind, kinds.intp))

    def _from_end(self, axis: int, place: Any) -> Any:
        behind = self.builder.add(self("shape", axis), place)
        below = self.builder.icmp_signed("<", place, place.type(0))
        return self.builder.select(below, behind, place)

    def bound(self, axis: int, given: Any) -> Any:
        """Return a bound of a slice, inside the axis."""
        builder, zero, size = self.builder, given.type(0), self("shape", axis)
        place = self._from_end(axis, given)
        place = builder.select(builder.icmp_signed("<", place, zero), zero, place)
        return builder.select(builder.icmp_signed(">", place, size), size, place)

    def address(self, places: list[Any]) -> Any:
        """Return where the entry at places stands; axes without one are at their start."""
        builder, kind = self.builder, self.kind
        if kind.layout == "A":
            moved = [builder.mul(self("strides", i), place) for i, place in enumerate(places)]
            whole = moved[0]
            for one in moved[1:]:
                whole = builder.add(whole, one)
            return cgutils.pointer_add(builder, self("data"), whole)
        places = places + [places[0].type(0)] * (kind.ndim - len(places))
        first, *others = range(kind.ndim) if kind.layout == "C" else range(kind.ndim - 1, -1, -1)
        place = places[first]
        for axis in others:
            place = builder.add(builder.mul(place, self("shape", axis)), places[axis])
        return builder.gep(self("data"), [place])


def _parts(builder: Any, index: Any, axes: tuple[Any, ...]) -> list[Any]:
    """Return the places that an index holds."""
    if not isinstance(index.type, ir.Aggregate) or (_is_plain_slice(axes[0]) and len(axes) == 1):
        return [index]
    return [part_of(builder, index, axis) for axis in range(len(axes))]


def _view(fields: _Fields, result: Any, axes: tuple[Any, ...], given: list[Any]) -> Any:
    """Return the part of an array that slices and whole numbers leave."""
    context, builder = fields.context, fields.builder
    places, shape, strides = [], [], []
    for axis, (kind, one) in enumerate(zip(axes, given, strict=True)):
        if isinstance(kind, kinds.Integer):
            places.append(fields.place(axis, kind, one))
            continue
        first, last = (fields.bound(axis, part_of(builder, one, end)) for end in (0, 1))
        length = builder.sub(last, first)
        empty = builder.icmp_signed("<", length, length.type(0))
        places.append(first)
        shape.append(builder.select(empty, length.type(0), length))
        strides.append(fields("strides", axis))
    for axis in range(len(axes), fields.kind.ndim):
        shape.append(fields("shape", axis))
        strides.append(fields("strides", axis))
    count = shape[0]
    for one in shape[1:]:
        count = builder.mul(count, one)
    parts = {
        **{name: fields(name) for name in ("meminfo", "parent", "itemsize")},
        "nitems": count,
        "data": fields.address(places),
        "shape": cgutils.pack_array(builder, shape),
        "strides": cgutils.pack_array(builder, strides),
    }
    model = context.data_model_manager[result]
    view: Any = ir.Constant(context.get_value_type(result), ir.Undefined)
    for name, part in parts.items():
        view = builder.insert_value(view, part, model.get_field_position(name))
    if context.enable_nrt:
        context.nrt.incref(builder, result, view)
    return view


def _getitem(
    self: Any, result: Any, expression: Any, value: Any, index: Any, signature: Any
) -> Any:
    """Lower `value[index]`."""
    array = self.typeof(value.name)
    axes = _axes(self.context, array, self.typeof(index.name))
    made = signature.return_type
    if axes is None or (type(made) is not kinds.Array and not _names_one(array, axes)):
        return _GET(self, result, expression, value, index, signature)
    context, builder = self.context, self.builder
    fields = _Fields(context, builder, array, self.loadvar(value.name))
    given = _parts(builder, self.loadvar(index.name), axes)
    if not _names_one(array, axes):
        return context.cast(builder, _view(fields, made, axes, given), made, result)
    places = [fields.place(axis, kind, given[axis]) for axis, kind in enumerate(axes)]
    found = load_item(context, builder, array, fields.address(places))
    return context.cast(builder, found, array.dtype, result)


def _setitem(self: Any, target: Any, index: Any, value: Any, signature: Any) -> Any:
    """Lower `target[index] = value`."""
    array, kind = self.typeof(target.name), self.typeof(value.name)
    axes = _axes(self.context, array, self.typeof(index.name))
    number = isinstance(kind, kinds.Number | kinds.Boolean)
    if axes is None or not number or not _names_one(array, axes):
        return _SET(self, target, index, value, signature)
    context, builder = self.context, self.builder
    fields = _Fields(context, builder, array, self.loadvar(target.name))
    given = _parts(builder, self.loadvar(index.name), axes)
    # by way of the type of the call, as Numba casts
    cast = context.cast(builder, self.loadvar(value.name), kind, signature.args[2])
    cast = context.cast(builder, cast, signature.args[2], array.dtype)
    places = [fields.place(axis, one, given[axis]) for axis, one in enumerate(axes)]
    store_item(context, builder, array, cast, fields.address(places))
    return context.get_dummy_value()


# of `Lower`, what is called instead of Numba's own
INDEXING: tuple[tuple[Any, str, Any], ...] = (
    (Lower, "lower_getitem", _getitem),
    (Lower, "lower_setitem", _setitem),
)
