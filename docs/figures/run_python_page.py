#!/usr/bin/python3
"""Runs the cells of docs/guides/python.md in their order and writes their outputs into the page.

Cells are the blocks of commands, run by bash with the tools of BIN, and the blocks of Python, which share their names; a cell that
ends in an expression prints its value, as in a notebook. What a cell prints becomes the block "text" after it.
"""

import argparse
import ast
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELL = re.compile(r"```(python)?\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def run_commands(text, tools):
    """What commands print to standard output; any that fails ends the run."""
    done = subprocess.run(["bash", "-e", "-c", text], capture_output=True, text=True,
                          env=dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"))
    if done.returncode != 0:
        sys.exit(f"{text}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run_python(text, names):
    """What a cell prints, and the value of its last line if that is an expression."""
    *statements, last = ast.parse(text).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(repr(value))
        else:
            exec(compile(ast.Module([last], []), "<cell>", "exec"), names)
    return printed.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", type=pathlib.Path, help="directory of the tools")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs/guides/python.md", help="page to run and to rewrite (%(default)s)")
    options = parser.parse_args()
    page, tools, names = options.page.resolve(), options.bin.resolve(), {"__name__": "__main__"}
    sys.path.insert(0, str(ROOT / "python"))

    def run(cell):
        language, text = cell.groups()
        output = run_python(text, names) if language else run_commands(text, tools)
        return f"```{language or ''}\n{text}```\n" + (f"\n```text\n{output.rstrip()}\n```\n" if output else "")

    with tempfile.TemporaryDirectory(prefix="cosmo-page-") as work, contextlib.chdir(work):
        for folder in ("bench", "python"):
            os.symlink(ROOT / folder, folder)
        text = CELL.sub(run, page.read_text())
    page.write_text(text)


if __name__ == "__main__":
    main()
