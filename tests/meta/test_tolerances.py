"""No tolerance looser than one percent without a written reason.

A looser `rtol`, `atol`, `rel` or `abs` needs a comment with the word `reason` and a colon on
its own line or on the line before.
"""

import ast

LOOSEST = 1e-2
KEYWORDS = {"rtol", "atol", "rel", "abs", "rel_tol", "abs_tol"}
# where tolerances may stand without their names: function -> positions
POSITIONS = {
    "approx": (1, 2),
    "allclose": (2, 3),
    "isclose": (2, 3),
    "assert_allclose": (2, 3),
}
# these count decimals instead of naming a tolerance, and accept negative ones
BY_DECIMALS = {"assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal"}


def number_in(node: ast.expr) -> float | None:
    """Return the number written in an expression, with every name taken as 1.

    `0.5`, `5 * 1e-1` and `0.5 * scale` all hold 0.5; an expression without a number, or with
    a sum, holds none.
    """
    if isinstance(node, ast.Constant):
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return float(node.value) if is_number else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_in(node.operand)
        return None if inner is None else -inner
    if not isinstance(node, ast.BinOp):
        return None
    left, right = number_in(node.left), number_in(node.right)
    if isinstance(node.op, ast.Pow) and left is not None and right is not None:
        return left**right
    if not isinstance(node.op, ast.Mult | ast.Div) or (left is None and right is None):
        return None
    left, right = 1.0 if left is None else left, 1.0 if right is None else right
    return left * right if isinstance(node.op, ast.Mult) else left / right


def tolerances(call: ast.Call) -> list[ast.expr]:
    """Return the expressions that a call uses as tolerances."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    placed = [call.args[i] for i in POSITIONS.get(name, ()) if i < len(call.args)]
    return placed + [keyword.value for keyword in call.keywords if keyword.arg in KEYWORDS]


def has_reason(lines: list[str], node: ast.expr) -> bool:
    """Return whether a comment with a reason stands on the lines of `node` or just above."""
    nearby = lines[max(node.lineno - 2, 0) : node.end_lineno]
    return any("reason:" in line.partition("#")[2] for line in nearby)


def loose_tolerances(source) -> list[str]:
    offenders = []
    for call in (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
        for node in tolerances(call):
            number = number_in(node)
            if number is not None and abs(number) > LOOSEST and not has_reason(source.lines, node):
                offenders.append(f"{source.path}:{node.lineno} {ast.unparse(node)}")
    return sorted(offenders)


def test_no_loose_tolerance_without_reason(test_sources):
    offenders = [line for source in test_sources for line in loose_tolerances(source)]
    assert not offenders, f"looser than {LOOSEST:g} without a reason:\n" + "\n".join(offenders)


def test_nobody_counts_decimals(test_sources):
    offenders = [
        f"{source.path}:{node.lineno} {ast.unparse(node)}"
        for source in test_sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) in BY_DECIMALS
    ]
    assert not offenders, "use assert_allclose with rtol or atol:\n" + "\n".join(offenders)


def test_the_check_sees_loose_tolerances(make_source):
    lines = [
        "assert a == approx(b, rel=0.1)",
        "assert a == approx(b, 0.1)",
        "assert_allclose(a, b, rtol=1e-9, atol=0.5 * scale)",
        "assert_allclose(a, b, rtol=10**-1)",
        "assert_allclose(a, b, rtol=1e-2, atol=2 * 1e-12)",
        "assert_allclose(a, b, rtol=0.1)  # reason: the paper gives one digit",
        "# reason: Monte Carlo with 100 draws",
        "assert a == approx(b, abs=0.1)",
        "assert a == approx(b, rel=tolerance)",
    ]
    offenders = loose_tolerances(make_source("sample.py", "\n".join(lines)))
    assert [line.split()[0] for line in offenders] == [f"sample.py:{i}" for i in (1, 2, 3, 4)]
