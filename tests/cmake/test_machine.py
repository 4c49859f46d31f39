"""cmake/machine.cmake: a compiler that stores wrong constants builds nothing; the cure and the probe of it both work."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "cmake"
CURE = "list(APPEND COSMO_MACHINE_FLAGS -mmove-max=128 -mstore-max=128)"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES CXX)
include(machine.cmake)
list(JOIN COSMO_MACHINE_FLAGS " " flags)
message(STATUS "flags: ${flags}")
"""


def compiler_is_affected():
    version = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout
    number = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    return "Free Software Foundation" in version and (12,) <= tuple(map(int, number.split("."))) < (12, 4)


def has_avx512():
    return "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text()


class Machine(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="cosmo-cmake-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        for name in ("machine.cmake", "constant_initialisers.cpp"):
            shutil.copy(CMAKE / name, self.root)
        (self.root / "CMakeLists.txt").write_text(PROJECT)

    def configure(self, architecture):
        """Configures; returns the exit code and the output on one line."""
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", self.root, "-B", self.root / "build", f"-DCOSMO_ARCHITECTURE={architecture}"],
                              capture_output=True, text=True)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def test_every_architecture_stores_constants_rightly(self):
        for architecture in ("native", "x86-64-v3", "", *(["x86-64-v4"] if has_avx512() else [])):
            code, said = self.configure(architecture)
            self.assertEqual(code, 0, said)
            self.assertEqual("-march=" in said, bool(architecture), said)
            self.assertEqual("-mmove-max=128 -mstore-max=128" in said, compiler_is_affected(), said)

    @unittest.skipUnless(compiler_is_affected() and has_avx512(), "needs GCC 12.0 to 12.3 and a CPU with AVX-512")
    def test_without_the_cure_nothing_is_built(self):
        path = self.root / "machine.cmake"
        text = path.read_text()
        self.assertIn(CURE, text)
        path.write_text(text.replace(CURE, ""))
        for _ in range(2):  # what was wrong once is probed again
            code, said = self.configure("x86-64-v4")
            self.assertEqual(code, 1, said)
            self.assertIn("stores wrong constants with -march=x86-64-v4: use GCC 12.4", said)
            self.assertIn("int64, 64 bytes: value 4 is wrong", said)
        code, said = self.configure("x86-64-v3")  # AVX2 is not affected
        self.assertEqual(code, 0, said)


if __name__ == "__main__":
    unittest.main()
