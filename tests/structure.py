#!/usr/bin/env python3
"""Counts the shape of the source tree, prints it as a table, and fails where a number is above its limit.

tests/structure.py [--bin DIR]                            this tree; own options are counted from the tools in DIR
tests/structure.py --compare REV [--bin-before DIR] ...   beside a revision's
tests/structure.py -v                                     also names what was counted
"""

import argparse
import collections
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("core", "sim", "histogram", "dataset", "nn", "train", "infer")
FULL = 22  # source files that a folder may have
LONG = 60  # lines that a function may have

# What a change must not exceed; a row that falls has its limit lowered with it.
LIMITS = {
    "folders above 22 files": 0,
    "functions above 60 lines": 1,
    "files that ask what outputs mean": 4,
    "ways to compute a convolution": 4,
    "own options of cosmo-train": 46,
    "own options of cosmo-sim generate": 38,
    "own options of cosmo-prep shard": 16,
    "own options of cosmo-prep import": 15,
}

# A file asks what a network's outputs mean if it does one of these with a loss, an output, a model or a network. Files of one name (.hpp and .cpp)
# are one; those that are the answer, the kinds of outputs themselves and the arithmetic of densities, are left out.
LOSSES = re.findall(r'\{"(\w+)",\s*"', (ROOT / "nn/output/output.hpp").read_text())
ASKS = {
    "counts outputs and parameters and compares": r"\boutputs\(\)(, |\)* *[!=]= *)[\w.]*param",
    "branches on whether they are a density": r"\bdensity \?|\b(loss|own)\w*\.density\b|\b(is|has|predicts)_\w*density\b",
    "looks a loss up to find out": r"\bfind_loss\(|\)\.density\b",
    "distinguishes kinds of outputs": r"\b(holds_alternative|get|get_if|dynamic_cast)<[^>]*(Labels|Density|Output)\b|\boperator\(\)\(const (nn::)?(Labels|Density)&",
    "reads the number of components": r"\b(loss|own|model|plan)\.components\b|\bmixture_(outputs|start)\(",
    "takes them apart as Gaussians, by their number": r"\b(mixture_of|read_mixture)\(",
    "compares with the name of a loss or a kind": rf'[!=]= *"({"|".join(LOSSES)})"',
}
NOT_ASKING = r"(train/)?nn/(posterior|density)/|nn/output/(labels|density)\."

# The ways to compute a convolution: kernels of ours are named where they become operations, oneDNN's in how its primitives are called.
OWN_KERNELS = r"\{OperationKind::convolution,\s*kernels\(\)\.(\w+)\.name"
ONEDNN = {
    "oneDNN": r"\bdnnl::convolution_forward\b",
    "oneDNN on one thread": r"\bOneThread\b|omp_set_num_threads\(1\)",
    "oneDNN in pieces": r"\bappend_by_pieces\(",
}

# The options that every command that makes an output directory has (core/run): the others are its own.
COMMON = set("output dry-run force config threads peer-timeout json quiet help version man completion".split())

COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


def code_of(text, literals=True):
    """C++ without its comments, and without literals and directives where only its braces matter; lines stay where they are."""
    def blank(match):
        return match.group() if literals and match.group()[0] in "\"'R" else re.sub(r"[^\n]", " ", match.group())
    text = COMMENT_OR_LITERAL.sub(blank, text)
    return text if literals else DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without_nested(text, pattern, mark):
    """The text with a mark for each match of the pattern, from the innermost on."""
    before = None
    while before != text:
        before, text = text, re.sub(pattern, mark, text)
    return text


def opens(head):
    """What a brace opens that follows `head` at the level of a namespace or class: "scope", "function", "value", or "part", after which the head
    goes on: an argument or a member of an initialiser list."""
    if head.count("(") != head.count(")"):
        return "part"
    head = re.sub(r"\boperator *(\(\)|[^\w\s(]+)", "operator", " ".join(head.split()))
    head = without_nested(without_nested(head, r"\([^()]*\)", "§"), r"<[^<>]*>", "")
    if re.match(r"(inline )?namespace\b|extern *$", head):
        return "scope"
    if re.search(r"\b(class|struct|union|enum)\b", head) and not re.search(r"\w§( const| noexcept| override| final)*$", head):
        return "scope"
    if "§" not in head or "=" in head.partition("§")[0]:
        return "value"
    members = re.search(r"§[^:]*(?<!:):(?!:)(.*)$", head)
    return "part" if members and re.search(r"(^|,) *[\w:]+$", members.group(1)) else "function"


def functions(text):
    """(first line, number of lines) of each function with a body, from the start of its declaration to its closing brace."""
    text, found, scopes, start = code_of(text, literals=False), [], [], 0
    text = re.sub(r"\b(public|protected|private):", lambda match: " " * len(match.group()), text)
    for match in re.finditer(r"[{};]", text):
        kind, head = "", start
        if match.group() == "{":
            inside = any(kind != "scope" for kind, _ in scopes)
            kind = "inner" if inside else opens(text[start:match.start()])
            scopes.append((kind, start))
        elif match.group() == "}" and scopes:
            kind, head = scopes.pop()
            if kind == "function":
                first = head + len(text[head:]) - len(text[head:].lstrip())
                found.append((text.count("\n", 0, first) + 1, text.count("\n", first, match.start()) + 1))
        if kind == "part":
            start = head
        elif all(kind == "scope" for kind, _ in scopes) or kind == "function":
            start = match.end()
    return found


def room_of(name):
    """The room of a file: train/nn was one within train."""
    return "nn" if name.startswith("train/nn/") else name.partition("/")[0]


def count(root):
    """{row: (number, what was counted)} of the source tree in a directory, in the order of the table."""
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.glob("**/*.[ch]pp"))
             if path.relative_to(root).parts[0] in ROOMS + ("bench",)}
    rooms = {name: text for name, text in texts.items() if not name.startswith("bench/")}
    lines = collections.Counter()
    for name, text in rooms.items():
        lines[room_of(name)] += text.count("\n")
    rows = {f"lines of {room}": (lines[room], []) for room in ROOMS}
    rows["lines of all rooms"] = (sum(lines.values()), [])
    largest = max(rooms, key=lambda name: rooms[name].count("\n"))
    rows["lines of the largest file"] = (rooms[largest].count("\n"), [largest])

    folders = collections.Counter(name.rpartition("/")[0] for name in rooms)
    rows["folders above 22 files"] = named(f"{folder}: {files}" for folder, files in folders.items() if files > FULL)
    bodies = [(lines, f"{name}:{line}: {lines} lines") for name, text in texts.items() for line, lines in functions(text)]
    rows["functions"] = (len(bodies), [])
    rows["functions above 60 lines"] = named(text for lines, text in bodies if lines > LONG)

    asking = collections.defaultdict(set)
    for name, text in rooms.items():
        if room_of(name) in ("nn", "train", "infer") and not re.match(NOT_ASKING, name):
            asking[name.rpartition(".")[0]] |= asks(text)
    rows["files that ask what outputs mean"] = named(f"{name}: {', '.join(sorted(how))}" for name, how in asking.items() if how)
    rows["ways to compute a convolution"] = named(ways("\n".join(code_of(text) for name, text in rooms.items() if room_of(name) == "nn")))
    return rows


def asks(text):
    return {how for how, pattern in ASKS.items() if re.search(pattern, code_of(text))}


def ways(code):
    return sorted(f"kernels().{kernel}" for kernel in set(re.findall(OWN_KERNELS, code))) + \
        [name for name, pattern in ONEDNN.items() if re.search(pattern, code)]


def named(items):
    items = sorted(items)
    return len(items), items


def own_options(text):
    """(own options in all groups, those in the first group) that a command's help lists."""
    groups = [[]]
    for line in text.splitlines():
        if re.match(r"\w.*:$", line):
            groups.append([])
        option = re.match(r"  --([\w-]+)", line)
        if option and option.group(1) not in COMMON:
            groups[-1].append(option.group(1))
    groups = [group for group in groups if group]
    return [name for group in groups for name in group], groups[0] if groups else []


def count_options(folder):
    rows = {}
    for command in ("cosmo-train", "cosmo-sim generate", "cosmo-prep shard", "cosmo-prep import"):
        words = command.split()
        text = subprocess.run([folder / words[0], *words[1:], "--help"], capture_output=True, text=True, check=True).stdout
        every, first = own_options(text)
        rows[f"own options of {command}"] = (len(every), every)
        rows[f"{command}'s first group"] = (len(first), first)
    return rows


def count_revision(revision):
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder)
        return count(pathlib.Path(folder))


def check_counting():
    """The counting itself must bite."""
    long = "int f(int x = g({1})) {\n" + "  if (x) { h('{'); }  // }\n" * 60 + "}\n"
    both = "namespace a {\nclass B : C<int> {\n public:\n  B() : x_{1}, y_(\"{\") {\n  }\n  struct D d() const { return {}; }\n};\n"
    both += "constexpr std::array<int, 2> kX = {f({1}), 2};\ntemplate <class T>\nauto g(T t) -> T {\n  return [&] {\n  }();\n}\n}  // namespace a\n"
    assert [lines for _, lines in functions(long)] == [62], functions(long)
    assert functions(both) == [(4, 2), (6, 1), (9, 5)], functions(both)
    assert asks("x = static_cast<int>(network.outputs()) != parameters;") and asks('kind == "mixture"') and asks("find_loss(a)")
    assert not asks("// find_loss(a)\nplan.network.outputs(); distribution.density; int components;")
    assert ways("{OperationKind::convolution, kernels().filter.name,") == ["kernels().filter"] and not ways("OneThreads")
    assert own_options("tool: text\n\nFirst:\n  --a N  x\n         --b\n  --json  x\n\nSecond:\n  --c  x\n") == (["a", "c"], ["a"])


def main():
    parser = argparse.ArgumentParser(description="Counts the shape of the source tree.")
    parser.add_argument("--compare", metavar="REV", help="a revision to count, too")
    parser.add_argument("--bin", metavar="DIR", type=pathlib.Path, help="tools whose options to count")
    parser.add_argument("--bin-before", metavar="DIR", type=pathlib.Path, help="the same of the revision")
    parser.add_argument("-v", action="store_true", help="name what was counted")
    arguments = parser.parse_args()
    check_counting()
    after = count(ROOT) | (count_options(arguments.bin) if arguments.bin else {})
    before = count_revision(arguments.compare) if arguments.compare else None
    if before and arguments.bin_before:
        before |= count_options(arguments.bin_before)
    print(f"{'':36}" + (f"{arguments.compare:>9}" if before else "") + f"{'here':>9}{'limit':>9}")
    for row in dict.fromkeys([*(before or ()), *after]):
        sides = [side.get(row, ("", [])) for side in (before, after) if side is not None]
        print(f"{row:36}" + "".join(f"{number:>9}" for number, _ in sides) + f"{LIMITS.get(row, ''):>9}".rstrip())
        if arguments.v:
            for mark, (_, items) in zip("-+"[-len(sides):], sides):
                print("".join(f"    {mark} {item}\n" for item in items), end="")
    faults = [f"{row}: {after[row][0]}, and {limit} is the limit: -v names them" for row, limit in LIMITS.items()
              if row in after and after[row][0] > limit]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
