"""Tables in HTML: a fragment for the report, and a page of its own for ``snakemake --report``."""

from html import escape
from itertools import groupby

from fbde.reporting.tables import SIGNS, SMOKE, number

CSS = """
table.paper{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.82rem;line-height:1.25}
table.paper caption{text-align:left;caption-side:top;padding:.3rem 0;max-width:70rem}
table.paper th,table.paper td{padding:.15rem .45rem;text-align:right;white-space:nowrap}
table.paper thead th{border-bottom:2px solid currentColor;vertical-align:bottom}
table.paper th.block,table.paper th.part,table.paper th.metric{text-align:left;font-weight:600;vertical-align:top}
table.paper tr.part>td,table.paper tr.part>th.metric,table.paper tr.part>th.part{border-top:1px solid #8886}
table.paper tr.block>th.block,table.paper tr.block>td,
table.paper tr.block>th.metric,table.paper tr.block>th.part{border-top:2px solid #888}
table.paper thead th:first-child{text-align:left}
table.paper tr.variant{font-style:italic}
table.paper .print{display:block;color:#757575;font-size:.9em}
table.paper .extra{background:#8881}
.v-match{color:#00704f}.v-near{color:#8a5a00}.v-differs{color:#b03a00}.v-misprint{color:#8b3a6e}
"""
PAGE_CSS = "body{font:16px/1.4 system-ui,sans-serif;margin:1rem;color:#111;background:#fff}" + CSS
CLASSES = {"match": "v-match", "near": "v-near", "differs": "v-differs", "known misprint": "v-misprint"}


def page(title, body):
    """A self-contained page."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{PAGE_CSS}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def fragment(table):
    """The notes and the table element."""
    notes = [f'<p class="smoke"><strong>{escape(SMOKE)}</strong></p>'] if table.smoke else []
    notes += [f'<p class="note">{"<br>".join(map(escape, note.splitlines()))}</p>' for note in table.notes]
    heads = [f'<th scope="col">{escape(c)}</th>' for c in table.columns]
    heads += [f'<th scope="col" class="extra" title="not in the paper">{escape(c)}</th>' for c in table.extra]
    lines = [
        f'<table class="paper" id="table-{escape(table.name)}">',
        f"<caption>{escape(table.caption)} {escape(table.legend)}</caption>",
        f'<thead><tr><th scope="col" colspan="2">task</th><th scope="col">metric</th>{"".join(heads)}</tr></thead>',
        "<tbody>",
    ]
    for block, group in groupby(table.rows, key=lambda row: row.block):
        lines += _block(block, list(group), table)
    return "\n".join([*notes, *lines, "</tbody></table>"])


def _block(block, rows, table):
    lines, first = [], f'<th class="block" scope="rowgroup" rowspan="{len(rows)}">{escape(block)}</th>'
    for part, members in groupby(rows, key=lambda row: row.part):
        members = list(members)
        second = f'<th class="part" scope="rowgroup" rowspan="{len(members)}">{escape(part)}</th>'
        for row in members:
            kinds = ["block"] * bool(first) + ["part"] * bool(second) + ["variant"] * (row.variant != "published")
            cells = "".join(_cell(row.cells.get(c)) for c in table.columns)
            cells += "".join(_cell(row.cells.get(c), " extra") for c in table.extra)
            head = f'<th class="metric" scope="row">{escape(row.label)}</th>'
            lines.append(f'<tr class="{" ".join(kinds)}">{first}{second}{head}{cells}</tr>')
            first = second = ""
    return lines


def _cell(cell, kind=""):
    if cell is None:
        return f'<td class="{kind.strip()}">–</td>' if kind else "<td>–</td>"
    sign = SIGNS.get(cell.verdict, "")
    mean = f"<b>{number(cell.mean)}</b>" if cell.best else number(cell.mean)
    ours = f"{mean} ± {number(cell.std)} {sign}".rstrip() if cell.ran else "·"
    style = f"{CLASSES.get(cell.verdict, '')}{kind}".strip()
    note = f' title="{escape(cell.note, quote=True)}"' if cell.note else ""
    text = f'<td class="{style}"{note}>' if style else f"<td{note}>"
    text += f"<span>{ours}</span>"
    if cell.printed:
        printed = f"{number(cell.published_mean)} ± {number(cell.published_std)}"
        text += f'<span class="print">{f"<b>{printed}</b>" if cell.best_published else printed}</span>'
    return text + "</td>"


def plain(caption, header, rows, smoke=False):
    """A simple table from texts."""
    mark = f'<p class="smoke"><strong>{escape(SMOKE)}</strong></p>\n' if smoke else ""
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    body = "\n".join(
        f'<tr><th class="metric" scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(t)}</td>" for t in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'{mark}<table class="paper"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>"
    )
