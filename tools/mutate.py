"""Kill rates of small faults put into the package: whether the tests would see them.

    python tools/mutate.py                          # 240 drawn faults and the named ones
    python tools/mutate.py --sample 10              # ten of the drawn ones, as CI does
    python tools/mutate.py --named                  # those that reviews found
    python tools/mutate.py --glance --out report.json   # the quick tests: an hour on one core
    python tools/mutate.py --out report.json        # can be stopped, and continued
    python tools/mutate.py --out report.json --retry    # again what survived, after new tests
    python tools/mutate.py --out report.json --retry --patience 4   # and with more of the tests

A fault is one changed sign, term, index, number, name, comparison, check, unit or kind. The tree
is copied, one fault is put into the copy, and the tests nearest to it are run, first with kernels
as plain Python, then compiled. A fault that takes for ever counts as seen only if the valid tree
is done in half the time. Faults that change nothing are argued one by one in a file and left out
of the rates.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from mutation.bench import Bench
from mutation.choice import argued, candidates, draw, sample
from mutation.judge import Judge
from mutation.named import NAMED, locate
from mutation.nearest import Nearest
from mutation.report import Report, say
from mutation.source import Mutant
from mutation.tree import Tree

ROOT = Path(__file__).resolve().parents[1]
# of the time at a glance
_SHORT = 0.5
ARGUED = Path(__file__).with_name("mutation_equivalent.toml")


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--seed", type=int, default=1, help="of the draw")
    add("--count", type=int, default=240, help="faults to draw")
    add("--sample", type=int, metavar="N", help="try only N of the drawn faults")
    add("--package", metavar="NAME", help="try only faults of one package")
    add("--named", action="store_true", help="try only the faults that reviews found")
    add("--only", action="append", metavar="ID", help="try only this fault, drawn or not")
    add("--list", action="store_true", help="list the faults and try none")
    add("--workers", type=int, default=1, help="faults tried at the same time")
    add("--glance", action="store_true", help="half the time, and compile no changed kernel")
    add("--patience", type=float, default=1.0, help="times the seconds that tests may take")
    add("--limit", type=float, default=240.0, help="seconds for each stage of a fault")
    add("--out", type=Path, metavar="FILE", help="keep verdicts here, and continue from here")
    add("--retry", action="store_true", help="keep what was killed, try the others again")
    add("--argued", type=Path, default=ARGUED, metavar="FILE", help="faults that change nothing")
    add("--root", type=Path, default=ROOT, help="the tree")
    add("--work", type=Path, metavar="DIR", help="keep the copies here, with warm caches")
    return parser.parse_args(words)


def chosen_of(options: argparse.Namespace, tree: Tree, every: list[Mutant]) -> list[Mutant]:
    """Return the faults to try."""
    sources = {file: (tree.root / file).read_bytes() for file in tree.sources}
    # a fault reported in the table must exist even when it is not asked for
    named = locate(NAMED, sources) if options.root == ROOT or options.named else []
    if options.only:
        wanted = [m for m in (*named, *every) if m.id in options.only]
        if len(wanted) < len(set(options.only)):
            raise SystemExit(f"--only: got {options.only}; no such fault in this tree")
        return wanted
    if options.named:
        return named
    drawn = draw(tree, every, options.count, options.seed)
    if options.sample is not None:
        return sample(tree, drawn, options.sample, options.seed)
    chosen = [*drawn, *named]
    if options.package:
        chosen = [m for m in chosen if tree.part(m.file) == options.package]
    return chosen


def tried(
    options: argparse.Namespace, judge: Judge, report: Report, mutants: list[Mutant], work: Path
) -> None:
    """Try faults, several at the same time, and keep the verdicts."""
    left: queue.SimpleQueue[tuple[int, Mutant]] = queue.SimpleQueue()
    for entry in enumerate(mutants, start=1):
        left.put(entry)
    lock = threading.Lock()

    def worker(number: int) -> None:
        with contextlib.closing(Bench(judge.tree, work / str(number))) as bench:
            for i, mutant in _taken(left):
                begun = time.monotonic()
                verdict = judge.judge(bench, mutant)
                with lock:
                    report.add(mutant, verdict, time.monotonic() - begun)
                    say(report.line(mutant, i, len(mutants)))

    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for ended in [pool.submit(worker, n) for n in range(options.workers)]:
            ended.result()


def _taken(left: queue.SimpleQueue[tuple[int, Mutant]]) -> Iterator[tuple[int, Mutant]]:
    """Yield what is left; when whoever takes it fails, nothing is left for the others."""
    try:
        while True:
            yield left.get_nowait()
    except queue.Empty:
        return
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                left.get_nowait()


def main(words: list[str] | None = None) -> int:
    """Return 0 if enough faults are seen, 1 if not."""
    options = parsed(words)
    options.root = options.root.resolve()
    tree = Tree(options.root)
    every = candidates(tree)
    # code that was edited since is for a run over all faults to report
    arguments = argued(options.argued, every, strict=options.sample is None)
    chosen = chosen_of(options, tree, every)
    if options.list:
        for mutant in chosen:
            mark = "  (argued)" if mutant.id in arguments else ""
            say(f"{mutant.id} {mutant.file}:{mutant.line} {mutant.operator}{mark}")
            say(f"    {mutant.old}  ->  {mutant.new}")
        say(f"{len(chosen)} of {len(every)} faults")
        return 0
    report = Report(options.out, tree, options.seed, retry=options.retry)
    judge = Judge(tree, Nearest(tree), options.limit, report.measured, report.save, options.glance)
    judge.patience = options.patience * (_SHORT if options.glance else 1.0)
    for mutant in chosen:
        if mutant.id in arguments:
            report.argue(mutant, arguments[mutant.id])
    todo = [m for m in chosen if not report.known(m)]
    work = options.work or Path(tempfile.mkdtemp(prefix="mutate-"))
    begun = time.monotonic()
    try:
        tried(options, judge, report, todo, work)
    finally:
        report.save()
        if options.work is None:
            shutil.rmtree(work, ignore_errors=True)
    for line in report.survivors(chosen):
        say(line)
    lines, good = report.table(chosen, sampled=options.sample is not None)
    for line in ["", *lines, f"{len(todo)} tried in {time.monotonic() - begun:.0f} s"]:
        say(line)
    return 0 if good else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUTF8", "1")
    sys.exit(main())
