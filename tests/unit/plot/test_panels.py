"""Panels of curves: lines, dots, keys and letters."""

import numpy as np

from stiction.plot.panels import Line, Panel, _columns, panels

X = np.linspace(0.1, 1.0, 50)


def test_panels_hold_their_lines():
    shown = [
        Panel("x", "y", [Line(X, X**2, "square"), Line(X, X**3, "cube", "--", 1.0)]),
        Panel("x", "y", [Line(X, X, "", "")], logarithmic=True, limits=(0.01, 10.0)),
        Panel("x", "y", [Line(X, X, shade=None)], limits=(0.0, 2.0)),
    ]
    figure = panels(shown)
    assert len(figure.axes) == 3
    first, second, third = figure.axes
    assert [len(ax.lines) for ax in figure.axes] == [2, 1, 1]
    np.testing.assert_allclose(first.lines[1].get_ydata(), X**3)
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["square", "cube"]
    assert second.get_xscale() == "log"
    assert second.get_xlim() == (0.01, 10.0)
    assert third.get_legend() is None
    assert third.get_xlim() == (0.0, 2.0)
    assert [text.get_text() for text in figure.texts] == ["(a)", "(b)", "(c)"]


def test_a_panel_by_itself_is_twice_as_wide_and_so_is_its_key():
    panel = Panel("x", "y", [Line(X, X, "a" * 16)])
    # letters of the row over those of a word with its sample, 22
    assert _columns(panel, 2) == 44 // 22
    assert _columns(panel, 1) == 92 // 22
