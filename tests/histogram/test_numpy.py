"""Counts of 1 and 3 ranks against numpy.histogramdd, and their files against each other."""

import pathlib
import subprocess
import sys
import unittest

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline/support"))
from toolkit import ENVIRONMENT, TESTS, DirectoryTest, command

NUMERIC = 6


def positions_with_edges(generator, cells, box):
    """Random positions, and every edge with its float32 neighbours on each axis."""
    largest = np.float32(box)
    if float(largest) > box:  # histogramdd would drop what lies above the box
        largest = np.nextafter(largest, np.float32(0))
    random = np.minimum(generator.random((20000, 3), dtype=np.float32) * largest, largest)
    edges = np.linspace(0, box, cells + 1).astype(np.float32)
    near = np.concatenate([edges, np.nextafter(edges, np.float32(0)), np.nextafter(edges, np.float32(2 * box)),
                           [0, np.nextafter(np.float32(0), np.float32(1)), largest]])
    near = np.clip(near, 0, largest)
    special = generator.choice(near, (20000, 3))
    return np.ascontiguousarray(generator.permutation(np.concatenate([random, special])), dtype=np.float32)


class Counts(DirectoryTest):
    def run_counts(self, positions, cells, box, ranks):
        """Runs the test program on these positions; returns the finished process and its output file."""
        source, output = self.root / "positions.raw", self.root / f"counts-{ranks}.h5"
        positions.tofile(source)
        words = command(ranks, TESTS / "count_positions", source, cells, box, output)
        return subprocess.run(words, env=dict(ENVIRONMENT, OMP_NUM_THREADS="2"), capture_output=True, text=True,
                              timeout=60), output

    def count(self, positions, cells, box, ranks):
        """The file of counts, which must be written."""
        done, output = self.run_counts(positions, cells, box, ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        return output

    def refused(self, parts, positions, ranks):
        done, _ = self.run_counts(positions, 10, 10.0, ranks)
        self.assertEqual(done.returncode, NUMERIC, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_counts_are_numpys_and_files_the_same_from_any_ranks(self):
        generator = np.random.default_rng(7)
        # Of 96 cells in 100, x n / L rounds up across 7 edges that float32 holds; of 50 in 2450, it falls short of 27.
        for cells, box in [(2, 1.0), (96, 100.0), (50, 2450.0), (48, 0.7), (30, 514.19529)]:
            positions = positions_with_edges(generator, cells, box)
            # NumPy 1 compares a float32 sample with the last edge rounded to float32, and so shifts x == float32(L)
            # one bin too low where that lies below L; for boxes that float32 holds, either type must agree.
            sample = positions if float(np.float32(box)) == box else positions.astype(np.float64)
            expected, _ = np.histogramdd(sample, bins=cells, range=[(0, box)] * 3)
            self.assertEqual(expected.sum(), len(positions))
            outputs = [self.count(positions, cells, box, ranks) for ranks in (1, 3)]
            for output in outputs:
                with self.subTest(output.name, cells=cells, box=box), h5py.File(output) as file:
                    self.check(file, expected, box / cells, box)
            self.assertEqual(outputs[0].read_bytes(), outputs[1].read_bytes())

    def check(self, file, expected, voxel, box):
        self.assertEqual(file["counts"].dtype, np.dtype("<u2"))
        np.testing.assert_array_equal(file["counts"][:], expected)
        attributes = {"particles": expected.sum(), "seed": 42, "box": box, "voxel": voxel, "schema": "cosmo.counts/1",
                      "redshift": 0}
        for name, value in attributes.items():
            self.assertEqual(file.attrs[name], value, name)
        self.assertEqual(list(file.attrs["parameter_names"]), ["omega_m", "sigma8", "n_s", "h", "omega_b", "w0", "wa"])
        self.assertEqual(list(file.attrs["parameter_values"]), [0.3089, 0.8159, 0.9667, 0.703, 0.045, -1, 0])

    def test_positions_outside_the_box_are_wrapped(self):
        outside = np.array([[-1, 5, 11], [10.5, -0.001, 25]], dtype=np.float32)
        with h5py.File(self.count(outside, 10, 10.0, 2)) as file:
            self.assertEqual((file["counts"][9, 5, 1], file["counts"][0, 9, 5]), (1, 1))

    def test_a_voxel_holds_65535_particles_and_no_more(self):
        crowded = np.full((65536, 3), 9.5, dtype=np.float32)
        self.count(crowded[:65535], 10, 10.0, 2)
        spread = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0), [0.5]), -1).reshape(-1, 3).astype(np.float32)
        for ranks in (1, 2):
            self.refused(["65535", "finer than 10"], np.concatenate([crowded, spread]), ranks)
            self.refused(["65535", "only 1 of 1000 voxels", "--override box"], crowded, ranks)

    def test_positions_that_are_not_numbers_are_refused(self):
        self.refused(["finite"], np.array([[1, np.nan, 2]], dtype=np.float32), 2)


if __name__ == "__main__":
    unittest.main()
