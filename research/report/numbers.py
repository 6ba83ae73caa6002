"""The numbers of our own pages: each is measured, logged, given, or it has no source.

A section with measured numbers that names a command of their kind must name theirs.

*Measured*: a result has it. *Logged*: a dated entry of the log has it, with its command. *Given*:
no measurement makes it (a setting, a format, a formula, another's figure). Any other is reported.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kibitz.core.files import write_bytes
from research.report.results import Given, Logged, Results, Row, Sentence, Verdict, of_paper

PAGES = (
    *("README.md", "research/README.md", "research/contempt/README.md"),
    *("docs/*.md", "docs/examples/*.md"),
)
LOG = "research/log/*.md"  # no such pages: entries are dated, each as true as it was
PLACE = re.compile(r"\{([^{}|]+)(?:\|([^{}]*))?\}")  # of a measured number in a sentence
CODE = re.compile(r"<!--.*?-->|```.*?```|`[^`]*`|\]\([^)]*\)|^    .*?$", re.S | re.M)
NUMBER = r"([-+]?\d+(?:[.,]\d+)*(?: \d{3}\b)*(?: %)?)"
SINGLE = re.compile(rf"(?<![\w.,/+-]){NUMBER}(?!\w|[.,-]\w)")  # no part of a word
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORD = rf"\b(?:{'|'.join(NAMES)}|eleven|twelve|twenty|fifty|hundred)\b"
# Shares in words, "four of 59", "ten of ten"; "one of two" is no number.
SHARE = re.compile(rf"({WORD}) (?:out )?of (?:the |all )?(?:{WORD}|\d)")
IN_PLACE = f"{NUMBER[:-1]}|{WORD})"  # a measured number, also as a word
# A command in a line of its own or in a sentence, and what it leaves behind.
COMMAND = re.compile(r"(?:`|^)((?:kibitz|python -m research)[. ](?:\\\n|[^`\n])+)(?:`|$)", re.M)
OUTPUTS = ("--folder", "-o", "--output")
HEADING = re.compile(r"^#+ +(.*?)\s*$", re.M)
# What stands beside a number only if somebody measured it, so that no section can be given with it.
MEASURED = re.compile(r"\s*(?:±|\+/-|Elo\b|\w*/s\b|[\w ]{0,12}\ba second\b)")


def rows(results: Results, root: Path) -> tuple[list[Row], list[Row]]:
    """The figures of papers, and the numbers of our pages below a folder."""
    papers = [of_paper(item, results) for item in results.papers]
    files = {path for pattern in PAGES for path in root.glob(pattern)}
    listed = [row for path in sorted(files) for row in _Page(path, results, root).rows()]
    catalogue = results.catalogue
    kinds = (results.sentences, catalogue.logged, catalogue.given)
    named = {item.file for kind in kinds for item in kind}
    missing = sorted(named - {path.relative_to(root).as_posix() for path in files})
    listed += [Row(name, "no such page", "", "", "", "not in the text", "") for name in missing]
    return papers, listed


class _Page:
    """A page, and which of its characters are accounted for."""

    def __init__(self, path: Path, results: Results, root: Path) -> None:
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self._results, self._root = results, root
        self._taken: list[tuple[int, int]] = []  # by sentences that are measured or logged
        self._measures: list[tuple[int, str]] = []  # where a sentence stands, and its command
        self._spans: list[tuple[int, int]] = []  # given by their words
        self._loose: list[tuple[int, int]] = []  # given by their section, if not plainly measured

    def rows(self) -> Iterator[Row]:
        """Its numbers that are measured or logged, and those without a source."""
        catalogue = self._results.catalogue
        for sentence in self._results.sentences:
            if sentence.file == self.name:
                yield from self._measured(sentence)
        for logged in catalogue.logged:
            if logged.file == self.name:
                yield from self._logged(logged)
        for given in catalogue.given:
            if given.file == self.name:
                yield from self._given(given)
        yield from self._others()
        yield from self._commands()

    def _row(self, what: str, says: str, ours: str, verdict: Verdict, command: str = "") -> Row:
        return Row(self.name, what, says, ours, "", verdict, command)

    def _measured(self, item: Sentence) -> Iterator[Row]:
        command, doubt = self._results.command(item.of), self._results.doubt(item.of)
        match = re.search(_pattern(item.text), self.text)
        if match is None:
            yield self._row(item.text, "", "", "not in the text", command)
            return
        self._taken.append(match.span())
        self._measures.append((match.start(), command))
        for at, (path, form) in enumerate(PLACE.findall(item.text), start=1):
            value = self._results.value(item.of, path)
            measured = "" if value is None else written(value, form)
            same: Verdict = (doubt or "as measured") if match[at] == measured else "differs"
            verdict: Verdict = "no result" if value is None else same
            yield self._row(path, match[at], measured, verdict, command)

    def _logged(self, item: Logged) -> Iterator[Row]:
        entry = _entry(self._root, item.entry)
        match = re.search(_text_pattern(item.text), self.text)
        if match is None:
            yield self._row(item.text, "", "", "not in the text")
            return
        self._taken.append(match.span())
        numbers = set(re.findall(NUMBER, entry))
        for number in re.findall(NUMBER, CODE.sub("", match[0])):
            same: Verdict = "as logged" if number in numbers else "not in the log"
            yield self._row(item.entry, number, number if number in numbers else "", same)

    def _given(self, item: Given) -> Iterator[Row]:
        for text in item.text:
            spans = [match.span() for match in re.finditer(_text_pattern(text), self.text)]
            if not spans:
                yield self._row(text, "", "", "not in the text")
            self._spans += spans
        if item.text:
            return
        ends = [*(match.start() for match in HEADING.finditer(self.text)), len(self.text)]
        headings = {at[1].replace("`", ""): at.start() for at in HEADING.finditer(self.text)}
        for name in item.section:
            start = headings.get(name.replace("`", ""))
            if start is None:
                yield self._row(f"# {name}", "", "", "not in the text")
            else:
                self._loose.append((start, next(end for end in ends if end > start)))
        if not item.section:
            self._loose.append((0, len(self.text)))

    def _others(self) -> Iterator[Row]:
        """Numbers that are given, or that nothing accounts for, with the line they stand in."""
        plain = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        shares = (match for match in SHARE.finditer(plain) if match[1] != "one")
        for match in sorted((*SINGLE.finditer(plain), *shares), key=lambda match: match.start(1)):
            at, end = match.span(1)
            beside = MEASURED.match(plain, end) or plain[:at].rstrip(" ").endswith(("±", "+/-"))
            if _inside(at, self._taken):
                continue
            line = self.text.count("\n", 0, at) + 1
            around = " ".join(self.text[max(0, at - 30) : end + 30].split())
            given = _inside(at, self._spans) or (_inside(at, self._loose) and not beside)
            verdict: Verdict = "given" if given else "no source"
            yield self._row(f"line {line}: {around}", match[1], "", verdict)

    def _commands(self) -> Iterator[Row]:
        """Commands beside measured numbers of their kind that are not those that made them."""
        ends = [*(match.start() for match in HEADING.finditer(self.text)), len(self.text)]
        for low, high in pairwise([0, *ends]):
            there = (command for at, command in self._measures if low <= at < high)
            made = [parts_of(command) for command in dict.fromkeys(there)]
            kinds = {kind for kind, flags in made if flags}
            for match in COMMAND.finditer(self.text, low, high):
                kind, flags = parts_of(match[1].replace("\\\n", " "))
                if flags and kind in kinds and (kind, flags) not in made:
                    theirs = "; ".join(
                        " ".join(sorted(each)) for name, each in made if name == kind
                    )
                    what = f"the page's command: {match[1]}"
                    yield self._row(what, " ".join(sorted(flags)), theirs, "other command")


def parts_of(command: str) -> tuple[str, frozenset[str]]:
    """The kind of a command, and what else decides its numbers: flags, files without folders.

    >>> parts_of("kibitz suite {data}/x.epd --nodes 5 -o y --json")[1] == {"x.epd", "--nodes 5"}
    True
    """
    try:
        tokens = shlex.split(command)
    except ValueError:  # not whole
        tokens = command.split()
    size = 4 if tokens[:1] == ["python"] else 3 if tokens[1:2] in (["bench"], ["puzzle"]) else 2
    rest = [token.rpartition("/")[2] for token in tokens[size:] if token != "--json"]
    kind = tokens[:size]
    said, given = set[str](), False
    for word, after in pairwise([*rest, ""]):
        valued, given = given, word.startswith("-") and after[:1] not in ("-", "")
        if not valued and word not in OUTPUTS:
            said.add(f"{word} {after}" if given else word)
    return " ".join(kind), frozenset(said)


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    return any(low <= at < high for low, high in spans)


def rewrite(results: Results, root: Path) -> int:
    """Put measured numbers into our pages where others stand; returns how many."""
    count = 0
    for item in results.sentences:
        page = root / item.file
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        match = re.search(_pattern(item.text), text)
        places = PLACE.findall(item.text)
        if match is None or results.of(item.of) is None:
            continue
        for at in range(len(places), 0, -1):  # from the end, so that earlier places stay
            path, form = places[at - 1]
            value = results.value(item.of, path)
            new = match[at] if value is None else written(value, form)
            count += new != match[at]
            text = text[: match.start(at)] + new + text[match.end(at) :]
        write_bytes(page, text.encode())
    return count


def written(value: Any, form: str) -> str:
    """A number as pages write it: a thousands separator _ becomes a blank, % gets one before it.

    >>> written(15000, "_"), written(0.5, ".0%"), written(10, "word"), written(11, "word")
    ('15 000', '50 %', 'ten', '11')
    """
    if form == "word":
        return NAMES[value] if value < len(NAMES) else str(value)
    return format(value, form).replace("_", " ").replace("%", " %")


def _pattern(text: str) -> str:
    """A regular expression for a sentence with places; lines may be broken elsewhere."""
    return IN_PLACE.join(_text_pattern(part) for part in PLACE.split(text)[::3])


def _text_pattern(text: str) -> str:
    """A regular expression for words; lines may be broken elsewhere."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


def _entry(root: Path, begins: str) -> str:
    """The entry of the log whose heading begins so; nothing without one, or without a command."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(root.glob(LOG)))
    entries = re.split(r"^## ", text, flags=re.M)[1:]
    entry = next((each for each in entries if each.startswith(begins)), "")
    return entry if "`" in entry or "\n    " in entry else ""


def counted(rows: Sequence[Row]) -> Mapping[str, Mapping[str, int]]:
    """How many numbers of each page have which verdict."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        page = counts.setdefault(row.source, {})
        page[row.verdict] = page.get(row.verdict, 0) + 1
    return counts
