"""Kill rates of small faults put into the package: whether the tests would see them.

    python tools/mutate.py                          # 240 drawn faults
    python tools/mutate.py --sample 10              # ten of the drawn ones, as CI does
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
import os
import queue
import sys
import tempfile
import time
from pathlib import Path

from mutation.bench import Bench
from mutation.choice import argued, candidates, draw, sample
from mutation.judge import Judge, Verdict
from mutation.nearest import Nearest
from mutation.report import ARGUED, Report, say
from mutation.source import Mutant
from mutation.tree import Tree

ROOT = Path(__file__).resolve().parents[1]
# of the time at a glance
_SHORT = 0.5
EQUIVALENT = Path(__file__).with_name("mutation_equivalent.toml")


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--seed", type=int, default=1, help="of the draw")
    add("--count", type=int, default=240, help="faults to draw")
    add("--sample", type=int, metavar="N", help="try only N of the drawn faults")
    add("--package", metavar="NAME", help="try only faults of one package")
    add("--only", action="append", metavar="ID", help="try only this fault, drawn or not")
    add("--list", action="store_true", help="list the faults and try none")
    add("--workers", type=int, default=1, help="faults tried at the same time")
    add("--glance", action="store_true", help="half the time, and compile no changed kernel")
    add("--patience", type=float, default=1.0, help="times the seconds that tests may take")
    add("--limit", type=float, default=240.0, help="seconds for each stage of a fault")
    add("--out", type=Path, metavar="FILE", help="keep verdicts here, and continue from here")
    add("--retry", action="store_true", help="keep what was killed, try the others again")
    add(
        "--argued", type=Path, default=EQUIVALENT, metavar="FILE", help="faults that change nothing"
    )
    add("--root", type=Path, default=ROOT, help="the tree")
    return parser.parse_args(words)


def chosen_of(options: argparse.Namespace, tree: Tree, every: list[Mutant]) -> list[Mutant]:
    """Return the faults to try."""
    if options.only:
        wanted = [m for m in every if m.id in options.only]
        if len(wanted) < len(set(options.only)):
            raise SystemExit(f"--only: got {options.only}; no such fault in this tree")
        return wanted
    drawn = draw(tree, every, options.count, options.seed)
    if options.sample is not None:
        return sample(tree, drawn, options.sample, options.seed)
    return [m for m in drawn if options.package in (None, tree.part(m.file))]


def tried(judge: Judge, report: Report, mutants: list[Mutant], workers: int) -> None:
    """Try faults, several at the same time, and keep the verdicts."""
    benches: queue.SimpleQueue[Bench] = queue.SimpleQueue()

    def one(entry: tuple[int, Mutant]) -> None:
        number, mutant = entry
        begun, bench = time.monotonic(), benches.get()
        try:
            verdict = judge.judge(bench, mutant)
        finally:
            benches.put(bench)
        report.add(mutant, verdict, time.monotonic() - begun)
        say(report.line(mutant, number, len(mutants)))

    with tempfile.TemporaryDirectory(prefix="mutate-") as work:
        pool = concurrent.futures.ThreadPoolExecutor(workers)
        try:
            for number in range(workers if mutants else 0):
                benches.put(Bench(judge.tree, Path(work) / str(number)))
            list(pool.map(one, enumerate(mutants, start=1)))
        finally:
            pool.shutdown(cancel_futures=True)


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
    patience = options.patience * (_SHORT if options.glance else 1.0)
    judge = Judge(tree, Nearest(tree), options.limit, options.glance, patience)
    for mutant in chosen:
        if mutant.id in arguments:
            report.add(mutant, Verdict(ARGUED, error=arguments[mutant.id]), 0.0)
    todo = [m for m in chosen if m.id not in report.rows]
    begun = time.monotonic()
    tried(judge, report, todo, options.workers)
    for line in report.survivors(chosen):
        say(line)
    lines, good = report.table(chosen, sampled=options.sample is not None)
    for line in ["", *lines, f"{len(todo)} tried in {time.monotonic() - begun:.0f} s"]:
        say(line)
    return 0 if good else 1


if __name__ == "__main__":
    os.environ |= {"PYTHONUTF8": "1", "MPLBACKEND": "Agg"}
    sys.exit(main())
