#!/usr/bin/env python3
"""Fails where prose (comments, texts in quotes, pages) has a turn of phrase that native readers stumble over, and lists each place."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = {".cpp", ".hpp"}
SCRIPTS = {".py", ".sh", ".cmake", ".txt", ".ini", ".env"}
PAGES = {".md"}

UNITS = ("samples particles voxels cells bytes byte flop flops universes seconds planes ranks threads values numbers lines memory steps "
         "epochs files times messages rows weights channels batches shards spectra ms us s min minutes hours runs bits points modes slots "
         "copies passes counts sums operations calls words figures floats once twice [KMGT]i?B").split()
PER = ("side step rank second sample voxel cell thread universe batch process node epoch file particle mode layer channel core row plane line "
       "run host minute simulation shard dimension axis parameter weight value bin call chunk task machine model job element block").split()

PATTERNS = {
    '"is no X": say "is not a X"': r"(?<!there )(?<!here )\b(is|are|was|were|be) no\b(?! (longer|more|less|fewer|better|worse))",
    '"a" for "per"': rf"\b({'|'.join(UNITS)}) an? ({'|'.join(PER)})\b",
    '"tell": report, state, name, explain': r"\b(tell|tells|told|telling)\b",
    '"say": report, state, name, read': r"\b(says|said)\b",
    '"nobody", "somebody": name who': r"\b(nobody|somebody)\b",
    '"know": hold, have, record': r"\bknows\b",
    "a fragment with \"of\" as a definition": r"///<? Of [a-z]|///< of [a-z]|^\s*# Of [a-z]",
    '"so many", "as many" without "as"': r"\b(so|as) many\b(?! [a-z]* ?as)",
}

# Places that are right as they are: (file, the words around it).
ALLOWED = ()


def prose_of_code(line):
    """The comment and the quoted texts of a line of C++."""
    return " ".join(re.findall(r'"(?:\\.|[^"\\])*"', line)) + " " + "".join(re.findall(r"///?.*$", line))


def prose(path, line):
    return prose_of_code(line) if path.suffix in CODE else line


def findings(path):
    name = str(path.relative_to(ROOT))
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        for what, pattern in PATTERNS.items():
            for found in re.finditer(pattern, prose(path, line), re.IGNORECASE):
                if not any(name == file and words in line for file, words in ALLOWED):
                    yield f"{name}:{number}: {what}: {line.strip()}"


def main(words):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *words], capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [ROOT / name for name in listed if name != "tests/language.py" and pathlib.Path(name).suffix in CODE | SCRIPTS | PAGES]
    found = [line for path in paths for line in findings(path)]
    print(*found, f"{len(found)} in {len(paths)} files", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
