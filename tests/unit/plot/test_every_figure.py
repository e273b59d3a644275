"""What holds for every figure of every system: no empty axes, one scale, lines that print."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba_array

from stiction.io.scenario import read_scenario
from stiction.plot import figures_of, style

# so long that every figure has something to show; None takes the whole scenario
SCENARIOS = {
    "baseline": 3.0,
    "belt": 6.0,
    "burridge-knopoff": 6.0,
    "quasistatic-branches": None,
    "quasistatic-ramp": None,
    "spring-slider": None,
    "earthquake-cycles": 6.3e9,
    "seas-bp6": 2e6,
    "relay-feedback": 12.0,
    "normal-form": None,
    "two-block-stick-slip": 12.0,
    "wheel-into-two-fold": None,
    "string-offset": 10.0,
    "string-periodic": 10.0,
    "rods-net": 0.02,
    "rods-slip": 0.02,
    "cylinders": None,
}
LEAST = 3.0  # contrast of graphics, WCAG 2.1, 1.4.11
BODIES = 3.0  # wider lines are bodies or bars, which have outlines or words [pt]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_figure_is_fit_for_print(name):
    end = SCENARIOS[name]
    s = read_scenario(name, () if end is None else (f"solve.t_end={end}",))
    figures = figures_of(s.solve())
    for which in figures.default:
        figure = getattr(figures, which)()
        figure.draw_without_rendering()
        for ax in figure.axes:
            where = (which, ax.get_ylabel())
            assert shown(ax) > 0, where
            assert ax.get_xlabel() or not needs_label(ax), where
            for text in ax.texts:
                assert contrast(text.get_color()) >= LEAST, (*where, text.get_text())
            for colour in line_colours(ax):
                # white lines lie below others, or between rows of an image
                assert colour == (1.0, 1.0, 1.0) or contrast(colour) >= LEAST, (*where, colour)
        assert sum(ax.get_label() == "<colorbar>" for ax in figure.axes) <= 1, which
        if which == "multiplier":
            assert any(curved(line) for ax in figure.axes for line in ax.get_lines()), name


def contrast(colour, other="white"):
    """Return the ratio of luminances of two colours, from 1 to 21."""
    light = np.array([to_rgb(colour), to_rgb(other)])
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(light @ [0.2126, 0.7152, 0.0722])
    return (bright + 0.05) / (dark + 0.05)


def shown(ax):
    """Return how many artists of axes have finite data, or words, inside."""
    lines = sum(np.isfinite(np.asarray(line.get_ydata(), float)).any() for line in ax.get_lines())
    return lines + len(ax.collections) + len(ax.images) + len(ax.patches) + len(ax.texts)


def needs_label(ax):
    """Return whether numbers stand below axes."""
    ticks = ax.xaxis.get_major_ticks()
    return ax.name != "3d" and ax.axison and any(tick.label1.get_visible() for tick in ticks)


def curved(line):
    """Return whether a line has finite values at more than two places."""
    return np.isfinite(np.asarray(line.get_ydata(), dtype=float)).sum() > 2


def line_colours(ax):
    """Return the colours of the lines of axes, without those of bodies."""
    for line in ax.get_lines():
        if line.get_linestyle() != "None" and line.get_linewidth() < BODIES:
            yield to_rgb(line.get_color())
    for lines in ax.collections:
        widths = np.atleast_1d(lines.get_linewidth())
        if not lines.get_facecolor().size and widths.max(initial=0.0) < BODIES:
            yield from {tuple(rgba[:3]) for rgba in to_rgba_array(lines.get_edgecolor())}


@pytest.mark.parametrize("count", [2, 6, 7, 50])
def test_masses_differ_for_all_readers(count):
    """Contrast to white, and of few masses differences that colour-blind readers see."""
    colours = style.mass_colours(np.arange(1, count + 1), count)
    assert min(map(contrast, colours)) >= LEAST
    if count > len(style.MASS_COLOURS):
        light = [contrast(colour) for colour in colours]
        assert (np.diff(light) < 0.0).all()
        return
    for sight in SIGHTS.values():
        seen = [lab(sight, colour) for colour in colours]
        for i, one in enumerate(seen):
            for other in seen[:i]:
                assert np.linalg.norm(one - other) > 15.0


# Machado, Oliveira, Fernandes 2009, IEEE Trans. Vis. Comput. Graph. 15, 1291: severity 1
SIGHTS = {
    "all colours": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(sight, colour):
    """Return CIE L*a*b* of a colour as a reader sees it."""
    light = np.array(to_rgb(colour))
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    light = np.clip(np.asarray(sight) @ light, 0.0, 1.0)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ light / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])
