"""No name, message or page uses a word of `words.toml` outside the meanings listed there.

Checked is all text of the package (names, docstrings, comments, messages, the help of the command
line, scenarios), of the pages, the tests, the benchmarks, the tools and the examples.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
KINDS = {".py", ".pyi", ".toml", ".md"}
FOLDERS = ("src", "tests", "benchmarks", "tools", "examples")
# outputs of earlier versions, the words themselves, and their test
LEFT_OUT = ("tests/frozen/", "tests/meta/words.toml", "tests/meta/test_words.py")

# a word in prose, and each part of a name in snake_case or CamelCase
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
BETWEEN = re.compile(r"[\s_#-]*")


class Words:
    """The words of a table: what to write instead, and the patterns of the meanings that stay."""

    def __init__(self, entries: list[dict]) -> None:
        self.phrases: dict[str, list[tuple[list[str], dict]]] = {}
        for entry in entries:
            for phrase in entry["names"].split(", "):
                first, *rest = phrase.split()
                self.phrases.setdefault(first, []).append((rest, entry))

    def offenders(self, path: str, text: str) -> Iterator[str]:
        """Yield the lines of a text in which a word has none of its meanings."""
        for part in PART.finditer(text):
            for rest, entry in self.phrases.get(part.group().lower(), ()):
                span = part.start(), _end(text, part.end(), rest)
                if span[1] > 0 and not any(_means(m, path, text, span) for m in entry["allowed"]):
                    number = text.count("\n", 0, span[0])
                    line = text.splitlines()[number].strip()
                    yield f"{path}:{number}: write {entry['use']}: {line}"


def _end(text: str, end: int, rest: list[str]) -> int:
    """Return where the further words of a phrase end, 0 if others follow."""
    for word in rest:
        part = PART.match(text, BETWEEN.match(text, end).end())
        if part is None or part.group().lower() != word:
            return 0
        end = part.end()
    return end


def _means(meaning: dict, path: str, text: str, span: tuple[int, int]) -> bool:
    """Return whether a word at `span` is a part of text that the meaning allows."""
    if not re.search(meaning.get("in", ""), path):
        return False
    low = max(span[0] - 80, 0)
    around = re.finditer(meaning.get("text", "(?s).*"), text[low : span[1] + 80])
    return any(low + m.start() <= span[0] and span[1] <= low + m.end() for m in around)


@pytest.fixture(scope="module")
def texts(root) -> dict[str, str]:
    """What is checked: path and text of the files."""
    files = [root / name for name in PAGES]
    files += [p for name in FOLDERS for p in (root / name).rglob("*") if p.suffix in KINDS]
    files += [
        p for p in (root / "docs").rglob("*.md") if not {"_build", "generated"} & set(p.parts)
    ]
    former = re.compile("### Names that changed.*?(?=^## )", re.DOTALL | re.MULTILINE)
    read = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in sorted(files)}
    read["docs/notation.md"] = former.sub("", read["docs/notation.md"])
    # a file's name counts too
    return {p: f"{p}\n{t}" for p, t in read.items() if not p.startswith(LEFT_OUT)}


@pytest.fixture(scope="module")
def table() -> dict:
    path = Path(__file__).with_name("words.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_word_is_of_the_field(texts, table):
    words = Words(table["word"])
    assert "src/stiction/solve.py" in texts
    wrong = [line for path, text in texts.items() for line in words.offenders(path, text)]
    assert not wrong, f"{len(wrong)} words:\n" + "\n".join(wrong)


def test_every_exception_has_a_reason_and_occurs(texts, table):
    for entry in table["word"]:
        for meaning in entry["allowed"]:
            assert meaning["why"]
            where, pattern = re.compile(meaning.get("in", "")), re.compile(meaning.get("text", ""))
            occurs = any(where.search(p) and pattern.search(text) for p, text in texts.items())
            assert occurs, (entry["names"], meaning)
    assert all(table["ordinary"].values())


def test_the_check_sees_words_in_names_and_prose():
    def lines(entry: dict, text: str) -> int:
        return len(list(Words([{"use": "another", **entry}]).offenders("a.py", text)))

    told = {"names": "told", "allowed": [{"text": r'"told"'}]}
    assert lines(told, "was_told = 1\nclass ToldTwice: ...\n# TOLD so\n") == 3
    assert lines(told, 'x["told"], untold, tolder\n') == 0
    phrase = {"names": "let go", "allowed": []}
    assert lines(phrase, "def let_go():\n  # let\n  # go\nlet us go") == 2
