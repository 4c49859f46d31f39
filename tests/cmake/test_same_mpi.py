"""cmake/same_mpi.cmake: an HDF5 that uses another MPI, or none, stops the configuration in one sentence."""

import pathlib
import subprocess
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "cmake"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES C)
include({cmake}/same_mpi.cmake)
set(MPI_C_COMPILER mpicc)
ensure_same_mpi("{hdf5}" "{mpi}")
"""


class SameMpi(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="cosmo-cmake-")
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        for name, soname in (("one", "libmpi.so.40"), ("other", "libmpich.so.12")):
            self.library(f"libmpi_{name}.so", soname)
        self.library("libhdf5_serial.so", "libhdf5_serial.so.103")
        self.library("libhdf5_parallel.so", "libhdf5_parallel.so.103", self.root / "libmpi_one.so")

    def library(self, name, soname, *linked):
        subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--no-as-needed", f"-Wl,-soname,{soname}", "-o", self.root / name, "-x", "c",
                        "/dev/null", "-x", "none", *linked], check=True)

    def configure(self, hdf5, mpi):
        """Configures; returns the exit code and the output on one line."""
        source = self.root / "source"
        source.mkdir(exist_ok=True)
        (source / "CMakeLists.txt").write_text(PROJECT.format(cmake=CMAKE, hdf5=self.root / hdf5, mpi=self.root / mpi))
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", self.root / "build"], capture_output=True, text=True)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def test_the_same_mpi_is_accepted(self):
        code, said = self.configure("libhdf5_parallel.so", "libmpi_one.so")
        self.assertEqual(code, 0, said)

    def test_another_mpi_is_refused(self):
        code, said = self.configure("libhdf5_parallel.so", "libmpi_other.so")
        self.assertEqual(code, 1, said)
        self.assertIn("uses another MPI (libmpi.so.40) than mpicc (libmpich.so.12)", said)

    def test_an_hdf5_without_mpi_is_refused(self):
        code, said = self.configure("libhdf5_serial.so", "libmpi_one.so")
        self.assertEqual(code, 1, said)
        self.assertIn("was built without MPI", said)


if __name__ == "__main__":
    unittest.main()
