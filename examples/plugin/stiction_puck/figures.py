"""Figures of a puck, drawn from the data of a run."""

from stiction.plot import style
from stiction.plot.figures import Figures


class PuckFigures(Figures):
    """The figures of a puck."""

    NAMES = default = ("slide",)

    def slide(self):
        """Return the velocity against the way."""
        figure = style.new_figure(style.COLUMN, 2.2)
        ((ax,),) = style.grid(figure)
        x, v = (self.run.variables[name].values for name in ("x", "v"))
        ax.plot(x, v, color=style.INK)
        ax.set(xlabel="x (m)", ylabel="v (m/s)")
        return figure


figures_of = PuckFigures
