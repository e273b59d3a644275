"""Write the players of saved runs, and report for each how large it is and how exact.

`python tools/players.py OUT RUN...` writes OUT/NAME.html for each saved run or study, unpacks
what was written and compares it with the saved states: at every saved time that a straight line
between frames covers, and at the frames themselves. With Chromium every page is opened too: it
must play, report nothing and ask for nothing but itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from stiction.io.store import load
from stiction.plot.player.page import MOST_BYTES
from stiction.studies import Study
from stiction.studies.store import is_study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import Browser, chromium
from playing import film_in, misses


def main() -> int:
    """Write, measure and open the pages; return how many are not as they should be."""
    out, folders = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    failed, rows = 0, []
    for folder in folders:
        if is_study(folder):
            # frames are members themselves
            path = Study(folder).animate(out / f"{folder.name}.html")
            film = film_in(path.read_text(encoding="utf-8"))
            rows.append((folder.name, path, path.stat().st_size, len(film["time"]), 0.0, True))
            continue
        run = load(folder)
        path = run.animate(out / f"{folder.name}.html")
        film = film_in(path.read_text(encoding="utf-8"))
        worst = misses(run, film)
        events = np.isin(run.event_log.time, [mark[0] for mark in film["marks"]]).all()
        rows.append(
            (folder.name, path, path.stat().st_size, len(film["time"]), worst, bool(events))
        )
    shown = _opened([row[1] for row in rows]) if chromium() else {}
    for name, path, size, frames, worst, events in rows:
        heard = shown.get(path)
        word = "not opened" if heard is None else "plays" if not heard else json.dumps(heard)
        good = size <= MOST_BYTES and worst <= 5e-3 and not heard
        failed += not good
        print(
            f"{name:26s}{size:8d} B{frames:6d} frames{100 * worst:9.4f} %  "
            f"events {'exact' if events else 'thinned'}  {word}"
        )
    print(f"{len(rows) - failed} of {len(rows)} pages are as they should be")
    return failed


def _opened(paths: list[Path]) -> dict[Path, list[object]]:
    """Return what each page reported, and what it asked for beside itself."""
    found = {}
    with Browser() as browser:
        for path in paths:
            browser.open(path)
            browser.wait("at > 0.01")
            others = [url for url in browser.requests if url != path.resolve().as_uri()]
            found[path] = [*browser.problems, *others]
    return found


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
