"""The reproduction report as Markdown and as one HTML page, with figures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from kibitz.core.files import write_bytes
from kibitz.core.options import markdown_table
from kibitz.train.curve import COLOURS, Line, Panel, draw
from research.report.numbers import counted
from research.report.results import Paper, Results, Row

TITLE = "What the papers say, and what Kibitz measures"
HEADINGS = {
    "paper": ("what", "paper", "Kibitz", "95 %", "verdict", "command"),
    "page": ("what", "page", "measured", "", "verdict", "command"),
}
STYLE = """body{font:15px/1.4 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{border-bottom:1px solid #ddd;padding:.2em .6em;text-align:left}
.bad{color:#b00020;font-weight:bold}.good{color:#1b6e20}code{font-size:85%}"""
GOOD = ("reproduced", "as measured")


def write_report(
    folder: Path, results: Results, papers: Sequence[Row], pages: Sequence[Row]
) -> None:
    """Write report.md, report.html and report.svg."""
    figure = figure_of(results)
    tables = [("paper", name, rows) for name, rows in by_source(papers)]
    shown = [row for row in pages if row.verdict != "given"]
    tables += [("page", name, rows) for name, rows in by_source(shown)]
    lines = [
        f"{name}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"
        for name, counts in counted(pages).items()
    ]
    marked = [f"# {TITLE}\n", "![paper and ours](report.svg)\n" if figure else ""]
    drawn = [f"<h1>{TITLE}</h1>", figure]
    for kind, name, rows in tables:
        headings = HEADINGS[kind]
        marked += [f"## {name}\n", markdown_table(headings, [_cells(row) for row in rows])]
        drawn += [f"<h2>{html.escape(name)}</h2>", _html(headings, rows)]
    title = "Where the numbers of our pages come from"
    marked += [f"## {title}\n", *(f"- {line}" for line in lines), ""]
    drawn += [f"<h2>{title}</h2><ul>", *(f"<li>{html.escape(line)}" for line in lines), "</ul>"]
    page = f"<!doctype html><meta charset=utf-8><title>{TITLE}</title><style>{STYLE}</style>"
    write_bytes(folder / "report.md", "\n".join(marked).encode())
    write_bytes(folder / "report.html", "\n".join([page, *drawn, ""]).encode())
    if figure:
        write_bytes(folder / "report.svg", figure.encode())


def by_source(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by paper or page, in their order."""
    return [(name, [*some]) for name, some in groupby(rows, key=lambda row: row.source)]


def _cells(row: Row) -> tuple[str, ...]:
    command = f"`{row.command}`" if row.command else ""
    verdict = f"**{row.verdict.upper()}**" if row.bad else row.verdict
    return (row.what, row.theirs, row.ours, row.interval, verdict, command)


def _html(headings: Sequence[str], rows: Sequence[Row]) -> str:
    parts = ["<table><tr>", *(f"<th>{html.escape(text)}" for text in headings)]
    for row in rows:
        kind = "bad" if row.bad else "good" if row.verdict in GOOD else ""
        texts = (row.what, row.theirs, row.ours, row.interval)
        parts += ["<tr>", *(f"<td>{html.escape(text)}" for text in texts)]
        parts.append(f'<td class="{kind}">{row.verdict}<td><code>{html.escape(row.command)}</code>')
    return "\n".join([*parts, "</table>"])


# --- the figure -----------------------------------------------------------------------------------


def figure_of(results: Results) -> str:
    """A panel for each chart: the paper's figures faint, ours beside them; empty without charts."""
    charts: dict[str, dict[str, list[Paper]]] = {}
    for item in results.papers:
        if item.chart:
            charts.setdefault(item.chart, {}).setdefault(item.series, []).append(item)
    names = [*dict.fromkeys(name for series in charts.values() for name in series)]
    colours = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}
    panels = []
    for title, series in charts.items():
        lines = []
        for name, items in series.items():
            lines.append(Line([(item.x, item.figure) for item in items], colours[name], faint=True))
            ours = [(item.x, _ours(item, results)) for item in items]
            points = [(x, value) for x, value in ours if value is not None]
            lines += [Line(points, colours[name])] if points else []
        panels.append(Panel(title, lines, ""))
    legend = [(f"{name or 'figure'}; the paper's faint", colours[name]) for name in names]
    return draw(panels, legend) if panels else ""


def _ours(item: Paper, results: Results) -> float | None:
    name, _, path = item.of.partition(":")
    value = results.value(name, path) if path else None
    return None if value is None else float(value)
