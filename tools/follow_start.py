"""Do what the first block of docs/start.md says, as a newcomer would, and report how long it took.

`python tools/follow_start.py [PYTHON]`: every line runs in a new folder with an empty home and no
caches; ADDRESS is this repository, and `python3` the interpreter given. What was loaded is summed
up from what pip says, and its time at 20 Mbit/s is reported beside the time measured.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS = 300.0
RATE = 20e6 / 8.0
MADE = ("out/mine/figures/motion.png", "out/mine/summary.json")
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def lines(page: str) -> list[str]:
    """Return the commands of the first block of a page."""
    block = re.search(r"```console\n(.*?)```", page, re.DOTALL)
    if block is None:
        raise SystemExit("docs/start.md has no block of commands")
    return re.findall(r"^\$ ([^#\n]*)", block[1], re.MULTILINE)


def _timed(line: str, python: str) -> str:
    """Return a command that reports itself and how long it took."""
    command = line.strip().replace("ADDRESS", shlex.quote(str(ROOT))).replace("python3", python)
    reported = 'echo "==   $((SECONDS - begin)) s"'
    return f"echo {shlex.quote(f'== {line.strip()}')}\nbegin=$SECONDS\n{command}\n{reported}\n"


def loaded(reported: str) -> float:
    """Return the bytes that pip says it loads."""
    found = re.findall(r"Downloading \S+ \(([\d.]+) (kB|MB|GB)\)", reported)
    return sum(float(size) * _UNITS[unit] for size, unit in found)


def main() -> int:
    """Follow the page; return 0 where it led to the figure within the time."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    page = (ROOT / "docs" / "start.md").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        home.mkdir()
        saved = ("LANG", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE")
        saved += ("PIP_CONFIG_FILE", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
        environment = {name: os.environ[name] for name in saved if name in os.environ}
        environment |= {"HOME": str(home), "PATH": os.environ["PATH"], "PIP_NO_CACHE_DIR": "1"}
        commands = "".join(_timed(line, python) for line in lines(page))
        begin = time.monotonic()
        done = subprocess.run(
            ["bash", "-e", "-c", commands],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        took = time.monotonic() - begin
        print("\n".join(x for x in done.stdout.splitlines() if x.startswith("==")))
        lost = [name for name in MADE if not Path(folder, "stiction", name).is_file()]
    size = loaded(done.stdout)
    print(
        f"{took:.0f} s, of which the network took what it took; {size / 1e6:.0f} MB loaded, "
        f"{size / RATE:.0f} s at 20 Mbit/s"
    )
    if done.returncode or lost:
        print(f"exit code {done.returncode}; not made: {lost}\n{done.stdout[-2000:]}")
        return 1
    return 0 if took + size / RATE <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
