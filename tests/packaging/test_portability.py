"""portability.sh at its smallest: what it would run, and what it refuses. Chroots need root, Debian's servers and hours."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from toolkit import ROOT

SCRIPT = ROOT / "tests/portability.sh"
NAMES = ["debian12-gcc", "debian12-clang", "debian12-mpich", "debian13-gcc", "portable", "debug", "aarch64"]


def run(*words, **environment):
    return subprocess.run(["bash", SCRIPT, *words], capture_output=True, text=True, cwd="/", env=os.environ | environment)


class Portability(unittest.TestCase):
    def test_scripts_parse(self):
        for script in (SCRIPT, ROOT / "tests/packaging/bare_debian.sh"):
            done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_would_be_run(self):
        done = run("-n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        builds = re.findall(r"(?m)^== (\S+): build\n  git clone .*\n.*cmake --preset (\S+)", done.stdout)
        self.assertEqual([name for name, _ in builds], NAMES)
        self.assertLessEqual({preset for _, preset in builds}, {"release", "portable", "debug"})
        self.assertEqual(re.findall(r"(?m)^== (\S+): quickstart", done.stdout), NAMES[:5])
        mpich = run("-n", "-s", "system", "debian12-mpich").stdout
        self.assertIn(" libhdf5-mpich-dev", mpich)
        self.assertNotIn("openmpi", mpich)
        toolchain, = set(re.findall(r"--toolchain (\S+)", done.stdout))
        self.assertTrue((ROOT / toolchain).is_file())

    def test_some_of_it(self):
        done = run("-n", "-s", "tests counts", "-t", "-L fast", "portable")
        self.assertEqual(re.findall(r"(?m)^== (.*)$", done.stdout), ["portable: tests", "portable: counts"])
        self.assertIn(" -L fast", done.stdout)
        self.assertIn("\n  python3 -c ", done.stdout)  # the second command of counts

    def test_failures_are_said(self):
        ctest = "{}% tests passed, {} tests failed out of 376"
        for built, printed, code, said in (
                ("yes", ctest.format(100, 0), 0, "376 / 376"), ("yes", ctest.format(99, 1), 8, "failed: 375 / 376"),
                ("yes", "No tests were found!!!", 8, "failed"), ("failed", ctest.format(100, 0), 0, "failed: not built")):
            with self.subTest(said), tempfile.TemporaryDirectory() as directory:
                results = Path(directory, "results")
                results.mkdir()
                (results / "portable.build").write_text(built)
                chroot = Path(directory, "unshare")  # stands for the chroot and what runs in it
                chroot.write_text(f"#!/bin/sh\necho '{printed}'\nexit {code}\n")
                chroot.chmod(0o755)
                done = run("-d", directory, "-s", "tests", "portable", PATH=f"{directory}:{os.environ['PATH']}")
                self.assertEqual(done.returncode, int("failed" in said), done.stderr)
                self.assertEqual((results / "portable.tests").read_text(), said + "\n")
                self.assertIn(said, done.stdout.splitlines()[-1])

    def test_refusals(self):
        for words, said in ((["debian11"], "'debian11': choose from debian12-gcc, "), (["-s", "install"], "'install'; there are system "),
                            (["-s", ""], "no step is given; there are system "),
                            (["-x"], "Usage: ")):
            done = run("-n", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)

    def test_help_names_all(self):
        done = run("-h")
        self.assertEqual(done.stdout.split()[-len(NAMES):], NAMES)


if __name__ == "__main__":
    unittest.main()
