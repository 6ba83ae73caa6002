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
ALONE = re.compile(rf"(?<![\w.,/+-]){NUMBER}(?!\w|[.,-]\w)")  # no part of a word
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORD = rf"\b(?:{'|'.join(WORDS)}|eleven|twelve|twenty|fifty|hundred)\b"
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
    papers = [of_paper(one, results) for one in results.papers]
    files = {path for pattern in PAGES for path in root.glob(pattern)}
    found = [row for path in sorted(files) for row in _Page(path, results, root).rows()]
    catalogue = results.catalogue
    kinds = (results.sentences, catalogue.logged, catalogue.given)
    named = {one.file for kind in kinds for one in kind}
    missing = sorted(named - {path.relative_to(root).as_posix() for path in files})
    found += [Row(name, "no such page", "", "", "", "not in the text", "") for name in missing]
    return papers, found


class _Page:
    """A page, and which of its characters are accounted for."""

    def __init__(self, path: Path, results: Results, root: Path) -> None:
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self._results, self._root = results, root
        self._taken: list[tuple[int, int]] = []  # by sentences that are measured or logged
        self._measures: list[tuple[int, str]] = []  # where a sentence stands, and its command
        self._words: list[tuple[int, int]] = []  # given by their words
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
        found = re.search(_pattern(item.text), self.text)
        if found is None:
            yield self._row(item.text, "", "", "not in the text", command)
            return
        self._taken.append(found.span())
        self._measures.append((found.start(), command))
        for at, (path, form) in enumerate(PLACE.findall(item.text), start=1):
            value = self._results.value(item.of, path)
            measured = "" if value is None else written(value, form)
            same: Verdict = (doubt or "as measured") if found[at] == measured else "differs"
            verdict: Verdict = "no result" if value is None else same
            yield self._row(path, found[at], measured, verdict, command)

    def _logged(self, item: Logged) -> Iterator[Row]:
        entry = _entry(self._root, item.entry)
        found = re.search(_words(item.text), self.text)
        if found is None:
            yield self._row(item.text, "", "", "not in the text")
            return
        self._taken.append(found.span())
        known = set(re.findall(NUMBER, entry))
        for number in re.findall(NUMBER, CODE.sub("", found[0])):
            same: Verdict = "as logged" if number in known else "not in the log"
            yield self._row(item.entry, number, number if number in known else "", same)

    def _given(self, item: Given) -> Iterator[Row]:
        for text in item.text:
            found = [one.span() for one in re.finditer(_words(text), self.text)]
            if not found:
                yield self._row(text, "", "", "not in the text")
            self._words += found
        if item.text:
            return
        ends = [*(one.start() for one in HEADING.finditer(self.text)), len(self.text)]
        headings = {one[1].replace("`", ""): one.start() for one in HEADING.finditer(self.text)}
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
        plain = CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), self.text)
        shares = (found for found in SHARE.finditer(plain) if found[1] != "one")
        for found in sorted((*ALONE.finditer(plain), *shares), key=lambda found: found.start(1)):
            at, end = found.span(1)
            beside = MEASURED.match(plain, end) or plain[:at].rstrip(" ").endswith(("±", "+/-"))
            if _inside(at, self._taken):
                continue
            line = self.text.count("\n", 0, at) + 1
            around = " ".join(self.text[max(0, at - 30) : end + 30].split())
            given = _inside(at, self._words) or (_inside(at, self._loose) and not beside)
            verdict: Verdict = "given" if given else "no source"
            yield self._row(f"line {line}: {around}", found[1], "", verdict)

    def _commands(self) -> Iterator[Row]:
        """Commands beside measured numbers of their kind that are not those that made them."""
        ends = [*(one.start() for one in HEADING.finditer(self.text)), len(self.text)]
        for low, high in pairwise([0, *ends]):
            there = (one for at, one in self._measures if low <= at < high)
            made = [parts_of(one) for one in dict.fromkeys(there)]
            kinds = {kind for kind, words in made if words}
            for found in COMMAND.finditer(self.text, low, high):
                kind, words = parts_of(found[1].replace("\\\n", " "))
                if words and kind in kinds and (kind, words) not in made:
                    theirs = "; ".join(" ".join(sorted(one)) for name, one in made if name == kind)
                    what = f"the page's command: {found[1]}"
                    yield self._row(what, " ".join(sorted(words)), theirs, "other command")


def parts_of(command: str) -> tuple[str, frozenset[str]]:
    """The kind of a command, and what else decides its numbers: flags, files without folders.

    >>> parts_of("kibitz suite {data}/x.epd --nodes 5 -o y --json")[1] == {"x.epd", "--nodes 5"}
    True
    """
    try:
        words = shlex.split(command)
    except ValueError:  # not whole
        words = command.split()
    size = 4 if words[:1] == ["python"] else 3 if words[1:2] in (["bench"], ["puzzle"]) else 2
    kind, rest = words[:size], [one.rpartition("/")[2] for one in words[size:] if one != "--json"]
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
        found = re.search(_pattern(item.text), text)
        places = PLACE.findall(item.text)
        if found is None or results.of(item.of) is None:
            continue
        for at in range(len(places), 0, -1):  # from the end, so that earlier places stay
            path, form = places[at - 1]
            value = results.value(item.of, path)
            new = found[at] if value is None else written(value, form)
            count += new != found[at]
            text = text[: found.start(at)] + new + text[found.end(at) :]
        write_bytes(page, text.encode())
    return count


def written(value: Any, form: str) -> str:
    """A number as pages write it: a thousands separator _ becomes a blank, % gets one before it.

    >>> written(15000, "_"), written(0.5, ".0%"), written(10, "word"), written(11, "word")
    ('15 000', '50 %', 'ten', '11')
    """
    if form == "word":
        return WORDS[value] if value < len(WORDS) else str(value)
    return format(value, form).replace("_", " ").replace("%", " %")


def _pattern(text: str) -> str:
    """A regular expression for a sentence with places; lines may be broken elsewhere."""
    return IN_PLACE.join(_words(part) for part in PLACE.split(text)[::3])


def _words(text: str) -> str:
    """A regular expression for words; lines may be broken elsewhere."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


def _entry(root: Path, begins: str) -> str:
    """The entry of the log whose heading begins so; nothing without one, or without a command."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(root.glob(LOG)))
    entries = re.split(r"^## ", text, flags=re.M)[1:]
    found = next((entry for entry in entries if entry.startswith(begins)), "")
    return found if "`" in found or "\n    " in found else ""


def counted(rows: Sequence[Row]) -> Mapping[str, Mapping[str, int]]:
    """How many numbers of each page have which verdict."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        page = counts.setdefault(row.source, {})
        page[row.verdict] = page.get(row.verdict, 0) + 1
    return counts
