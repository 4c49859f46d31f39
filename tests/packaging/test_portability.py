"""portability.sh at its smallest: what it would run, and what it refuses. Chroots need root, Debian's servers and hours."""

import re
import subprocess
import unittest

from toolkit import ROOT

SCRIPT = ROOT / "tests/portability.sh"
NAMES = ["debian12-gcc", "debian12-clang", "debian12-mpich", "debian13-gcc", "portable", "debug", "aarch64"]


def run(*words):
    return subprocess.run(["bash", SCRIPT, *words], capture_output=True, text=True, cwd="/")


class Portability(unittest.TestCase):
    def test_scripts_parse(self):
        for script in (SCRIPT, ROOT / "tests/packaging/bare_debian.sh"):
            done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_would_be_run(self):
        done = run("-n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        builds = re.findall(r"(?m)^== (\S+): build\n.*cmake --preset (\S+)", done.stdout)
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

    def test_refusals(self):
        for words, said in ((["debian11"], "'debian11': choose from debian12-gcc, "), (["-s", "install"], "'install'; there are system "),
                            (["-x"], "Usage: ")):
            done = run("-n", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)

    def test_help_names_all(self):
        done = run("-h")
        self.assertEqual(done.stdout.split()[-len(NAMES):], NAMES)


if __name__ == "__main__":
    unittest.main()
