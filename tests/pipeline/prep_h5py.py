"""Counts and shards as h5py and NumPy see them: values, labels, attributes and checksums.

Usage: prep_h5py.py COSMO_PREP MAKE_SUITE
"""
import glob
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy as np

PREP, MAKE_SUITE = sys.argv[1:3]
GRID, CUTS, SIDE = 12, 2, 6


def check_shard(path, suite, cubes, parameters, seen):
    with h5py.File(path) as shard:
        x, y, y_unit = shard["x"], shard["y"], shard["y_unit"]
        assert x.dtype == np.dtype("<u2") and x.shape[1:] == (SIDE,) * 3 and x.chunks == (1,) + (SIDE,) * 3
        assert y.dtype == np.dtype("<f8") and y_unit.dtype == np.dtype("<f4") and y.shape == (len(x), 3)
        assert shard["crc32"].dtype == np.dtype("<u4") and shard["simulation"].dtype == np.dtype("<u4")
        assert shard["subvolume"].dtype == np.dtype("u1") and shard["seed"].dtype == np.dtype("<u8")
        low, high = np.array(parameters["low"]), np.array(parameters["high"])
        np.testing.assert_allclose(y_unit[:], 2 * (y[:] - low) / (high - low) - 1, atol=1e-6)
        for row in range(len(x)):
            assert zlib.crc32(x[row].tobytes()) == shard["crc32"][row]
            simulation, n = shard["simulation"][row], shard["subvolume"][row]
            i, j, k = n // 4 * SIDE, n // 2 % 2 * SIDE, n % 2 * SIDE
            np.testing.assert_array_equal(x[row], cubes[simulation][i:i + SIDE, j:j + SIDE, k:k + SIDE])
            record = suite[simulation]
            assert shard["seed"][row] == record["seed"]
            assert list(y[row]) == [record["parameters"][name] for name in parameters["names"]]
            seen.append((simulation, n))
        attributes = shard.attrs
        assert attributes["schema"] == "cosmo.shard" and attributes["schema_version"] == 1
        assert attributes["box"] == 32 and attributes["voxel"] == 32 / SIDE and list(attributes["redshifts"]) == [0]
        assert list(attributes["parameter_names"]) == parameters["names"]
        assert list(attributes["parameter_low"]) == parameters["low"]
        assert list(attributes["parameter_high"]) == parameters["high"]
        assert attributes["particles"] == x[:].sum(dtype=np.int64) and attributes["max_count"] == x[:].max()
        assert attributes["mean_count"] == 8 and attributes["input_id"].startswith("sha256:")
        return x.compression, x.shuffle


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    subprocess.run([MAKE_SUITE, "sim", "10", str(GRID)], check=True)
    suite_manifest = json.load(open("sim/manifest.json"))
    suite = {record["index"]: record for record in suite_manifest["simulations"]}
    cubes = {index: h5py.File(f"sim/{record['files'][0]}")["counts"][:] for index, record in suite.items()}
    for compress, filters in (("none", (None, False)), ("gzip", ("gzip", True))):
        subprocess.run([PREP, "shard", "--input", "sim", "--output", compress, "--samples-per-shard", "9",
                        "--validation", "2", "--test", "2", "--compress", compress, "--quiet"],
                       check=True, capture_output=True)
        manifest = json.load(open(f"{compress}/manifest.json"))
        assert manifest["parameters"] == suite_manifest["parameters"]
        seen = []
        for name, split in manifest["splits"].items():
            before = len(seen)
            for path in split["shards"]:
                stored = check_shard(f"{compress}/{path}", suite, cubes, manifest["parameters"], seen)
                assert stored == filters
            assert len(seen) - before == split["samples"]
            assert {simulation for simulation, _ in seen[before:]} == set(split["simulations"])
        assert len(seen) == len(set(seen)) == 10 * CUTS**3
        for record in manifest["files"]:
            content = open(f"{compress}/{record['path']}", "rb").read()
            assert len(content) == record["bytes"] and hashlib.sha256(content).hexdigest() == record["sha256"]
        assert len(glob.glob(f"{compress}/*/*.h5")) == len(manifest["files"])
        total = int(sum(cube.sum(dtype=np.int64) for cube in cubes.values()))
        assert manifest["statistics"] == {"mean_count": 8.0, "max_count": max(int(c.max()) for c in cubes.values()),
                                          "particles_in": total, "particles_binned": total}
        assert manifest["inputs"][0]["path"] == "../sim/manifest.json"
