"""The table in front of the log: every question with its date and its answer, newest first.

`python -m research.report.findings` writes it anew after an entry was added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kibitz.core.files import write_bytes
from kibitz.core.options import markdown_table

LOG = Path(__file__).parents[1] / "log"
HEADINGS = ("date", "question", "answer")  # of the table with which the page ends
ANSWER = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)  # an entry opens with it


class Finding(NamedTuple):
    """An entry of the log: `## DATE: QUESTION`, then its answer in bold."""

    file: str
    heading: str
    answer: str

    @property
    def anchor(self) -> str:
        """What its heading is linked by.

        >>> Finding("", "2020-01-01: how `so`, then?", "").anchor
        '2020-01-01-how-so-then'
        """
        return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", self.heading).strip().lower())


def findings(log: Path) -> Iterator[Finding]:
    """The entries of all months, newest first."""
    for path in sorted(log.glob("2*.md"), reverse=True):
        for entry in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            heading, _, text = entry.partition("\n")
            answer = ANSWER.match(text.strip())
            yield Finding(path.name, heading, answer[1] if answer else "")


def page(log: Path) -> str:
    """The page, with its table as the log is now."""
    before = (
        (log / "README.md").read_text(encoding="utf-8").partition(markdown_table(HEADINGS, ()))[0]
    )
    rows = []
    for finding in findings(log):
        date, _, question = finding.heading.replace("`", "").partition(": ")
        link = f"[{question}]({finding.file}#{finding.anchor})"
        rows.append((date, link, " ".join(finding.answer.split())))
    return before + markdown_table(HEADINGS, rows)


if __name__ == "__main__":
    write_bytes(LOG / "README.md", page(LOG).encode())
