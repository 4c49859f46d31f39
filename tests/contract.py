#!/usr/bin/env python3
"""Fails where a name that the page of formats promised at c3349949 is no longer named there, or is in no program: files, datasets,
attributes, columns, keys, options; and where an option of an earlier version should be gone by now.

tests/contract.py                   checks the list tests/data/contract-c3349949.txt, which has all names of 6b25ecf, too
tests/contract.py --extract [FILE]  prints the names of the page as it is, or of a FILE; made that list from the page at c3349949
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/formats.md"
LIST = ROOT / "tests/data/contract-c3349949.txt"
PROGRAMS = ("core", "sim", "histogram", "dataset", "nn", "train", "infer", "python")

NAME = r"[A-Za-z]\w*"
FILE = r"[\w./-]*[\w-]+\.(?:json|jsonl|csv|h5|hdf5|svg|npy|tfrecord)|\.lock"
# What looks like a name and is not: symbols, units, placeholders.
OTHERS = re.compile(r"[^kp/]|sigma_8|k_l|k_s|Mpc/h|[A-Z_]+|each|layer|phases")


def names_in(text):
    """The names that a page gives in backticks, in braces, in lists of columns, or with underscores."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)  # targets of links
    text = re.sub(r"(?<!\n)\n(?![\n|#-]) *", " ", text)  # lines of a paragraph
    found = set()
    for span in re.findall(r"`([^`\n]+)`", text):
        if re.fullmatch(FILE, span) or re.fullmatch(rf"/?{NAME}(/{NAME})*(_…)?", span):
            found.add(span.strip("…"))
        found |= set(re.findall(r'"(\w+)"[,}]', span)) | set(re.findall(r"(?<![\w-])--[a-z][\w-]+", span))
    prose = re.sub(r"`[^`\n]*`", lambda span: span.group() if re.fullmatch(rf"`{NAME}`", span.group()) else "``", text)
    for inside in re.findall(r"\{([^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*)\}", prose):
        for words in re.split(r"[\[\]{};:]", inside):
            found |= {word.strip("` ") for word in words.split(",") if re.fullmatch(rf" *`?{NAME}`? *", word)}
    found |= set(re.findall(r"(?<![\w/.<-])[a-z]+\d?(?:_[A-Za-z0-9]+)+(?![\w/.(])", prose))
    for words in re.findall(r"\(((?:\w+,\s){3,}\w+)\)", prose):  # (file, split, shard, ...)
        found |= set(words.replace(",", "").split())
    return {name for name in found if not OTHERS.fullmatch(name)}


def literals(text):
    """The strings in quotes of C++ or Python code."""
    return set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))


def is_written(name, strings):
    """Whether programs have the name in quotes, or the words that they put it together from: "{}_start" and "epoch", "scale_per_" and "universe"."""
    def has(pattern):
        return any(re.search(pattern, string) for string in strings)

    def whole(word):
        return has(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])")

    def joined(word):
        words = word.split("_")
        splits = [("_".join(words[:i]), "_".join(words[i:])) for i in range(1, len(words))]
        return any((whole(b) and has(rf"^{a}_$")) or (whole(a) and has(rf"^(\{{\}})?_{b}$")) for a, b in splits)

    return all(whole(part) or whole(part.replace("-", "_")) or joined(part) for part in parts_of(name))


def parts_of(name):
    """What of a name stands in the source: neither numbers nor redshifts nor names of parameters and layers."""
    return [part.strip("_-") for part in re.split(r"[/.]|\d{3,}|NAME|EARLIER|LAYER|_z0\b|_I\b", name) if part.strip("_-")]


def faults_of(names, page, strings):
    faults = [f"docs/reference/formats.md no longer names {name}" for name in names if name not in page]
    return faults + [f"docs/reference/formats.md names {name}, and no program has it in quotes" for name in names if not is_written(name, strings)]


def overdue(version, sources):
    """Former options that the version should refuse by now: "add_former(..., "0.5", ...)" from version 0.5 on."""
    return [f"{name}: version {gone} was to refuse a former option of --{option}: delete it" for name, text in sources
            for option, gone in re.findall(r'add_former\([^;]*?"([\w-]+)",\s*"(\d+\.\d+)"', text)
            if tuple(map(int, gone.split("."))) <= tuple(map(int, version.split(".")[:2]))]


def main():
    page = names_in(pathlib.Path(sys.argv[2] if sys.argv[2:] else PAGE).read_text())
    if sys.argv[1:2] == ["--extract"]:
        print("\n".join(sorted(page)))
        return 0
    names = LIST.read_text().split()
    sources = [(path.relative_to(ROOT).as_posix(), path.read_text()) for room in PROGRAMS for path in (ROOT / room).rglob("*")
               if path.suffix in (".cpp", ".hpp", ".py")]
    strings = set().union(*(literals(text) for _, text in sources))
    strings = {string for string in strings if " " not in string}  # what is shown to people is not read by programs
    version = re.search(r"project\(cosmo VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    faults = faults_of(names, page, strings) + overdue(version, sources)
    # The rule itself must bite.
    assert len(faults_of(["no_such_column"], page, strings)) == 2 and len(faults_of(["no_such_column"], page | {"no_such_column"}, strings)) == 1
    assert names_in("`/x`, `aa` {b_c, d: [e_f]}, (gh, ij, kl, mn), o_p, `--q-r\nS`") == {"/x", "aa", "b_c", "e_f", "gh", "ij", "kl", "mn", "o_p", "--q-r"}
    assert len(overdue("0.5.0", sources)) > 3 and len(overdue("0.5.0", [("x", 'add_former({"a N"}, "b", "0.6", &c);')])) == 0
    print("\n".join(faults) or f"{len(names)} names of the page at c3349949 are named and written")
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main())
