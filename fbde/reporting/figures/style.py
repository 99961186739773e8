"""One look for all figures: Okabe and Ito's colours, a marker and a line style for each, the same bytes each time."""

from dataclasses import dataclass, replace
from itertools import chain, cycle, product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fbde.files import atomic

ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE, BLACK = (
    "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000",
)  # fmt: skip
GREY = "#6b6b6b"
VERDICT_STYLES = {
    "match": (GREEN, "o"),
    "near": (ORANGE, "s"),
    "differs": (RED, "X"),
    "known misprint": (PURPLE, "P"),
    "not comparable": (BLUE, "D"),
}
SETTINGS = {
    "figure.dpi": 130,
    "savefig.dpi": "figure",  # panels are laid out once, so text must be as wide there as in the file
    "text.hinting": "no_hinting",  # hinted text would be wider or narrower in SVG and PDF
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "fbde",
    "svg.fonttype": "path",
    "pdf.fonttype": 3,  # 42 spends most of the time on subsetting fonts
    "path.simplify": True,
}
FORMATS = ("svg", "pdf", "png")
# Dates and versions would make the bytes differ from run to run.
METADATA = {
    "svg": {"Date": None, "Creator": "fbde"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "fbde", "Producer": "fbde"},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    filled: bool = True

    @property
    def face(self):
        return self.colour if self.filled else "white"


KNOWN = {
    "data": Look(BLACK, "*"),
    "shuffled": Look(GREY, "x"),
    "M-E-1.0": Look(BLUE, "o"),
    "M-E-0.9": Look(BLUE, "o", False),
    "M-R-1.0": Look(RED, "s"),
    "M-R-0.9": Look(RED, "s", False),
    "M-S-1.0": Look(GREEN, "^"),
    "M-S-0.9": Look(GREEN, "^", False),
    "MaxEnt": Look(ORANGE, "D"),
    "TabFairGAN": Look(PURPLE, "v"),
    "FairKMeans": Look(SKY, "P"),
    "FairConstraints": Look(SKY, "<"),
    "Reductions": Look(ORANGE, ">"),
    "FairGLM": Look(PURPLE, "h"),
    "Data": Look(BLACK, "*"),
}


_MARKERS = [("X", True), ("d", True), ("p", True), ("+", True), ("1", True), ("X", False), ("d", False), ("p", False)]
_COLOURS = [GREY, SKY, ORANGE, PURPLE, GREEN]
SPARE = [
    *(Look(colour, *marker) for marker, colour in zip(_MARKERS, cycle(_COLOURS), strict=False)),
    *(Look(colour, marker, filled) for filled, colour, marker in product((True, False), _COLOURS, "Xdp8Hv<>DP")),
]


def looks(methods):
    """A look for each method id: those of the paper's columns are fixed, others follow in the order of ``methods``.

    ``methods`` maps ids to their entries in the configuration. Our form of a method of the paper (the same file) has
    its marker, hollow. Others take a marker of their own as long as there is one, so that grey prints can be read.
    """
    bound = {name for name, entry in methods.items() if entry.get("tables")}  # must not look like its own column
    fixed = {name: KNOWN.get(name) or KNOWN.get(methods[name].get("paper")) for name in methods if name not in bound}
    found = {name: look for name, look in fixed.items() if look}
    by_file = {methods[name].get("file", name): look for name, look in found.items()}
    taken = {*KNOWN.values()}
    spare = chain((look for look in SPARE if look not in taken), cycle(SPARE))
    for name in sorted(methods.keys() - found.keys(), key=lambda name: (name in bound, list(methods).index(name))):
        known = None if name in bound else by_file.get(methods[name].get("file", name))
        hollow = known and replace(known, filled=False)
        found[name] = next(spare) if hollow in {None, *taken} else hollow
        taken.add(found[name])
    return found


def save(figure, folder, name, *, smoke=False):
    """Write a figure as SVG, PDF and PNG, and close it."""
    if smoke:
        figure.text(
            0.5, 0.5, "SMOKE RUN", ha="center", va="center", rotation=25, fontsize=44, color=RED, alpha=0.13, zorder=99
        )
    lay_out(figure)
    paths = []
    for ending in FORMATS:
        path = Path(folder) / f"{name}.{ending}"
        with atomic(path) as temporary:
            figure.savefig(temporary, format=ending, metadata=METADATA[ending])
        paths.append(path)
    plt.close(figure)
    return paths


def lay_out(figure):
    """Place the panels, once for all formats; labels settle in the second pass."""
    for _ in range(2):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def placeholder(title, reason):
    """What stands in for a figure whose data are missing: it says what is missing and why."""
    figure, axes = plt.subplots(figsize=(6, 1.9))
    axes.axis("off")
    axes.text(0.5, 0.72, title, ha="center", va="center", fontsize=10, weight="bold", wrap=True)
    axes.text(0.5, 0.3, f"Not drawn: {reason}", ha="center", va="center", fontsize=8.5, color=GREY, wrap=True)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    return figure


def legend_below(figure, handles, columns=None):
    """A legend under all panels, where it cannot cover data."""
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=columns or min(len(handles), 7))
