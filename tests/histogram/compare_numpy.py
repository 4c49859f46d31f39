"""Counts of 1 and 3 ranks against numpy.histogramdd, and their files against each other.

Usage: compare_numpy.py COUNT_POSITIONS  (the test program; mpirun must be on the PATH)
"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

MPI = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMP_NUM_THREADS="2")


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


def run(program, positions, cells, box, ranks, folder):
    source, output = os.path.join(folder, "positions.raw"), os.path.join(folder, f"counts-{ranks}.h5")
    positions.tofile(source)
    command = [program, source, str(cells), repr(box), output]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), "--bind-to", "none"] + command
    return subprocess.run(command, env=MPI, capture_output=True, text=True, timeout=60), output


def compare(program, folder):
    generator = np.random.default_rng(7)
    # Of 96 cells in 100, x n / L rounds up across 7 edges that float32 holds; of 50 in 2450, it falls short of 27.
    for cells, box in [(2, 1.0), (96, 100.0), (50, 2450.0), (48, 0.7), (30, 514.19529)]:
        positions = positions_with_edges(generator, cells, box)
        # NumPy 1 compares a float32 sample with the last edge rounded to float32, and so shifts x == float32(L)
        # one bin too low where that lies below L; for boxes that float32 holds, either type must agree.
        sample = positions if float(np.float32(box)) == box else positions.astype(np.float64)
        expected, _ = np.histogramdd(sample, bins=cells, range=[(0, box)] * 3)
        assert expected.sum() == len(positions)
        files = []
        for ranks in (1, 3):
            result, output = run(program, positions, cells, box, ranks, folder)
            assert result.returncode == 0, result.stderr
            with h5py.File(output) as file:
                assert file["counts"].dtype == np.dtype("<u2")
                difference = np.count_nonzero(file["counts"][:] != expected)
                assert difference == 0, f"{difference} voxels differ: {cells} cells, box {box}, {ranks} ranks"
                assert file.attrs["particles"] == len(positions) and file.attrs["seed"] == 42
                assert file.attrs["box"] == box and file.attrs["voxel"] == box / cells
                assert list(file.attrs["parameter_names"]) == ["omega_m", "sigma8", "n_s", "h", "omega_b", "w0", "wa"]
                assert list(file.attrs["parameter_values"]) == [0.3089, 0.8159, 0.9667, 0.703, 0.045, -1, 0]
                assert file.attrs["schema"] == "cosmo.counts/1" and file.attrs["redshift"] == 0
            files.append(open(output, "rb").read())
        assert files[0] == files[1], "the files of 1 and 3 ranks differ"


def wrap_and_refuse(program, folder):
    outside = np.array([[-1, 5, 11], [10.5, -0.001, 25]], dtype=np.float32)
    result, output = run(program, outside, 10, 10.0, 2, folder)
    assert result.returncode == 0, result.stderr
    with h5py.File(output) as file:
        assert file["counts"][9, 5, 1] == 1 and file["counts"][0, 9, 5] == 1
    crowded = np.full((65536, 3), 9.5, dtype=np.float32)
    result, _ = run(program, crowded[:65535], 10, 10.0, 2, folder)
    assert result.returncode == 0, result.stderr
    for ranks in (1, 2):
        result, _ = run(program, crowded[:65536], 10, 10.0, ranks, folder)
        assert result.returncode == 6 and "65535" in result.stderr and "--grid" in result.stderr, result
    result, _ = run(program, np.array([[1, np.nan, 2]], dtype=np.float32), 10, 10.0, 2, folder)
    assert result.returncode == 6 and "finite" in result.stderr, result


with tempfile.TemporaryDirectory() as work:
    compare(sys.argv[1], work)
    wrap_and_refuse(sys.argv[1], work)
