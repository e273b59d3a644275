"""Kernels of solids are written for d components: none of their files says how many."""

import ast
import re
from fnmatch import fnmatch

# what is generic: bodies, materials, contact, what is solved, motion, and the laws of interfaces
GENERIC = (
    "src/stiction/solids/arrays.py",
    "src/stiction/solids/elements/assembly.py",
    "src/stiction/solids/elements/bulk_kernels.py",
    "src/stiction/solids/material_laws.py",
    "src/stiction/solids/stress_points.py",
    "src/stiction/solids/conditions.py",
    "src/stiction/solids/constraints.py",
    "src/stiction/solids/contact/*.py",
    "src/stiction/solids/equilibria/*.py",
    "src/stiction/solids/loads.py",
    "src/stiction/solids/materials.py",
    "src/stiction/solids/motion/*.py",
    "src/stiction/laws/interface_*.py",
)
# what is of the plane by its nature, and why
PLANE = {
    "src/stiction/solids/arrays.py": "pictures have pairs of points, places pairs of shares",
    "src/stiction/solids/many/broad_phase.py": "pairs of bodies, and the two ends of boxes",
    "src/stiction/solids/contact/segmentation.py": "curves have mortar segments, surfaces not yet",
    "src/stiction/solids/contact/breakpoint_variations.py": "jumps have two sides",
    "src/stiction/solids/contact/segment_variations.py": "segments of curves have two ends",
    "src/stiction/solids/contact/segments.py": "segments of curves have two ends and two sides",
    "src/stiction/solids/contact/virtual_work.py": "curves have mortar segments, surfaces not yet",
    "src/stiction/solids/contact/partners.py": "a circle is one, and points are written by users",
    "src/stiction/solids/equilibria/boundary_loads.py": "pressure is written for curves",
    "src/stiction/solids/equilibria/checkpoint.py": "counts and their times are pairs",
    "src/stiction/solids/equilibria/readings.py": "contact on a curve has two edges",
    "src/stiction/solids/motion/interface.py": "dampers have a normal and one tangent",
}
_MAKERS = {
    "arange",
    "broadcast_to",
    "empty",
    "eye",
    "full",
    "ones",
    "range",
    "repeat",
    "reshape",
    "tile",
    "zeros",
}
# shapes in words, such as (nodes, 2) or (2, p); lengths of pairs in time are none
_SHAPES = re.compile(r"\((?:\w+, )+2(?:, \w+)*\)|\(2, \w+(?:, \w+)*\)")
_NAMES = re.compile(r"\w+_[xyz]$")


def two(node):
    return isinstance(node, ast.Constant) and node.value == 2 and type(node.value) is int


def numbers_in(source):
    """Return the places where a file counts two components."""
    found = []
    of_shapes = {
        id(node.slice)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            inside = [*node.args, *(n for a in node.args for n in getattr(a, "elts", []))]
            # enumerations of names are no components
            if name in _MAKERS and any(two(n) for n in inside) and not _counts_names(source, node):
                found.append((node.lineno, ast.unparse(node)))
        elif (
            isinstance(node, ast.Slice)
            and id(node) not in of_shapes
            and any(two(n) for n in (node.lower, node.upper))
        ):
            found.append((getattr(node, "lineno", 0), "a slice at 2"))
        elif (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and _NAMES.match(node.id)
        ):
            found.append((node.lineno, node.id))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [(node.lineno, text) for text in _SHAPES.findall(node.value)]
    return found


def _counts_names(source, call):
    """Return whether a call numbers names: A, B = range(2)."""
    parents = (n for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and n.value is call)
    return any(isinstance(t, ast.Tuple) for parent in parents for t in parent.targets)


def generic(path):
    return any(fnmatch(path, pattern) for pattern in GENERIC) and path not in PLANE


def test_no_kernel_counts_two_components(package_sources):
    sources = [s for s in package_sources if generic(s.path)]
    assert len(sources) >= 12
    offenders = [f"{s.path}:{line} {text}" for s in sources for line, text in numbers_in(s)]
    assert not offenders, "\n".join(offenders)


def test_exceptions_are_there(package_sources):
    paths = {s.path for s in package_sources}
    assert set(PLANE) <= paths


def test_the_check_sees_a_plane(make_source):
    for line in (
        "x = np.zeros((n, 2))",
        "for p in range(2): pass",
        "y = s[:2]",
        "force_x = 1.0",
        'def f():\n    """Return places (nodes, 2)."""',
        'def f():\n    """Return places (2, p)."""',
        "r = x.reshape(-1, 2)",
    ):
        assert numbers_in(make_source("sample.py", line)), line
    for line in ("PLACE, ALONG = range(2)", "y = 2.0 * x", "n = s.shape[2:]", "z = x[2]"):
        assert not numbers_in(make_source("sample.py", line)), line
