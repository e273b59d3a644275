"""Files and functions stay readable.

The aim is 400 lines a file and 60 a function; these bounds are where a split is due.
"""

MOST_FILE_LINES = 800
MOST_FUNCTION_LINES = 80


def long_functions(source) -> list[str]:
    lengths = [
        (function.end_lineno - function.lineno + 1, function) for function in source.functions
    ]
    return [
        f"{length} lines: {source.path}:{function.lineno} {function.name}"
        for length, function in lengths
        if length > MOST_FUNCTION_LINES
    ]


def test_no_long_file(package_sources):
    assert package_sources
    offenders = [
        f"{len(source.lines)} lines: {source.path}"
        for source in package_sources
        if len(source.lines) > MOST_FILE_LINES
    ]
    assert not offenders, f"files over {MOST_FILE_LINES} lines:\n" + "\n".join(offenders)


def test_no_long_function(package_sources):
    offenders = [line for source in package_sources for line in long_functions(source)]
    assert not offenders, f"functions over {MOST_FUNCTION_LINES} lines:\n" + "\n".join(offenders)


def test_the_check_sees_a_long_function(make_source):
    def sample(length):
        return make_source("sample.py", "def f():\n" + "    x = 1\n" * (length - 1))

    assert long_functions(sample(MOST_FUNCTION_LINES)) == []
    assert len(long_functions(sample(MOST_FUNCTION_LINES + 1))) == 1
