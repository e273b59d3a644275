"""A figure of error against work from the recorded points; not part of the repository.

python benchmarks/figure.py out/error-against-work.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from table import points

MARKS = "os^Dv<>Ph"


def draw(lines: list[dict], path: Path) -> None:
    """Write one panel per problem: time across, error upwards, ours filled."""
    about = [line for line in lines if line["kind"] == "reference"]
    figure, axes = plt.subplots(
        1, len(about), figsize=(4.6 * len(about), 4.4), layout="constrained"
    )
    solvers = list(dict.fromkeys(p["solver"] for p in lines if p["kind"] == "point"))
    for panel, problem in zip(axes, about, strict=True):
        panel.set_title(problem["title"].split(":")[0])
        for i, solver in enumerate(solvers):
            shown = [
                (p["seconds"], p["state_error"], p["group"])
                for p in lines
                if p["kind"] == "point"
                and (p["problem"], p["solver"]) == (problem["problem"], solver)
                and isinstance(p.get("state_error"), float)
            ]
            if not shown:
                continue
            seconds, error, group = zip(*shown, strict=True)
            color = f"C{i}"
            face = color if group[0] == "ours" else "none"
            mark = MARKS[i % len(MARKS)]
            panel.plot(seconds, error, mark, color=color, mfc=face, ms=6, label=solver)
        panel.set(xscale="log", yscale="log", xlabel="time [s]")
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("largest relative error")
    handles = {}
    for panel in axes:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/error-against-work.png")
    draw(points()["accuracy"], path)
    print(path)


if __name__ == "__main__":
    main()
