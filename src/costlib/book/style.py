"""How figures look: one style, drawn for light pages, recoloured for dark ones."""

import io
import re

__all__ = ["BLUE", "GREEN", "INK", "MUTED", "ORANGE", "PURPLE", "axes", "dark", "label", "svg"]

# Colours that stay apart for the colour-blind (Okabe and Ito), each with its twin for dark pages.
INK, MUTED, GRID = "#1f2328", "#59636e", "#d1d9e0"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#b84a00", "#00795a", "#a0408f"
_DARK = {
    INK: "#f0f3f6",
    MUTED: "#a9b3be",
    GRID: "#3d444d",
    BLUE: "#56b4e9",
    ORANGE: "#ff9d5c",
    GREEN: "#3dd6a3",
    PURPLE: "#e59bd6",
}
_STYLE = {
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.grid.which": "major",
    "axes.axisbelow": True,
    "axes.formatter.min_exponent": 5,  # 100, not ten to the second
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.8,
    "font.size": 10.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "costlib",  # the same figure is the same file
}


def axes(panels=1, **options):
    """A new figure and its axes, panels one above the next; options as for ``matplotlib.figure.Figure.subplots``."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update(_STYLE)
    # Not of pyplot, which takes long to load, and would show it at the end of the cell.
    drawn = Figure(figsize=(5.6, 3.7) if panels == 1 else (5.6, 3.1 * panels))
    return drawn, drawn.subplots(panels, 1, **options)


def label(ax, x, y, text, colour, offset, ha="left"):
    """Write a text beside the point (x, y), two quantities in the units of the axes, so many points away."""
    ax.annotate(
        text,
        (x.magnitude, y.magnitude),
        xytext=offset,
        textcoords="offset points",
        color=colour,
        ha=ha,
        annotation_clip=False,
    )


def svg(drawn):
    """A figure as SVG, the same bytes for the same figure."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    _write_powers_plainly(drawn)
    _join_minor_ticks(drawn)
    text = io.StringIO()
    # Not savefig, which first draws everything once more to see how large it is.
    FigureCanvasSVG(drawn).print_svg(text, metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _write_powers_plainly(drawn):
    """Label logarithmic axes with 10⁵ as a text; Matplotlib sets it as mathematics, label by label."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x, pos=None):
            text = re.sub(r"\$\\mathdefault\{(.*)\}\$", r"\1", super().__call__(x, pos)).replace(r"\times", "×")
            return re.sub(r"\^\{(.+?)\}", lambda power: power[1].translate(_RAISED), text)

    for axis in [axis for ax in drawn.axes for axis in (ax.xaxis, ax.yaxis)]:
        if axis.get_scale() == "log":
            if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
                axis.set_major_formatter(Powers(axis.get_transform().base))
            if isinstance(axis.get_minor_formatter(), LogFormatterSciNotation):
                axis.set_minor_formatter(Powers(axis.get_transform().base))


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _join_minor_ticks(drawn):
    """Draw all minor ticks of an axis as the markers of one line.

    They look the same. Matplotlib itself makes three lines and two texts of each, and
    places them anew ten times: most of the time of a figure with logarithmic axes.
    """
    from matplotlib import rcParams
    from matplotlib.lines import TICKDOWN, TICKLEFT, Line2D
    from matplotlib.ticker import NullLocator

    unlabelled = [
        (axis, places)
        for ax in drawn.axes
        for axis in (ax.xaxis, ax.yaxis)
        if len(places := axis.get_minorticklocs()) and not any(axis.get_minor_formatter().format_ticks(places))
    ]
    for axis, places in unlabelled:
        low, high = sorted(axis.get_view_interval())
        shown = places[(places >= low) & (places <= high)]
        name, along, across = axis.axis_name, shown, [0] * len(shown)
        ticks = Line2D(
            *((along, across) if name == "x" else (across, along)),
            linestyle="none",
            marker=TICKDOWN if name == "x" else TICKLEFT,
            markersize=axis.get_tick_params("minor").get("length", rcParams[f"{name}tick.minor.size"]),
            markeredgewidth=rcParams[f"{name}tick.minor.width"],
            color=rcParams[f"{name}tick.color"],
            transform=getattr(axis.axes, f"get_{name}axis_transform")("tick1"),
            zorder=axis.get_zorder(),
            clip_on=False,
            in_layout=False,
        )
        axis.axes.add_artist(ticks)
    for axis, _ in unlabelled:  # after all of them: axes that share a scale share its ticks
        axis.set_minor_locator(NullLocator())


def dark(image):
    """The SVG recoloured for a dark page."""
    for light, on_dark in _DARK.items():
        image = image.replace(light, on_dark)
    return image
