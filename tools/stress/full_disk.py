"""Runs onto disks that are too small, become read-only, or vanish: an exit code, never a crash.

Needs the right to mount small disks in memory (root, or a user namespace); without it the size of
files is limited instead.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from forks import MAIN

import stiction as st

QUICK = ("baseline", "--set", "solve.save=201")
UNDRAWN = "got no figures ("
SLOW = ("burridge-knopoff", "--set", "solve.t_end=3000", "--set", "solve.save=101")


@contextlib.contextmanager
def disk(root: Path, size: int) -> Iterator[Path]:
    """Give a folder on a disk of `size` bytes; a folder of this disk where mounting is refused."""
    place = root / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    try:
        yield place
    finally:
        if mounted:
            subprocess.run(["umount", "-lR", str(place)], check=True)
        shutil.rmtree(place)


def start(words: tuple[str, ...], disk: Path, room: Path, size: int) -> subprocess.Popen[str]:
    """Start a run that has `disk` for everything, and `room` for temporary files."""
    env = {**os.environ, "HOME": str(disk), "TMPDIR": str(room), "MPLBACKEND": "agg"}

    def limit() -> None:
        if size and not os.path.ismount(disk):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*MAIN, "run", *words], cwd=disk, env=env, preexec_fn=limit, **pipes)


def faults(
    code: int, text: str, place: Path, whole: st.Run, old: bytes | None, readable: bool = True
) -> list[str]:
    """Return what is wrong after a run ended."""
    found = []
    if code not in (0, 2):
        found.append(f"exit code {code}: {text[-300:]}")
    if code == 2 and not all(word in text for word in ("Why: ", "Try: ")):
        found.append(f"no message: {text[-300:]}")
    if "Traceback" in text:
        found.append("a traceback")
    saved = text.partition("complete, in ")[2].partition("; move")[0]
    if code == 0 or saved or UNDRAWN in text:
        run = st.load(saved or place / "run")
        if not np.array_equal(run.variables["x"].values, whole.variables["x"].values):
            found.append("other numbers")
    elif old is not None and (place / "run" / "run.nc").read_bytes() != old:
        found.append("the result that was there is lost")
    known = {"run", Path(saved).name if saved else "run"}
    if "checkpoint is saved" in text:
        known.add(".run.checkpoint")
    caches = {".config", ".cache", ".stiction"}
    if readable and (left := {path.name for path in place.iterdir()} - known - caches):
        found.append(f"left behind: {sorted(left)}")
    return found


def small_disks(root: Path, sizes: list[int]) -> tuple[int, int, dict[str, int]]:
    """Return how many runs went wrong, of how many, and how they ended."""
    wrong, runs, ends = (
        0,
        0,
        dict.fromkeys(("whole", "saved elsewhere", "no figures", "reported"), 0),
    )
    whole = st.read_scenario(QUICK[0], QUICK[2:]).solve()
    kinds = ((), ("--no-figures",), ("--no-figures", "--overwrite"))
    for (number, size), more in itertools.product(enumerate(sizes), kinds):
        # every other time there is room for temporary files on another disk
        room = root / "tmp" if (number + len(more)) % 2 else root / "disk"
        with disk(root, size) as place:
            old = None
            if "--overwrite" in more:
                with contextlib.suppress(OSError):
                    old = (whole.save(place / "run") / "run.nc").read_bytes()
            words = (*QUICK, "--out", "run", "--checkpoint-every", "0", *more)
            run = start(words, place, room, size)
            text = "".join(run.communicate())
            found = faults(run.returncode, text, place, whole, old)
            runs, wrong = runs + 1, wrong + bool(found)
            end = "saved elsewhere" if "complete, in" in text else "reported"
            end = "no figures" if UNDRAWN in text else end
            ends["whole" if run.returncode == 0 else end] += 1
            if found:
                print(f"{size} bytes, {more}, {room.name}: {found}", flush=True)
    return wrong, runs, ends


def read_only(place: Path) -> None:
    """Make the folder refuse to be written."""
    out = str(place / "out")
    subprocess.run(["mount", "--bind", out, out], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", out], check=True)


def vanish(place: Path) -> None:
    """Remove the folder in which the run keeps what it has."""
    shutil.rmtree(place / "out")


def become_a_file(place: Path) -> None:
    """Put a file where that folder was."""
    shutil.rmtree(place / "out")
    (place / "out").write_text("")


def appear(place: Path) -> None:
    """Put another's folder where the result is to go."""
    (place / "out" / "run").mkdir()
    (place / "out" / "run" / "theirs").write_text("")


def changing_disks(root: Path) -> tuple[int, int]:
    """Return how many runs went wrong whose disk changed meanwhile, and of how many."""
    whole = st.read_scenario(SLOW[0], (SLOW[2], SLOW[4])).solve()
    wrong, changes = 0, (read_only, vanish, become_a_file, appear)
    for change in changes:
        # with checkpoints at once, and with none after the disk has changed
        for every in ("0", "0.4"):
            with disk(root, 2**26) as place:
                words = (*SLOW, "--no-figures", "--out", "out/run", "--checkpoint-every", every)
                run = start(words, place, root / "tmp", 0)
                while run.poll() is None and not (place / "out" / ".run.checkpoint").exists():
                    time.sleep(0.005)
                late = run.poll() is not None
                act(change, place)
                text = "".join(run.communicate())
                out = place / "out"
                found = faults(run.returncode, text, out, whole, None, readable=change is vanish)
                found += ["ended too soon"] * late
                wrong += bool(found)
                print(f"{change.__name__}, {every} s: exit {run.returncode}, {text[-160:]!r}")
                if found:
                    print(f"  {found}", flush=True)
    return wrong, 2 * len(changes)


def act(change: Callable[[Path], None], place: Path) -> None:
    """Change a disk; a file may appear in a folder while it is removed."""
    for _ in range(50):
        try:
            change(place)
            return
        except OSError:
            time.sleep(0.01)


def campaign(count: int = 20, first: int = 10_000, last: int = 4_000_000) -> tuple[str, int]:
    """Run on disks of `count` sizes [bytes] and on those that change; count what goes wrong."""
    sizes = [int(size) for size in np.geomspace(first, last, count)]
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "tmp").mkdir()
        wrong, runs, ends = small_disks(Path(root), sizes)
        more, others = changing_disks(Path(root))
    small = f"full disk: {wrong} of {runs} runs wrong; {ends}"
    return f"{small}; read-only and vanishing: {more} of {others} runs wrong", wrong + more
