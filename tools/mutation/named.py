"""Faults that reviews found no test for, by their text: each must be seen ever after."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from mutation.source import Mutant, Source, enclosing, one_line

__all__ = ["NAMED", "Named", "locate"]


@dataclass(frozen=True)
class Named:
    """One fault.

    Parameters
    ----------
    name : what it is called
    files : pattern of the path, because some texts stand in several files
    old, new : text to replace, which must occur exactly once, and by what; line breaks included
    """

    name: str
    files: str
    old: str
    new: str


NAMED = (
    Named(
        "audit-any-for-all",
        "*/core/*",
        "return tuple(check for check in self.checks if check.ok is False)",
        "return tuple(check for check in self.checks if check.ok is True)",
    ),
    Named(
        "audit-names-swapped",
        "*/switching/*",
        'Line("stays_on_surface", worst["off"], near, distance, times[0]),\n'
        '        Line("stays_on_its_side", worst',
        'Line("stays_on_its_side", worst["off"], near, distance, times[0]),\n'
        '        Line("stays_on_surface", worst',
    ),
    Named(
        "audit-names-of-wheel-energy-swapped",
        "*/switching/*",
        'Line("ledger_closes", imbalance, bound, note),',
        'Line("friction_dissipates", imbalance, bound, note),',
    ),
    Named(
        "fracture-energy-sign",
        "*/solids/*",
        "release_rate[i] = (spent[high] - spent[low]) / length",
        "release_rate[i] = (spent[low] - spent[high]) / length",
    ),
    Named(
        "xi-one-per-cent",
        "*/solids/*",
        "xi = float((loss @ square) / (square @ square))",
        "xi = 1.01 * float((loss @ square) / (square @ square))",
    ),
    Named(
        "solids-close-as-open",
        "*/solids/*",
        '"open" if modes[i] == _OPEN else "close"',
        '"close" if modes[i] == _OPEN else "open"',
    ),
    Named(
        "rods-close-as-open",
        "*/rods/outcome.py",
        '_KINDS = ("close", "open",',
        '_KINDS = ("open", "close",',
    ),
    Named(
        "plane-close-as-open",
        "*/rods/*plane*",
        '_KINDS = ("close", "open",',
        '_KINDS = ("open", "close",',
    ),
    Named(
        "s2-scaled-by-first-rod",
        "*/rods/*",
        "* ds[pairs[:, 1]]",
        "* ds[pairs[:, 0]]",
    ),
    Named(
        "rods-force-in-kN",
        "*/rods/*",
        '"lambda_n": ("N", "normal contact force',
        '"lambda_n": ("kN", "normal contact force',
    ),
    Named(
        "plane-force-in-kN",
        "*/rods/*",
        'Quantity(largest, "N", "of one node',
        'Quantity(largest, "kN", "of one node',
    ),
    Named(
        "friction-heat-unit",
        "*",
        '"friction_heat": Quantity(heat, "J",',
        '"friction_heat": Quantity(heat, "N",',
    ),
    Named(
        "ledger-scale-without-algorithmic",
        "*/core/*",
        "            self.impact_loss,\n            self.algorithmic,\n        )",
        "            self.impact_loss,\n\n        )",
    ),
    Named(
        "sampling-70-30",
        "*/switching/*",
        "side = 1.0 if rng.random() < 0.5 else -1.0",
        "side = 1.0 if rng.random() < 0.7 else -1.0",
    ),
    Named(
        "sampling-70-30-on-a-line",
        "*/nonuniqueness/choices.py",
        "    side = np.where(rng.random(policy.n) < 0.5, 1.0, -1.0)\n    return [",
        "    side = np.where(rng.random(policy.n) < 0.7, 1.0, -1.0)\n    return [",
    ),
    Named(
        "noise-exit-side-flipped",
        "*/switching/*",
        "exits[1, i], exits[2, i] = t, 1.0 if h > 0.0 else -1.0",
        "exits[1, i], exits[2, i] = t, 1.0 if h < 0.0 else -1.0",
    ),
    Named(
        "friction-residual-in-forces",
        "*/friction_problem/newton.py",
        "out[c, i] = (r[c, i] - out[c, i]) / rho[c]",
        "out[c, i] = r[c, i] - out[c, i]",
    ),
    Named(
        "two-folds-merged-too-far",
        "*/switching/*",
        "(np.abs(result.x - known.x) <= slack * 10.0)",
        "(np.abs(result.x - known.x) <= slack * 1.0e5)",
    ),
)


def locate(named: tuple[Named, ...], sources: dict[str, bytes]) -> list[Mutant]:
    """Return the faults as mutants of these files.

    Raises
    ------
    SystemExit : if a text does not occur exactly once; it then has to be written anew in `NAMED`.
    """
    found, lost = [], []
    for fault in named:
        old = fault.old.encode()
        files = {f: c for f, c in sources.items() if fnmatch.fnmatch(f, fault.files)}
        places = [f for f, content in files.items() for _ in range(content.count(old))]
        if len(places) == 1:
            found.append(_mutant(fault, places[0], files[places[0]]))
        else:
            where = ", ".join(places) or "nowhere"
            lost.append(f"{fault.name}: got {len(places)} places ({where}) for {fault.old!r}")
    if lost:
        raise SystemExit("\n".join(["named faults need exactly one place each:", *lost]))
    return found


def _mutant(fault: Named, file: str, content: bytes) -> Mutant:
    start = content.index(fault.old.encode())
    source = Source(file, content)
    line = source.line(start)
    inner = enclosing(source.tree, line)[-1]
    return Mutant(
        file=file,
        line=line,
        function=source.function(inner),
        operator="named",
        old=one_line(fault.old.encode()),
        new=one_line(fault.new.encode()),
        start=start,
        end=start + len(fault.old.encode()),
        text=fault.new,
        name=fault.name,
    )
