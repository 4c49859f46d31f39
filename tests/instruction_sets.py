"""No code of one instruction set is linked into another's: objects compiled for a set of their own share no function.

Usage: instruction_sets.py LIBRARY. A function that several objects define, such as a template of the standard library that was
not inlined, is linked once, from any of them: if that is the one with AVX-512, the program ends on CPUs without it.
"""

import re
import subprocess
import sys

OBJECTS = r"kernels_v\d+\."


def main(library):
    listed = subprocess.run(["nm", "-A", "-C", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    lines = [line for line in listed.splitlines() if re.search(OBJECTS, line)]
    assert lines, f"{library} has no objects {OBJECTS}"
    shared = [line for line in lines if re.search(r" [WVu] (?!DW\.ref)", line)]
    print("\n".join(shared) or f"0 of {len(lines)} symbols are shared")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
