"""tests/run.sh, with stand-ins for what installs, builds and tests: which tests it chooses, and what it prints last."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from toolkit import ROOT

CLOSING = "92% tests passed, 1 tests failed out of 12"
PRINTED = "".join(f"{i:2}/12 Test {'#' + str(i):>4}: pipeline: suite: Class{i} .{'.' * i}{'***Failed' if i == 7 else '   Passed'}  {i * 7 % 12 + 0.25:5.2f} sec\n"
                  for i in range(1, 13))


class Run(unittest.TestCase):
    def run_script(self, script, *words, **environment):
        """(exit code, ctest's words, lines printed by ctest and after it)"""
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("dpkg-query", "echo install ok installed"), ("cmake", ":"),
                               ("ctest", f"echo \"$*\" > '{directory}/words'; cat '{directory}/printed'; exit 8")):
                pathlib.Path(directory, name).write_text(f"#!/bin/sh\n{text}\n")
                pathlib.Path(directory, name).chmod(0o755)
            pathlib.Path(directory, "printed").write_bytes(PRINTED.encode() + b"\xff any bytes\n\n" + CLOSING.encode() + b"\n\nLabel Time Summary:\n")
            done = subprocess.run(["bash", ROOT / script, *words], capture_output=True, timeout=60, cwd="/",
                                  env=os.environ | {"PATH": f"{directory}:{os.environ['PATH']}", "COSMO_ALL": ""} | environment)
            self.assertEqual(done.stderr, b"")
            return done.returncode, pathlib.Path(directory, "words").read_text().split(), done.stdout.split(b"\n")

    def test_which_tests(self):
        for script, words, environment, chosen in (
                ("tests/run.sh", [], {}, ["-LE", "^slow$"]), ("tests/run.sh", [], {"COSMO_ALL": "1"}, []),
                ("tests/run.sh", ["-R", "sim"], {}, ["-R", "sim"]), (".ci/run", [], {}, []), (".ci/run", ["-L", "fast"], {}, ["-L", "fast"])):
            with self.subTest(script=script, words=words, **environment):
                code, found, _ = self.run_script(script, *words, **environment)
                self.assertEqual(code, 8)
                self.assertEqual(found[:4], ["--preset", "release", "--no-tests=error", "-j"])
                self.assertEqual(found[5:], chosen)

    def test_help(self):
        done = subprocess.run(["bash", ROOT / "tests/run.sh", "--help"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("COSMO_ALL=1", done.stdout)
        self.assertNotIn("set -euo", done.stdout)

    def test_the_longest_come_before_the_closing_lines(self):
        _, _, lines = self.run_script("tests/run.sh")
        at = lines.index(b"The longest tests:")
        longest = [line.split() for line in lines[at + 1:at + 11]]
        expected = sorted(((i * 7 % 12 + 0.25, f"Class{i}") for i in range(1, 13)), reverse=True)[:10]
        self.assertEqual([(float(words[0]), words[-1].decode()) for words in longest], expected)
        self.assertEqual(lines[at + 11:], [b"", CLOSING.encode(), b"", b"Label Time Summary:", b""])
        self.assertIn(b"\xff any bytes", lines[:at])


if __name__ == "__main__":
    unittest.main()
