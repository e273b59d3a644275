"""A test that cannot fail is a defect: every test function checks something."""

import ast

RAISING = {"raises", "warns", "deprecated_call", "fail"}
HELPER_PREFIXES = ("assert_", "check_")


def called_name(call: ast.Call) -> str:
    """Return the last word of what is called: `c` for `a.b.c(...)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def is_check(node: ast.AST) -> bool:
    """Return whether this statement or call can make a test fail on purpose."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Call):
        name = called_name(node)
        return name in RAISING or name.startswith(HELPER_PREFIXES)
    return False


def functions_without_check(source) -> list[str]:
    return [
        f"{source.path}:{function.lineno} {function.name}"
        for function in source.functions
        if function.name.startswith("test_") and not any(map(is_check, ast.walk(function)))
    ]


def test_every_test_asserts(test_sources):
    files = [source for source in test_sources if source.path.split("/")[-1].startswith("test_")]
    assert files
    offenders = [line for source in files for line in functions_without_check(source)]
    assert not offenders, "tests that cannot fail:\n" + "\n".join(offenders)


def test_the_check_sees_an_empty_test(make_source):
    sample = make_source(
        "sample.py",
        "def test_nothing():\n    compute()\n"
        "def test_constant():\n    assert True\n"
        "def test_good():\n    assert compute() == 1\n"
        "def test_numpy():\n    np.testing.assert_allclose(a, b)\n"
        "def test_error():\n    with pytest.raises(ValueError):\n        compute()\n"
        "def helper():\n    compute()\n",
    )
    assert functions_without_check(sample) == [
        "sample.py:1 test_nothing",
        "sample.py:3 test_constant",
    ]
