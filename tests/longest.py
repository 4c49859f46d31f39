#!/usr/bin/env python3
"""Copies what ctest prints, and adds the ten longest tests before its closing lines. Usage: ctest … | longest.py"""

import re
import signal
import sys

MOST = 10
TEST = re.compile(r" *\d+/\d+ Test +#\d+: (.*?) \.*(?: |\*\*\*)[^.]* +(\d+\.\d+) sec\s*$")
CLOSING = re.compile(r"\d+% tests passed, \d+ tests? failed out of \d+")


def with_longest(lines):
    times = []
    for line in lines:
        if found := TEST.match(line):
            times.append((float(found[2]), found[1]))
        if CLOSING.match(line):
            yield "The longest tests:\n"
            yield from (f"{seconds:8.2f} s  {name}\n" for seconds, name in sorted(times, reverse=True)[:MOST])
            yield "\n"
            times = []
        yield line


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctest ends, and what it still prints is copied
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # a failed test may print any bytes
    for line in with_longest(sys.stdin):
        sys.stdout.write(line)
        sys.stdout.flush()
