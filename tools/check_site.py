"""Look at a built site as a visitor's browser does: `python tools/check_site.py SITE [AXE]`.

Every page is read for links whose target or anchor does not exist, and opened in Chromium: it must
report nothing and ask for nothing but files of the site. What a page loads is summed up. AXE is the
path of `axe.min.js` of the package axe-core, which judges what people with a reader or a keyboard
meet, in light and in dark.
"""

from __future__ import annotations

import functools
import gzip
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import Browser, chromium

MOST_BYTES = 2_000_000
LOADED = "document.readyState === 'complete'"
# mathematics is drawn after a page has loaded
DRAWN = "(window.MathJax?.startup?.promise ?? Promise.resolve()).then(() => true)"
JUDGED = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => v.id + ': ' + v.nodes.length + ' x ' + v.nodes[0].html.slice(0, 120)))"""


class Page(HTMLParser):
    """The names and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a name, a link, a picture or a script."""
        for key, value in attrs:
            if value and key in ("id", "name"):
                self.names.add(value)
            elif value and (key == "href" or (key == "src" and tag != "iframe")):
                self.links.append(value)


def broken(site: Path) -> Iterator[str]:
    """Give what leads nowhere."""
    paths = [p for p in site.rglob("*.html") if "_static" not in p.parts or "movies" in p.parts]
    pages = {path: Page(path.read_text("utf-8")) for path in paths}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#"):
                if link.startswith("#") and link[1:] and unquote(link[1:]) not in page.names:
                    yield f"{path.relative_to(site)}: {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            known = pages.get(target)
            lost = known and parts.fragment and unquote(parts.fragment) not in known.names
            if not target.exists() or lost:
                yield f"{path.relative_to(site)}: {link}"


@functools.cache
def transferred(file: Path) -> int:
    """Return the bytes that a server sends: texts compressed, as all of them do."""
    data = file.read_bytes()
    return (
        len(gzip.compress(data)) if file.suffix in (".html", ".js", ".css", ".svg") else len(data)
    )


def seen(site: Path, axe: str) -> Iterator[tuple[Path, int, list[str]]]:
    """Give each page, how many bytes it loads, and what is wrong with it."""
    with Browser() as browser:
        met: set[Path] = set()
        for path in sorted(site.rglob("*.html")):
            if "_static" in path.parts and "movies" not in path.parts:
                continue  # a part of the theme that is no page
            wrong: list[str] = []
            size = 0
            # colours are the same on all pages of a folder
            for dark in (False,) if not axe or path.parent in met else (False, True):
                browser.open(path, dark=dark, ready=LOADED)
                browser.run(DRAWN)
                wrong += [str(reported)[:300] for reported in browser.problems]
                asked = {url.partition("?")[0].partition("#")[0] for url in browser.requests}
                asked = {url for url in asked if not url.startswith(("data:", "blob:"))}
                home = site.resolve().as_uri()
                wrong += [f"asks for {url}" for url in asked if not url.startswith(home)]
                files = [Path(unquote(urlsplit(url).path)) for url in asked]
                size = sum(transferred(file) for file in files if file.is_file())
                if axe and "_static" not in path.parts:
                    time.sleep(0.3)  # colours fade in
                    browser.run(axe + "; true")
                    wrong += browser.run(JUDGED)
            met.add(path.parent)
            yield path, size, wrong


def main() -> int:
    """Print what is wrong, and how much the pages load; return how many findings there are."""
    site = Path(sys.argv[1])
    axe = Path(sys.argv[2]).read_text("utf-8") if len(sys.argv) > 2 else ""
    count = 0
    for link in broken(site):
        count += 1
        print(f"leads nowhere: {link}")
    if not chromium():
        print("no Chromium: no page was opened")
        return count
    sizes = {}
    for path, size, wrong in seen(site, axe):
        sizes[path] = size
        if size > MOST_BYTES:
            wrong.append(f"loads {size / 1e6:.2f} MB")
        count += len(wrong)
        for reported in wrong:
            print(f"{path.relative_to(site)}: {reported}", flush=True)
    first = sizes.get(site / "index.html", 0)
    print(
        f"{len(sizes)} pages, {count} findings; the first page loads {first / 1e6:.2f} MB, "
        f"the largest {max(sizes.values()) / 1e6:.2f} MB"
    )
    return count


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
