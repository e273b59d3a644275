"""What the site carries itself: mathematics, the moving pictures of the first page, its search.

No page asks another host for anything. MathJax comes from a package of the extra `docs`; the
movies are made from built-in scenarios while the site is built, once.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MADE = HERE / "_made"
# scenario and the settings of its run, and what is seen
MOVIES = {
    "slip-wave": (),
    "wheel-slips-then-slides": (),
    "rods-crossed": (),
    "cylinders": (),
}
_MATHJAX = "sphinx-mathjax-offline"
# of 24 MB the parts that draw TeX
_PARTS = ("tex-chtml.js", "input/tex/extensions/boldsymbol.js", "output/chtml/fonts/woff-v2")


def write_movies() -> None:
    """Write docs/_made/movies: a page and a picture of each scenario of the first page."""
    from PIL import Image

    import stiction as st
    from stiction.plot.player.painter import frames

    folder = MADE / "movies"
    folder.mkdir(parents=True, exist_ok=True)
    for name, changes in MOVIES.items():
        if (folder / f"{name}.png").is_file():
            continue
        scenario = st.read_scenario(name, list(changes))
        run = st.solve(scenario.system, scenario.method, scenario.t_span, throw=False)
        run.animate(folder / f"{name}.html")
        middle = next(itertools.islice(frames(run.plot.movie(120), 5), 2, None))
        picture = Image.fromarray(middle)
        # the same width for all, so that the page does not move when it loads
        picture.resize((640, round(640 * picture.height / picture.width))).save(
            folder / f"{name}.png", optimize=True
        )


def write_performance() -> None:
    """Draw docs/_made/error-against-work.svg from the recorded points."""
    MADE.mkdir(exist_ok=True)
    script = HERE.parent / "benchmarks" / "figure.py"
    subprocess.run([sys.executable, script, MADE / "error-against-work.svg"], check=True)


def write_mathjax() -> None:
    """Copy what draws mathematics to docs/_made/mathjax."""
    files = importlib.metadata.files(_MATHJAX) or []
    source = next(Path(str(f.locate())) for f in files if f.name == _PARTS[0])
    target = MADE / "mathjax"
    for part in _PARTS:
        found, place = source.parent / part, target / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            shutil.copytree(found, place, dirs_exist_ok=True)
        else:
            shutil.copy(found, place)
