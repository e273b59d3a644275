"""The report of a paper: one page that stands alone and runs nothing."""

import re
from html.parser import HTMLParser

import msgspec
import pytest
from browser import Browser, chromium

from stiction.errors import ModelError
from stiction.papers.items import Item, Row
from stiction.papers.making import key_of
from stiction.papers.tables import markdown
from stiction.papers.verdicts import VERDICTS, Made, Verdicts, read_verdicts, report

HOSTILE = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"&"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def test_a_bar_ends_no_cell():
    item = Item("title", [], lambda runs: [])
    *_, line = markdown("figure-1", item, [Row("largest |x|", 1.0, 1.0)]).splitlines()
    assert line.startswith(r"| largest \|x\| | 1")


def page_of(tmp_path, name="a", verdict=VERDICTS[0]):
    picture = tmp_path / "figure-1.png"
    picture.write_bytes(PNG)
    item = Item(name, [name], lambda runs: [])
    rows = [Row(name, 1.0, 1.0), Row("other", "yes", "no")]
    table = {
        "title": name,
        "citation": name,
        "caveats": name,
        "item": {
            "figure-1": {"says": name, "verdict": verdict, "because": name, "shown_by": [name]}
        },
        "sketch": [{"key": name, "what": name}],
        "statement": [
            {"where": name, "says": name, "result": name, "verdict": verdict, "shown_by": [name]}
        ],
        "correction": [{"where": name, "printed": name, "correct": name, "shown_by": [name]}],
    }
    found = msgspec.convert(table, Verdicts)
    made = [Made("figure-1", item, rows, [picture])]
    return report("chains", found, made, {name: name}, full=False)


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for key, value in attrs if key in ("src", "href")]
        assert not [key for key, _ in attrs if key.startswith("on")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["plain", HOSTILE])
def test_the_page_stands_alone(tmp_path, name):
    text = page_of(tmp_path, name)
    seen = Seen()
    seen.feed(text)
    assert seen.open == []
    assert "script" not in seen.tags
    assert seen.tags.count("img") == 1
    assert all(source.startswith(("#", "data:image/png;base64,")) for source in seen.sources)
    assert "default-src 'none'" in text
    assert not re.search(r"https?:", text)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdicts_are_reported(tmp_path, verdict):
    text = page_of(tmp_path, verdict=verdict)
    # in the counts, at the figure and at the statement
    assert len(re.findall(rf"<span class='badge \w+'>\S+ {verdict}</span>", text)) == 3
    # a row that the verdict does not know of is reported
    assert "Not covered by this verdict: other differ from the paper." in text


def test_rows_that_are_known_to_differ_raise_no_alarm(tmp_path):
    found = read_verdicts("chains")
    rows = [Row("theta-0: Newton iterations per step", 7.0, 0.0)]
    made = [Made("figure-8", Item("differences", [], lambda runs: []), rows)]
    text = report("chains", found, made, {}, full=True)
    assert "Not covered by this verdict" not in text
    assert "<tr class=other>" in text
    assert "figure-8 --full" in text


@pytest.mark.skipif(not chromium(), reason="no Chromium on this machine: apt-get install chromium")
def test_it_opens_without_a_word(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page_of(tmp_path, HOSTILE), encoding="utf-8")
    with Browser() as browser:
        browser.open(path, width=360, ready="document.readyState === 'complete'")
        assert browser.run("document.querySelectorAll('section').length") == 2
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        assert not browser.problems
        assert browser.requests == [path.resolve().as_uri()]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("2", "figure-2"),
        ("Fig. 2", "figure-2"),
        ("figures 2", "figure-2"),
        ("S1", "figure-s1"),
        ("Fig. S1", "figure-s1"),
        ("figure-s1", "figure-s1"),
        ("Table 2", "table-2"),
        # a figure of the supplement is another than that of the paper
        ("S2", None),
        ("Fig. S2", None),
    ],
)
def test_a_figure_is_named_as_in_the_paper(given, key):
    items = dict.fromkeys(("figure-2", "figure-s1", "table-2"))
    if key is not None:
        assert key_of(given, items) == key
        return
    with pytest.raises(ModelError, match="one of figure-2"):
        key_of(given, items)
