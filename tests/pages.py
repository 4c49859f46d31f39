#!/usr/bin/env python3
"""Fails where a page of the docs is too long, has a line that is too long, is not in the map, or has a link that leads nowhere; where a decision does
not begin with its state; and where the source names a page that is not there.

tests/pages.py        checks, and prints the words of each kind of page
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MAP = DOCS / "README.md"

MOST_CHARACTERS = 120  # in a line, outside of blocks of code and without addresses
MOST_LINES = 100  # in a guide, outside of blocks of code
MOST_WORDS = {"README.md": 900, "docs": 45000}  # the docs without their blocks of code
ROOMS = ("core", "sim", "histogram", "dataset", "nn", "train", "infer", "python", "tests", "bench", "docs", "pipelines", "packaging", "cmake")
SOURCES = (".cpp", ".hpp", ".py", ".sh", ".cmake", ".txt", ".env", ".ini")
STATE = re.compile(r"(In force|Superseded by \d{4})\b[^.]*\.")


def prose(text):
    """(number, line) outside of blocks of code."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def long_lines(text):
    """(number, characters) of lines that are too long; an address cannot be broken, and counts nothing."""
    lengths = ((number, len(re.sub(r"https?://[^\s)]+", "", line))) for number, line in prose(text))
    return [(number, length) for number, length in lengths if length > MOST_CHARACTERS]


def anchors(text):
    """The names that links to the headings of a page have, as GitHub makes them."""
    found, names = {}, set()
    for _, line in prose(text):
        if heading := re.fullmatch(r"#+ +(.*)", line):
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            count = found[name] = found.get(name, -1) + 1
            names.add(f"{name}-{count}" if count else name)
    return names


def links(text):
    """The targets of links to pages, pictures and headings of this repository."""
    plain = re.sub(r"`[^`\n]*`", "", "\n".join(line for _, line in prose(text)))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", plain) if "://" not in target]


def dead_links(page, text):
    for target in links(text):
        path, _, name = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            yield f"{target} is not there"
        elif name and name not in anchors(other.read_text() if path else text):
            yield f"{target}: the page has no such heading"


def faults_of(page, text):
    """What is wrong with one page."""
    name = page.relative_to(ROOT)
    lines = re.sub(r"(?m)^\|.*", "", text) if page.name == "CONTRIBUTING.md" else text  # its table of signposts is read by a test
    yield from (f"{name}:{number}: {length} characters, of which {MOST_CHARACTERS} are allowed" for number, length in long_lines(lines))
    yield from (f"{name}: {fault}" for fault in dead_links(page, text))
    count = len(list(prose(text)))
    if page.parent.name == "guides" and count > MOST_LINES:
        yield f"{name}: {count} lines, of which a guide may have {MOST_LINES}"
    if page.parent.name == "decisions" and not STATE.match(re.sub(r"^#[^\n]*\n+", "", text)):
        yield f'{name}: begin with "In force." or "Superseded by NNNN."'


def named_in_sources():
    """(source, page) for each page that code, help or an error names."""
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in SOURCES):
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b|\bdocs/decisions/\d{4}", path.read_text(errors="replace")):
            yield path.relative_to(ROOT), page


def main():
    pages = {page: page.read_text() for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]}
    faults = [fault for page, text in pages.items() for fault in faults_of(page, text)]
    for page in (ROOT / "CHANGELOG.md", ROOT / "packaging/README.md"):
        faults += faults_of(page, page.read_text())
    listed = {(MAP.parent / target.partition("#")[0]).resolve() for target in links(pages[MAP])}
    faults += [f"{MAP.relative_to(ROOT)} does not list {page.relative_to(ROOT)}" for page in pages
               if DOCS in page.parents and page != MAP and page.parent.name != "decisions" and page not in listed]
    faults += [f"{source}: {page} is not there" for source, page in named_in_sources()
               if not (ROOT / page).exists() and not list(ROOT.glob(f"{page}-*.md"))]
    words = {}
    for page, text in pages.items():
        kind = str(page.relative_to(ROOT).parent) if DOCS in page.parents else page.name
        counted = text if page.name == "README.md" and page.parent == ROOT else " ".join(line for _, line in prose(text))
        words[kind] = words.get(kind, 0) + len(counted.split())
    words["docs (all)"] = sum(number for kind, number in words.items() if kind.startswith("docs"))
    faults += [f"{name}: {words[kind]} words, of which {MOST_WORDS[name]} are allowed" for name, kind in (("README.md", "README.md"), ("docs", "docs (all)"))
               if words[kind] > MOST_WORDS[name]]
    # The rule itself must bite.
    long = "a" * (MOST_CHARACTERS + 1)
    assert long_lines(f"{long}\n```\n{long}\n```\nhttps://{long}\n") == [(1, MOST_CHARACTERS + 1)]
    assert anchors("# A `b-c` (d)\n## A\n## A\n") == {"a-b-c-d", "a", "a-1"} and list(dead_links(MAP, "[x](#y) [z](none.md)")) != []
    assert not STATE.match("In use.") and STATE.match("Superseded by 0027.")
    print(*faults, *(f"{number:6} words in {kind}" for kind, number in sorted(words.items())), sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
