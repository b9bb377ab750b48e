"""The chart of the performance page: one panel a mode and layout, one row a layer."""

import io
import logging

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from performance_data import speed_up_text  # noqa: E402

FASTER = "#2f6fb2"
SLOWER = "#d9622b"
PEER = "#1f2328"
LIMIT = "#1a7f37"
QUIET = "#59636e"
WIDTH = 10.0  # inches; 960 pixels on a page
ROW = 0.165
TOP = 0.62
HEAD = 0.62  # above and below a panel's rows
GROUP_GAP = 0.7  # rows between two groups

STYLE = {
    # The text stays text: it can be searched, and needs no font in the file. Verdana has DejaVu Sans's widths.
    "svg.fonttype": "none",
    "svg.hashsalt": "tconv",  # the same figures give the same bytes
    "font.family": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 7.5,
    "axes.edgecolor": QUIET,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
}


def rows_of(results):
    """(position, result) downwards, with a gap where the group changes."""
    position = 0.0
    rows = []
    for before, result in zip([None] + results, results):
        if before is not None and before.group != result.group:
            position += GROUP_GAP
        rows.append((position, result))
        position += 1
    return rows


def draw_row(axes, position, result):
    tconv = result.tconv_ms / result.limit if result.tconv_ms and result.limit else None
    peer = result.peer_ms / result.limit if result.peer_ms and result.limit else None
    slower = result.speed_up is not None and result.speed_up < 1
    if tconv:
        axes.barh(position, tconv - 1, left=1, height=0.68, color=SLOWER if slower else FASTER, zorder=2)
    if peer:
        axes.plot(peer, position, marker="D", markersize=4, color=PEER, markeredgecolor="white",
                  markeredgewidth=0.5, zorder=4, clip_on=False)
    if tconv and peer:
        axes.plot([tconv, peer], [position, position], color=PEER, linewidth=0.6, zorder=3)
    words = speed_up_text(result.speed_up) if result.speed_up else "no tconv" if not result.tconv_ms else "no cuDNN"
    axes.text(1.012, position, words, transform=axes.get_yaxis_transform(), ha="left", va="center", fontsize=6.5,
              color=SLOWER if slower else QUIET if not result.speed_up else PEER)


def draw_panel(axes, mode, layout, results, with_names):
    rows = rows_of(results)
    for position, result in rows:
        draw_row(axes, position, result)
    axes.axvline(1, color=LIMIT, linewidth=1.4, zorder=5)
    axes.set_title(f"{mode}, {layout}", loc="left", fontsize=9, fontweight="bold", pad=4)
    axes.text(1.012, 1, "speed-up", transform=axes.transAxes, ha="left", va="bottom", fontsize=6.5, color=QUIET)
    axes.set_ylim(rows[-1][0] + 0.8, -0.8)
    axes.set_yticks([position for position, _ in rows])
    axes.set_yticklabels([result.layer if with_names else "" for _, result in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color="#d1d9e0", linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def legend_entries():
    return [
        Patch(color=FASTER, label="tconv"),
        Patch(color=SLOWER, label="tconv, slower than cuDNN"),
        Line2D([], [], color=PEER, marker="D", markersize=3.6, linewidth=0.6, label="cuDNN"),
        Line2D([], [], color=LIMIT, linewidth=1.4, label="limit of the device"),
    ]


def set_range(all_axes, results):
    """One range for all panels, so that they can be compared."""
    ratios = [ms / r.limit for r in results if r.limit for ms in (r.tconv_ms, r.peer_ms) if ms]
    low, high = min(ratios + [1]), max(ratios + [2])
    for axes in all_axes:
        axes.set_xlim(low / 1.06, high * 1.08)


def place_panels(figure, panels, height):
    """Draws the panels in two columns from the top downwards."""
    left, gap, right = 1.25, 0.62, 0.55
    all_axes = []
    y = height - TOP
    for line in lines_of(panels):
        names = [r.layer for r in line[0][2]]
        same = all([r.layer for r in results] == names for _, _, results in line)
        column_gap = gap if same else left + gap - 0.2
        columns = min(2, len(panels))
        width = (WIDTH - left - right - column_gap * (columns - 1)) / columns
        y -= line_height(line) + HEAD / 2
        for column, (mode, layout, results) in enumerate(line):
            x = left + column * (width + column_gap)
            axes = figure.add_axes((x / WIDTH, y / height, width / WIDTH, line_height(line) / height))
            draw_panel(axes, mode, layout, results, with_names=column == 0 or not same)
            all_axes.append(axes)
        y -= HEAD / 2
    return all_axes


def lines_of(panels):
    return [panels[i:i + 2] for i in range(0, len(panels), 2)]


def line_height(line):
    return max(rows_of(results)[-1][0] + 1.6 for _, _, results in line) * ROW


def chart_figure(panels, device_name):
    """The whole chart; to be called within STYLE."""
    height = TOP + sum(line_height(line) + HEAD for line in lines_of(panels))
    figure = pyplot.figure(figsize=(WIDTH, height))
    all_axes = place_panels(figure, panels, height)
    set_range(all_axes, [r for _, _, results in panels for r in results])
    figure.text(0.02, 1 - 0.12 / height, f"Time of a layer over its limit on {device_name} (log scale, shorter is better)",
                va="top", fontsize=10, fontweight="bold", color=PEER)
    figure.legend(handles=legend_entries(), loc="upper left", bbox_to_anchor=(0.012, 1 - 0.3 / height), ncol=4,
                  frameon=False, fontsize=8)
    return figure


def chart_svg(panels, device_name):
    """The chart as SVG text; None when no result has a time and a limit."""
    drawn = [(mode, layout, results) for mode, layout, results in panels
             if any(r.limit and (r.tconv_ms or r.peer_ms) for r in results)]
    if not drawn:
        return None
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a font that is not here is no error
    with matplotlib.rc_context(STYLE):
        figure = chart_figure(drawn, device_name)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return text.getvalue()
