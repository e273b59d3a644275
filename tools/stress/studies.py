"""Studies under kill -9, full and read-only disks, damage, changed code and rivals: the same data.

The main process, its workers, and (where Dask is installed) the workers and the scheduler of a
cluster are killed at random moments; the same command is started again until the study is
complete, and all its data are compared with those of a study that was left alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from damage import flip
from forks import MAIN
from full_disk import disk

from stiction.studies import Study

TEXT = """
scenario = "slip-wave"
results = ["max(onset_force)", "final.x", "energy.friction_heat"]
[fields]
"law.mu" = { from = 0.1, to = 0.3, count = 60 }
"load.rate" = { from = 0.5, to = 2.0, count = 30 }
"""
DASK = importlib.util.find_spec("distributed") is not None


def start(file: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """Start a sweep with two workers."""
    words = [*MAIN, "sweep", str(file), "--out", str(out), "--workers", "2", "--quiet", *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code and what was said."""
    said = "".join(process.communicate(timeout=600))
    return process.returncode, said


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(word) for word in text.split()]
    return []


def begun(out: Path, process: subprocess.Popen[str]) -> bool:
    """Wait until a chunk is done; False if the process ended before."""
    while process.poll() is None:
        if any((out / "done").glob("*.json")):
            return True
        time.sleep(0.005)
    return False


def kill_main(process: subprocess.Popen[str]) -> bool:
    """Kill the main process."""
    process.kill()
    return True


def kill_worker(process: subprocess.Popen[str]) -> bool:
    """Kill one of its workers; return whether there was one."""
    crew = children(process.pid)
    with contextlib.suppress(OSError):
        if crew:
            os.kill(random.choice(crew), signal.SIGKILL)
            return True
    return False


def killed(
    root: Path, file: Path, whole: Study, kill: Callable[..., bool], kills: int
) -> tuple[int, int]:
    """Kill so often, in as many studies as that takes; return kills and studies that differ."""
    done = wrong = 0
    while done < kills:
        out = root / "killed"
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(100):
            process = start(file, out)
            if begun(out, process) and done < kills:
                time.sleep(random.uniform(0.0, 0.5))
                if process.poll() is None:
                    done += kill(process)
            code, said = ended(process)
            if code == 0:
                break
            if code != -signal.SIGKILL:
                print(f"exit code {code}: {said[-300:]}")
                wrong += 1
        study = Study(out)
        good = study.complete and study.data.identical(whole.data)
        good = good and not any(study.counts().values()) and not list(out.rglob(".*.part"))
        wrong += not good
    return done, wrong


def on_a_cluster(
    root: Path, file: Path, whole: Study, kill_scheduler: bool, kills: int
) -> tuple[int, int]:
    """Kill workers or the scheduler of a Dask cluster; return kills and studies that differ."""
    done = wrong = 0
    env = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    while done < kills:
        out = root / "cluster"
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(100):
            port = random.randrange(20_000, 50_000)
            address = f"tcp://127.0.0.1:{port}"
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
            words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port)]
            scheduler = subprocess.Popen([*words, "--no-dashboard"], **quiet)
            words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
            crew = [subprocess.Popen([*words, "--nthreads", "1"], **quiet) for _ in range(2)]
            time.sleep(3.0)
            process = start(file, out, "--engine", "dask", "--address", address)
            if begun(out, process) and done < kills:
                time.sleep(random.uniform(0.0, 0.3))
                if process.poll() is None:
                    (scheduler if kill_scheduler else crew[0]).kill()
                    done += 1
            try:
                code, said = ended(process)
            except subprocess.TimeoutExpired:
                process.kill()
                code, said = -1, "it did not end"
            for one in (*crew, scheduler):
                for inner in children(one.pid):
                    with contextlib.suppress(OSError):
                        os.kill(inner, signal.SIGKILL)
                one.kill()
                one.wait()
            if code == 0:
                break
            if code != 2 or "Try: " not in said:
                print(f"exit code {code}: {said[-300:]}")
                wrong += 1
        study = Study(out)
        wrong += not (study.complete and study.data.identical(whole.data))
    return done, wrong


def full_disks(root: Path, file: Path, whole: Study, sizes: int) -> int:
    """Sweep onto disks in memory of growing size, then onto a larger one; count what is wrong."""
    wrong = 0
    for k in range(sizes):
        size = int(20_000 * 1.25**k)
        with disk(root, size) as place:
            if not os.path.ismount(place):
                print("full disks: mounting is not allowed here")
                return 0
            code, said = ended(start(file, place / "study"))
            clear = code == 0 or (code == 2 and "Why: " in said and "Traceback" not in said)
            wrong += not clear
            if not clear:
                print(f"{size} bytes: exit code {code}: {said[-300:]}")
            subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
            code, said = ended(start(file, place / "study"))
            wrong += code != 0 or not Study(place / "study").data.identical(whole.data)
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
            code, said = ended(start(file, place / "other"))
            wrong += code != 2 or "Read-only" not in said
    return wrong


def damaged(root: Path, file: Path, whole: Study, times: int) -> int:
    """Change a random byte of a random file, and sweep again; count what is wrong."""
    out, wrong = root / "damaged", 0
    for _ in range(times):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(whole.folder, out)
        path = random.choice([p for p in out.rglob("*") if p.is_file() and p.stat().st_size])
        path.write_bytes(flip(bytearray(path.read_bytes()), random.Random(random.random())))
        code, said = ended(start(file, out))
        if code == 2 and "changed since" in said:
            continue
        wrong += code != 0 or not Study(out).data.identical(whole.data)
    return wrong


def rivals(root: Path, file: Path, whole: Study, rounds: int) -> int:
    """Start five sweeps of one folder at once; count rounds without one winner and whole data."""
    wrong = 0
    for _ in range(rounds):
        out = root / "rivals"
        shutil.rmtree(out, ignore_errors=True)
        every = [start(file, out) for _ in range(5)]
        codes = sorted(ended(process)[0] for process in every)
        # who comes when the first is done finds nothing left to do
        wrong += not (codes[0] == 0 and set(codes) <= {0, 2})
        wrong += not Study(out).data.identical(whole.data)
    return wrong


def campaign(kills: int = 20, seed: int = 1) -> tuple[str, int]:
    """Kill, fill, damage and compete; count the studies that differ."""
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / "study.toml"
        file.write_text(TEXT)
        code, said = ended(start(file, root / "whole"))
        assert code == 0, said
        whole = Study(root / "whole")
        bad = 0
        for name, kill in (("main process", kill_main), ("workers", kill_worker)):
            done, wrong = killed(root, file, whole, kill, kills)
            print(f"{name}: {done} kills, {wrong} wrong", flush=True)
            bad += wrong
        for name, scheduler in (("Dask workers", False), ("Dask scheduler", True)):
            if DASK:
                done, wrong = on_a_cluster(root, file, whole, scheduler, kills)
                print(f"{name}: {done} kills, {wrong} wrong", flush=True)
                bad += wrong
        for name, harm, times in (
            ("full and read-only disks", full_disks, kills),
            ("damaged files", damaged, 2 * kills),
            ("five at once", rivals, max(1, kills // 4)),
        ):
            wrong = harm(root, file, whole, times)
            print(f"{name}: {times} times, {wrong} wrong", flush=True)
            bad += wrong
    return f"studies: {bad} wrong", bad
