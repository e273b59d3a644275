"""One page of HTML for a paper: our figures, what its text says, verdicts, corrections.

The page is self-contained: pictures are embedded, there is no script, and its content policy
forbids every request. All text goes through `html.escape`.
"""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stiction.papers.items import Item, Row
from stiction.papers.tables import table
from stiction.papers.verdicts.reading import VERDICTS, Verdict, Verdicts, uncovered

__all__ = ["Made", "report"]

_CLASSES = dict(zip(VERDICTS, ("good", "corrected", "open", "bad"), strict=True))
_SIGNS = dict(zip(VERDICTS, ("✓", "✓*", "?", "✗"), strict=True))


@dataclass(frozen=True)
class Made:
    """A figure or table with its comparison and pictures.

    Parameters
    ----------
    key, item : name of the figure or table, such as "figure-8", and its definition
    rows : the comparison
    pictures : PNG files
    """

    key: str
    item: Item
    rows: Sequence[Row]
    pictures: Sequence[Path] = ()


@dataclass
class _Page:
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, text: object, attributes: str = "") -> None:
        """Add an element with text in it."""
        self.parts.append(f"<{tag}{attributes}>{_e(text)}</{tag}>")

    def raw(self, text: str) -> None:
        """Add markup without escaping."""
        self.parts.append(text)


def report(
    paper: str, verdicts: Verdicts, made: Sequence[Made], facts: Mapping[str, object], *, full: bool
) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper : as `stiction reproduce` calls it
    verdicts : on its figures, tables and statements
    made : figures and tables, solved and drawn
    facts : versions, machine, date
    full : whether they were made at the paper's size

    Verified by: tests/unit/papers/test_report.py::test_the_page_stands_alone
    """
    page = _Page()
    page.raw(f"<header><p class='ours'>stiction reproduce {_e(paper)}</p>")
    page.add("h1", verdicts.title)
    page.add("p", verdicts.citation, " class='cite'")
    page.add("p", verdicts.caveats.strip())
    page.raw("</header>")
    _counts(page, verdicts)
    _contents(page, made, verdicts)
    page.raw("<h2 id='figures'>Figures and tables</h2>")
    for one in made:
        _item(page, paper, one, verdicts.item[one.key], full)
    if verdicts.sketch:
        page.raw("<h3>Without results</h3><ul>")
        for sketch in verdicts.sketch:
            page.add("li", f"{sketch.key}: {sketch.what}")
        page.raw("</ul>")
    _statements(page, verdicts)
    _corrections(page, verdicts)
    page.raw("<footer>")
    page.add("p", "; ".join(f"{name} {value}" for name, value in facts.items()))
    page.raw("</footer>")
    body = "\n".join(page.parts)
    return _FRAME.format(title=_e(f"{paper}: {verdicts.title}"), style=_STYLE, body=body)


def _e(text: object) -> str:
    return html.escape(str(text), quote=True)


def _badge(verdict: str) -> str:
    kind = _CLASSES[verdict]
    return f"<span class='badge {kind}'>{_SIGNS[verdict]} {_e(verdict)}</span>"


def _counts(page: _Page, verdicts: Verdicts) -> None:
    """Add the table of verdicts: how often each occurs."""
    groups = (
        ("figures and tables", [one.verdict for one in verdicts.item.values()]),
        ("statements", [one.verdict for one in verdicts.statement]),
    )
    page.raw("<div class='wide'><table class='counts'><thead><tr><th scope='col'>verdict</th>")
    for name, _ in groups:
        page.add("th", name, " scope='col' class='number'")
    page.raw("</tr></thead><tbody>")
    counts = [Counter(verdicts) for _, verdicts in groups]
    for verdict in VERDICTS:
        page.raw(f"<tr><th scope='row'>{_badge(verdict)}</th>")
        for count in counts:
            page.add("td", count[verdict], " class='number'")
        page.raw("</tr>")
    page.raw("</tbody></table></div>")


def _contents(page: _Page, made: Sequence[Made], verdicts: Verdicts) -> None:
    """Add the table of contents, with the verdict of each figure."""
    page.raw("<nav aria-label='Contents'><ul>")
    for one in made:
        verdict = verdicts.item[one.key].verdict
        sign = (
            f"<span class='sign {_CLASSES[verdict]}' title='{_e(verdict)}'>{_SIGNS[verdict]}</span>"
        )
        page.raw(f"<li>{sign} <a href='#{_e(one.key)}'>{_e(one.key)}</a> {_e(one.item.title)}</li>")
    if verdicts.statement:
        page.raw("<li><a href='#statements'>Statements</a></li>")
    if verdicts.correction:
        page.raw("<li><a href='#corrections'>Corrections</a></li>")
    page.raw("</ul></nav>")


def _item(page: _Page, paper: str, made: Made, verdict: Verdict, full: bool) -> None:
    """Add one figure: verdict, statement of the text, pictures, rows and commands."""
    page.raw(f"<section id='{_e(made.key)}'>")
    page.add("h3", f"{made.key}: {made.item.title}")
    page.raw(f"<p class='verdict'>{_badge(verdict.verdict)} {_e(verdict.because)}</p>")
    if changed := uncovered(verdict, made.rows):
        words = ", ".join(changed)
        page.add(
            "p", f"Not covered by this verdict: {words} differ from the paper.", " class='alarm'"
        )
    page.raw(f"<p><strong>The text says:</strong> {_e(verdict.says)}</p>")
    for number, path in enumerate(made.pictures):
        data = base64.b64encode(path.read_bytes()).decode()
        alt = _e(f"Our {made.key}: {made.item.title}" + (f", part {number + 1}" if number else ""))
        page.raw(f"<figure><img alt='{alt}' src='data:image/png;base64,{data}'></figure>")
    _rows(page, made.rows, verdict)
    command = f"stiction reproduce {paper} {made.key}{' --full' if full else ''}"
    scenarios = [f"stiction run {name}" for name in made.item.scenarios]
    _shown_by(page, (command, *scenarios, *verdict.shown_by))
    page.raw("</section>")


def _rows(page: _Page, rows: Sequence[Row], verdict: Verdict) -> None:
    """Add the table of rows; those that differ from the paper have the class `other`."""
    head, *lines = table(rows)
    page.raw("<div class='wide' tabindex='0'><table><thead><tr>")
    for name in head:
        page.add("th", name, " scope='col'")
    page.raw("</tr></thead><tbody>")
    for row, line in zip(rows, lines, strict=True):
        other = row.what.startswith(verdict.differs) or row.verdict.startswith("does not")
        page.raw(f"<tr{' class=other' if other else ''}>")
        first, *cells = line
        page.add("th", first, " scope='row'")
        for cell in cells:
            page.add("td", cell)
        page.raw("</tr>")
    page.raw("</tbody></table></div>")


def _shown_by(page: _Page, scripts: Iterable[str]) -> None:
    words = ", ".join(f"<code>{_e(script)}</code>" for script in scripts)
    page.raw(f"<p class='by'>Shown by {words}</p>")


def _statements(page: _Page, verdicts: Verdicts) -> None:
    """Add the statements of the paper outside figures, with their verdicts."""
    if not verdicts.statement:
        return
    page.raw("<h2 id='statements'>Statements</h2>")
    for one in verdicts.statement:
        page.raw("<section class='statement'>")
        page.raw(f"<p><span class='where'>{_e(one.where)}</span> {_e(one.says)}</p>")
        page.raw(f"<p class='verdict'>{_badge(one.verdict)} {_e(one.result)}</p>")
        _shown_by(page, one.shown_by)
        page.raw("</section>")


def _corrections(page: _Page, verdicts: Verdicts) -> None:
    """Add the table of misprints and their corrections."""
    if not verdicts.correction:
        return
    page.raw(
        "<h2 id='corrections'>Corrections</h2><div class='wide' tabindex='0'><table><thead><tr>"
    )
    for name in ("where", "printed", "what holds", "checked by"):
        page.add("th", name, " scope='col'")
    page.raw("</tr></thead><tbody>")
    for one in verdicts.correction:
        page.raw("<tr>")
        page.add("th", one.where, " scope='row'")
        page.add("td", one.printed)
        page.add("td", one.correct)
        checks = "<br>".join(f"<code>{_e(check)}</code>" for check in one.shown_by)
        page.raw(f"<td>{checks}</td></tr>")
    page.raw("</tbody></table></div>")


_FRAME = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --pale: #f2f2f2; --line: #c8c8c8;
  --soft: #555; --good: #0b6b45; --corrected: #00558c; --open: #8a5200; --bad: #a3261b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --pale: #22262b;
  --line: #454b52; --soft: #b0b6bd; --good: #5fd39f; --corrected: #7cc0f5; --open: #f0b35c;
  --bad: #ff8f80; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .2rem 0 .3rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 0 0 .4rem; }
.ours, .cite, .by, footer { color: var(--soft); font-size: .85rem; }
.ours, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
code { font-size: .85em; }
nav ul { list-style: none; padding: 0; columns: 2 22rem; }
nav li { break-inside: avoid; margin: .15rem 0; }
a { color: var(--corrected); }
section { border: 1px solid var(--line); border-radius: 6px; padding: 1rem; margin: 1rem 0; }
section.statement { padding: .4rem 1rem; }
section p { margin: .4rem 0; }
figure { margin: .8rem 0; overflow-x: auto; }
img { box-sizing: border-box; max-width: 100%; height: auto; background: #fff; padding: 4px;
  border-radius: 4px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .7rem .2rem .3rem;
  border-bottom: 1px solid var(--line); font-weight: normal; }
thead th { font-weight: 600; }
tr.other { background: var(--pale); }
tr.other th::before { content: "\\2260\\a0"; }
.number { text-align: right; }
.badge { display: inline-block; border: 1px solid currentColor; border-radius: 1rem;
  padding: 0 .6rem; font-size: .85rem; white-space: nowrap; }
.sign { display: inline-block; min-width: 1.4em; text-align: center; }
.where { font-weight: 600; margin-right: .4rem; }
.good { color: var(--good); } .corrected { color: var(--corrected); }
.open { color: var(--open); } .bad, .alarm { color: var(--bad); }
@media print { section { break-inside: avoid; } nav { display: none; } }
"""
