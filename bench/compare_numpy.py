#!/usr/bin/python3
"""Compares the time of counting particles in voxels with numpy.histogramdd, numpy.bincount and reading the positions.

The particles are a universe from cosmo-sim in the order of the initial lattice, and the same in random order. Each round
runs all programs in turn, so that they see the same noise of the host; the best time of each counts. Fails unless all
counts are equal. Needs numpy and h5py.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make_positions(build, directory, side, box):
    """Writes lattice.raw and random.raw, float32 (particles, 3); returns their paths."""
    subprocess.run([build / "bin/cosmo-sim", "generate", "--particles", str(side), "--box", str(box), "--save", "particles",
                    "--output", directory / "sim"], check=True, stdout=subprocess.DEVNULL)
    with h5py.File(directory / "sim/sim-00000/snapshot_z0.hdf5") as file:
        lattice = file["PartType1/Coordinates"][:]
    paths = {"lattice": directory / "lattice.raw", "random": directory / "random.raw"}
    lattice.tofile(paths["lattice"])
    np.random.default_rng(1).permutation(lattice).tofile(paths["random"])
    return paths


def histogramdd(positions, grid, box):
    return np.histogramdd(positions, bins=grid, range=[(0, box)] * 3)[0]


def bincount(positions, grid, box):
    """The fastest way in numpy alone: no edges, x == box counts in cell 0, and float32 may round across an edge."""
    cell = (positions * np.float32(grid / box)).astype(np.int32)
    cell[cell == grid] = 0
    return np.bincount((cell[:, 0] * grid + cell[:, 1]) * grid + cell[:, 2], minlength=grid**3).reshape((grid,) * 3)


def timed(count, *arguments):
    start = time.perf_counter()
    counts = count(*arguments)
    return time.perf_counter() - start, counts


def ours(build, path, grid, box, threads, output):
    words = ["--positions", path, "--grid", str(grid), "--box", str(box), "--counts", output, "--threads", str(threads), "--json"]
    done = subprocess.run([build / "bench/bench-histogram", *words], check=True, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, OMP_WAIT_POLICY="active"))
    return json.loads(done.stdout), np.fromfile(output, "<u2").reshape((grid,) * 3)


def compare(build, directory, path, arguments):
    """The best time of each program on one file of positions [s]."""
    positions, best = np.fromfile(path, "<f4").reshape(-1, 3), {}

    def note(name, seconds):
        best[name] = min(best.get(name, seconds), seconds)

    for _ in range(arguments.rounds):
        seconds, expected = timed(histogramdd, positions, arguments.grid, arguments.box)
        note("histogramdd", seconds)
        note("bincount", timed(bincount, positions, arguments.grid, arguments.box)[0])
        result, counts = ours(build, path, arguments.grid, arguments.box, arguments.threads, directory / "counts.raw")
        assert np.array_equal(counts, expected), "the counts differ from numpy.histogramdd's"
        note("cosmo", result["count_seconds"])
        note("read", result["read_seconds"])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--particles", type=int, default=256, help="particles per side")
    parser.add_argument("--grid", type=int, default=256, help="voxels per side")
    parser.add_argument("--box", type=float, default=512, help="Mpc/h")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as holder:
        directory = pathlib.Path(holder)
        for order, path in make_positions(arguments.build, directory, arguments.particles, arguments.box).items():
            best = compare(arguments.build, directory, path, arguments)
            times = ", ".join(f"{name} {seconds:.4f} s" for name, seconds in best.items())
            print(f"{order}: {times}; histogramdd / cosmo {best['histogramdd'] / best['cosmo']:.3g}, "
                  f"bincount / cosmo {best['bincount'] / best['cosmo']:.3g}, cosmo / read {best['cosmo'] / best['read']:.3g}",
                  flush=True)


if __name__ == "__main__":
    main()
