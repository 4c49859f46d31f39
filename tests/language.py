#!/usr/bin/env python3
"""Fails where prose (comments, texts in quotes, pages) has a turn of phrase that native readers stumble over, and lists each place."""

import io
import pathlib
import re
import subprocess
import sys
import tokenize

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

# One of these is in whatever a pattern finds; looking for them first takes a third of the time.
WORDS = dict(zip(PATTERNS, ((" no",), (" a ", " an "), ("tell", "told"), ("says", "said"), ("body",), ("knows",), ("of ",), (" many",)), strict=True))

# Names of files of earlier versions, which stay as they are: (file, pattern of the line).
ALLOWED = (("tests/data/make_old_files.sh", r"said"), ("tests/pipeline/chain/test_old_files.py", r"said/"))


def prose_of_cpp(text):
    """(number, text) of the comments and quoted texts of each line."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, " ".join(re.findall(r'"(?:\\.|[^"\\])*"', line)) + " " + "".join(re.findall(r"///?.*$", line))


def prose_of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def prose_of(path):
    text = path.read_text(errors="replace")
    if path.suffix in CODE:
        return prose_of_cpp(text)
    if path.suffix == ".py":
        return prose_of_python(text)
    return enumerate(text.splitlines(), 1)


def findings(path):
    name = str(path.relative_to(ROOT))
    for number, line in prose_of(path):
        small = line.lower()
        for what, pattern in PATTERNS.items():
            if any(word in small for word in WORDS[what]) and re.search(pattern, line, re.IGNORECASE) and not any(name == file and re.search(words, line) for file, words in ALLOWED):
                yield f"{name}:{number}: {what}: {line.strip()}"


def main(words):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *words], capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [ROOT / name for name in listed if name != "tests/language.py" and pathlib.Path(name).suffix in CODE | SCRIPTS | PAGES]
    found = [line for path in paths for line in findings(path)]
    print(*found, f"{len(found)} in {len(paths)} files", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
