"""Writing the tables: each as CSV, Markdown, LaTeX and HTML, and one LaTeX document that shows all of them."""

import pandas as pd

from fbde.files import write_table, write_text
from fbde.reporting import htmltables, latex, leveragetable
from fbde.reporting.tables import SIGNS, SMOKE, build_all, long_form, number


def write_all(scores, comparison, config, folder, missing=(), smoke=False):
    """Write every table into ``folder``; gives the paths."""
    written = write_leverages(scores, config, folder, smoke)
    tables = build_all(scores, comparison, config, missing, smoke)
    for table in tables:
        paths = [folder / f"{table.name}.{ending}" for ending in ("csv", "md", "tex", "html")]
        write_table(long_form(table).round(6), paths[0])
        write_text(paths[1], markdown(table))
        write_text(paths[2], latex.table(table))
        write_text(paths[3], htmltables.page(table.title, htmltables.fragment(table)))
        written += paths
    names = [leveragetable.NAME, *(table.name for table in tables)]
    write_text(folder / "all.tex", latex.document(names))
    return [*written, folder / "all.tex"]


def write_leverages(scores, config, folder, smoke=False):
    """The table of leverage schemes, which is theory and needs no run."""
    name, header = leveragetable.NAME, leveragetable.HEADER
    rows = leveragetable.rows(scores, config)
    paths = [folder / f"{name}.{ending}" for ending in ("csv", "md", "tex", "html")]
    write_table(pd.DataFrame(rows, columns=header), paths[0])
    head = [f"# {leveragetable.TITLE}", "", *([f"**{SMOKE}**", ""] if smoke else []), leveragetable.CAPTION, ""]
    write_text(paths[1], "\n".join(head) + "\n" + markdown_lines(header, rows))
    tex_rows = leveragetable.rows(scores, config, tex=True)
    write_text(paths[2], latex.plain(name, leveragetable.CAPTION, leveragetable.HEADER_TEX, tex_rows, smoke))
    body = htmltables.plain(leveragetable.CAPTION, header, rows, smoke)
    write_text(paths[3], htmltables.page(leveragetable.TITLE, body))
    return paths


def markdown(table):
    """A table in Markdown: the published number stands below ours."""
    lines = [f"# {table.title}", ""]
    lines += [f"**{SMOKE}**", ""] if table.smoke else []
    lines += [f"{table.caption} {table.legend}", ""]
    for note in table.notes:
        lines += [*(f"> {line}" for line in note.splitlines()), ""]
    columns = [*table.columns, *table.extra]
    header = ["task", "", "metric", *columns]
    rows, last = [], (None, None)
    for row in table.rows:
        block = row.block if row.block != last[0] else ""
        part = row.part if (row.block, row.part) != last else ""
        last = row.block, row.part
        rows.append([block, part, row.label, *(_markdown_cell(row.cells.get(column)) for column in columns)])
    return "\n".join(lines) + "\n" + markdown_lines(header, rows)


def markdown_lines(header, rows):
    """A Markdown table from a header and rows of texts."""
    texts = [[str(text).replace("|", r"\|") for text in row] for row in (header, *rows)]
    first, *others = (f"| {' | '.join(row)} |" for row in texts)
    rule = "|" + "---|" * len(header)
    return "\n".join([first, rule, *others]) + "\n"


def _markdown_cell(cell):
    if cell is None:
        return "–"
    sign = SIGNS.get(cell.verdict, "")
    mean = f"**{number(cell.mean)}**" if cell.best else number(cell.mean)
    ours = f"{mean} ± {number(cell.std)} {sign}".rstrip() if cell.ran else "·"
    return (
        f"{ours}<br><sub>{number(cell.published_mean)} ± {number(cell.published_std)}</sub>" if cell.printed else ours
    )
