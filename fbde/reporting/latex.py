"""Tables in LaTeX (booktabs), in the paper's layout: groups turned by 90 degrees, metrics, one column per method.

Our numbers are coloured by verdict; the published ones stand below them in grey. Columns that are not in
the paper follow in tables of their own, so that the first one keeps the paper's width.
"""

from itertools import groupby, product

from fbde.reporting.tables import SMOKE, number

WIDTH, BLOCKS = 8, 4  # columns of methods and tasks in one table, as in print
COLOURS = {
    "match": "verdictmatch",
    "near": "verdictnear",
    "differs": "verdictdiffers",
    "known misprint": "verdictmisprint",
}
LEGEND = (
    r"Ours $\pm$ std, the published number below in grey. "
    r"\textcolor{verdictmatch}{Match}, \textcolor{verdictnear}{near}, \textcolor{verdictdiffers}{differs}, "
    r"\textcolor{verdictmisprint}{known misprint}; bold: best of the row, data and controls left out."
)
PREAMBLE = r"""\documentclass[9pt]{extarticle}
\usepackage[a4paper,margin=1.2cm]{geometry}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,multirow,graphicx,xcolor,amsmath,adjustbox}
\definecolor{verdictmatch}{HTML}{00704F}
\definecolor{verdictnear}{HTML}{8A5A00}
\definecolor{verdictdiffers}{HTML}{B03A00}
\definecolor{verdictmisprint}{HTML}{8B3A6E}
\definecolor{printgrey}{gray}{0.45}
"""
METRIC_TEX = {
    "SR_c": r"$\mathrm{SR}_{\mathrm{c}}$",
    "cPR": r"$\mathrm{PR}_{\mathrm{clus}}$",
    "cSR": r"$\mathrm{SR}_{\mathrm{clus}}$",
    "time": "time (s)",
}
ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{",
           "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "τ": r"$\tau$", "θ": r"$\theta$",
           "ε": r"$\varepsilon$",
           "Σ": r"$\Sigma$", "−": r"$-$", "≥": r"$\geq$", "é": r"\'e"}  # fmt: skip


def escape(text):
    """A plain text as TeX."""
    return "".join(ESCAPES.get(letter, letter) for letter in text)


def document(names, folder="."):
    """A document that shows the tables with these names; compile it beside them."""
    pages = [rf"\input{{{name}}}" + "\n" + r"\clearpage" for name in names]
    return "\n".join([PREAMBLE + r"\begin{document}", *pages, r"\end{document}", ""])


def table(found):
    """One table of the paper, and further ones for columns that are not in it and for more tasks than fit a page."""
    columns = [*found.columns, *found.extra]
    first = len(found.columns) or WIDTH
    chunks = [columns[:first]] + [columns[i : i + WIDTH] for i in range(first, len(columns), WIDTH)]
    blocks = list(dict.fromkeys(row.block for row in found.rows))
    texts = []
    for start, chunk in product(range(0, len(blocks), BLOCKS), chunks):
        shown = blocks[start : start + BLOCKS]
        rows = [row for row in found.rows if row.block in shown and any(column in row.cells for column in chunk)]
        if rows:
            texts.append(_tabular(found, chunk, rows, len(texts)))
    return "\n".join(texts)


def _tabular(found, columns, rows, index):
    continued = r" \emph{Methods that are not in the paper.}" if index and found.columns else ""
    label = f"tab:{found.name}" + (f":{index}" if index else "")
    caption = f"{escape(found.caption)}{continued} {LEGEND if found.columns else escape(found.legend)}"
    width = len(columns) + 3
    lines = _head(label, caption, found.smoke, "llr" + "c" * len(columns), found.notes)
    lines += [" & ".join(["", "", "", *(rf"\textsc{{{escape(c)}}}" for c in columns)]) + r" \\", r"\midrule"]
    blocks = [(block, list(group)) for block, group in groupby(rows, key=lambda row: row.block)]
    for number_of_block, (block, group) in enumerate(blocks):
        lines += [r"\midrule"] if number_of_block else []
        height = sum(_height(row, columns) for row in group)
        parts = [(part, list(members)) for part, members in groupby(group, key=lambda row: row.part)]
        for k, (part, members) in enumerate(parts):
            lines += [rf"\cmidrule(l{{5pt}}){{2-{width}}}"] if k else []
            first = _turned(block, height) if k == 0 else ""
            lines += _part(first, part, members, columns)
    return "\n".join([*lines, *_foot()])


def _head(label, caption, smoke, columns, notes=()):
    mark = rf"\textbf{{{escape(SMOKE)}}} " if smoke else ""
    said = "".join(" " + escape(line) for note in notes for line in note.splitlines())
    return [
        r"\begin{table*}[p]",
        rf"\caption{{{mark}{caption}{said}}}",
        rf"\label{{{label}}}",
        r"\centering",
        r"\begin{adjustbox}{max width=\textwidth,max totalheight=0.88\textheight}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
    ]


def _foot():
    return [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}", r"\end{table*}", ""]


def _part(first, part, members, columns):
    """The lines of one group of metrics; ``first`` goes into the first column of the first line."""
    height = sum(_height(row, columns) for row in members)
    second = _turned(part, height, 1) if height > 2 else escape(part)
    lines = []
    for row in members:
        cells = [row.cells.get(column) for column in columns]
        ours = [first, second, _metric(row), *map(_ours, cells)]
        lines.append(" & ".join(ours) + r" \\")
        if _height(row, columns) == 2:
            lines.append(" & ".join(["", "", "", *map(_printed, cells)]) + r" \\")
        first = second = ""
    return lines


def _height(row, columns):
    """A row takes two lines if something of it is in print."""
    return 2 if any(row.cells[column].printed for column in columns if column in row.cells) else 1


def _turned(text, height, lines_per_word=None):
    if lines_per_word is None and height <= 4:  # too low for a turned title
        return rf"\multirow{{{height}}}{{*}}{{{escape(text)}}}"
    return rf"\multirow{{{height}}}{{*}}{{\rotatebox[origin=c]{{90}}{{{escape(text)}}}}}"


def _metric(row):
    name = METRIC_TEX.get(row.metric, rf"$\mathrm{{{row.metric}}}$")
    return name if row.variant == "published" else rf"\emph{{{name}, {escape(row.variant)}}}"


def _ours(cell):
    if cell is None:
        return "$-$"
    if not cell.ran:
        return r"$\cdot$"
    mean = rf"\mathbf{{{number(cell.mean)}}}" if cell.best else number(cell.mean)
    text = rf"${mean} \pm {number(cell.std)}$"
    colour = COLOURS.get(cell.verdict)
    return rf"\textcolor{{{colour}}}{{{text}}}" if colour else text


def _printed(cell):
    if cell is None or not cell.printed:
        return ""
    return rf"\textcolor{{printgrey}}{{${number(cell.published_mean)} \pm {number(cell.published_std)}$}}"


def plain(name, caption, header, rows, smoke=False):
    """A table whose entries are TeX already, but for the first column."""
    lines = _head(f"tab:{name}", escape(caption), smoke, "l" + "c" * (len(header) - 1))
    lines += [" & ".join(header) + r" \\", r"\midrule"]
    lines += [" & ".join([escape(row[0]), *row[1:]]) + r" \\" for row in rows]
    return "\n".join([*lines, *_foot()])
