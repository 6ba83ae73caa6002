"""`python -m research.report`: what papers say, what we measured, and whether our pages agree."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from kibitz.cli.output import JsonFlag, emit
from kibitz.core.errors import InputError
from kibitz.core.log import progress, say
from research.command import carry_out
from research.report.numbers import rewrite, rows
from research.report.pages import by_source, write_report
from research.report.results import Results, Row

app = App(name="report", help="Compare papers, results and pages.", result_action="return_value")


@app.default
def report(
    *,
    run: Annotated[
        tuple[str, ...], Parameter(help="Measure this again and keep the result; all for all.")
    ] = (),
    stored: Annotated[bool, Parameter(help="Repeat nothing, not even what takes seconds.")] = False,
    write: Annotated[bool, Parameter(help="Put measured numbers into our pages.")] = False,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder for report.md and .html.")
    ] = None,
    work: Annotated[
        Path | None, Parameter(help="Keep games and journals here: long measurements go on.")
    ] = None,
    root: Annotated[Path, Parameter(help="The project: README.md and docs/.")] = Path(),
    data: Annotated[str, Parameter(help="Folder of suites and games.")] = "../shared/data",
    json: JsonFlag = False,
) -> int:
    """Compare papers, results and our pages.

    Exit code 1 if a page says what no result says, or something could not be measured.

    Results are research/results/NAME.json, what they are for is research/results/report.toml.
    """
    folder = root / "research" / "results"
    if not folder.is_dir():
        raise InputError("no folder of results", value=str(folder), fix="give --root PROJECT")
    results = Results(folder, data, work)
    measures = results.catalogue.measure.items()
    quick = [name for name, measure in measures if measure.quick and not stored]
    again = list(results.catalogue.measure) if "all" in run else [*run]
    todo = [*again, *(name for name in quick if name not in again)]
    failed = False
    with progress("measuring", total=len(todo)) as bar:
        for name in bar.over(todo):
            bar.describe(name)
            failed |= not results.run(name, keep=name in again)
    if write:
        say(f"{rewrite(results, root)} numbers of our pages changed")
    papers, pages = rows(results, root)
    if output is not None:
        write_report(output, results, papers, pages)
    if json:
        everything = {"papers": papers, "pages": pages}
        listed = {kind: [row._asdict() for row in some] for kind, some in everything.items()}
        emit(listed, as_json=True)
    else:
        _print([*papers, *pages])
    return int(failed or any(row.bad for row in (*papers, *pages)))


def _print(rows: list[Row]) -> None:
    """A line for each figure; those without a result in red, and in capitals."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    for source, some in by_source(rows):
        console.print(Text(source, style="bold"))
        for row in (each for each in some if each.verdict != "given"):
            verdict = row.verdict.upper() if row.bad else row.verdict
            interval = f" ({row.interval})" if row.interval else ""
            values = f"{row.theirs or '-'} / {row.ours or '-'}{interval}"
            line = Text(
                f"  {verdict:15} {values:24} {row.what}",
                "red" if row.bad else "yellow" if row.verdict == "stale" else "",
            )
            console.print(line)
            if row.bad or row.verdict == "not measured":
                console.print(f"  {'':15} {row.command or 'no command'}", markup=False)
    counts = Counter(row.verdict for row in rows)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    sys.exit(carry_out(app))
