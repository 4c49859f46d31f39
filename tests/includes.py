#!/usr/bin/env python3
"""Fails on a file that uses a type of another of our headers without including it, itself or through headers it includes, or a
type of core without core::, which only another file's "using core::Fault" allows.

Precompiled headers and unity builds hide both, and the next compiler or preset does not. A header may name a type that another one
only announces ("struct Share;"); a .cpp needs its definition, or announces it itself. Functions are not looked for.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["core", "sim", "histogram", "dataset", "nn", "train", "infer", "bench", "tests"]

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# At the start of a line: a type of a namespace. Elsewhere: also a type inside another one, a template's parameter, or a name that
# the file declares itself.
TYPE = re.compile(r"^(?:template <[^\n]*>\n)?(?:struct|class|enum class|using)(?: \[\[[^\]]*\]\])? ([A-Z]\w+)(?!\w|;|::)", re.M)
DECLARED = re.compile(r"\b(?:struct|class|enum|typename|using)(?: \[\[[^\]]*\]\])? ([A-Z]\w+)")
DEFINED = re.compile(DECLARED.pattern + r"\b(?! *;)")
NAME = re.compile(r"\b[A-Z]\w+\b")
USING = re.compile(r"\busing ((?:(?:cosmo::)?core::\w+(?:, )?)+);")
NAMESPACE_OF_CORE = re.compile(r"\bnamespace cosmo::core\b")


def main():
    texts = {str(path.relative_to(ROOT)): path.read_text()
             for room in ROOMS for path in sorted((ROOT / room).rglob("*")) if path.suffix in (".hpp", ".cpp")}
    includes = {name: {place for header in INCLUDE.findall(text) for place in (header, f"{name.rpartition('/')[0]}/{header}") if place in texts}
                for name, text in texts.items()}
    code = {name: COMMENT_OR_STRING.sub(" ", text) for name, text in texts.items()}
    declared = {name: set(DECLARED.findall(text)) for name, text in code.items()}
    defined = {name: set(DEFINED.findall(text)) for name, text in code.items()}
    homes = collections.defaultdict(set)
    for name, text in code.items():
        for kind in TYPE.findall(text) if name.endswith(".hpp") else ():
            homes[kind].add(name)

    def reached(name):
        seen, waiting = set(), [name]
        while waiting:
            for header in includes[waiting.pop()]:
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return seen

    used_of_core = {name: {word for words in USING.findall(text) for word in NAME.findall(words)} for name, text in code.items()}
    bare = re.compile(rf"(?<![\w:.>])({'|'.join(sorted(set().union(*used_of_core.values())))})\b")

    missing, uses = [], 0
    for name, text in code.items():
        theirs = defined if name.endswith(".cpp") else declared
        headers = reached(name)
        known = declared[name].union(*(theirs[seen] for seen in headers))
        used = set(NAME.findall(text)) & homes.keys()
        uses += len(used)
        missing += [f"{name} uses {kind} and does not include {' or '.join(sorted(homes[kind]))}" for kind in sorted(used - known)]
        if not NAMESPACE_OF_CORE.search(text):
            known = used_of_core[name].union(declared[name], *(used_of_core[seen] for seen in headers))
            missing += [f"{name} uses {word} without core::" for word in sorted(set(bare.findall(text)) - known)]
    print("\n".join(missing) or f"{uses} uses of {len(homes)} types in {len(texts)} files: all included")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
