"""Counts and shards as h5py and NumPy see them: values, labels, attributes and checksums."""

import unittest
import zlib

import h5py
import numpy as np

from toolkit import PrepTest, sha256

CUTS, SIDE = 2, 6


class Shards(PrepTest):
    """Each test looks at the dataset as it is by default and at one that is compressed."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for compress in ("none", "gzip"):
            cls.prep("shard", "--input", "sim", "--output", compress, *cls.SHARD, "--compress", compress, "--quiet")
        cls.manifests = {name: cls.manifest(name) for name in ("none", "gzip")}
        cls.suite = cls.manifest("sim")
        cls.cubes = {}
        for record in cls.suite["simulations"]:
            with h5py.File(cls.root / "sim" / record["files"][0]) as file:
                cls.cubes[record["index"]] = file["counts"][:]

    def shards(self):
        """The open shards of both datasets, one after the other."""
        for name, manifest in self.manifests.items():
            for split in manifest["splits"].values():
                for path in split["shards"]:
                    with h5py.File(self.root / name / path) as shard:
                        yield shard

    def test_types_and_shapes(self):
        for shard in self.shards():
            x, y = shard["x"], shard["y"]
            types = {"x": "<u2", "y": "<f8", "y_unit": "<f4", "crc32": "<u4", "plane_crc32": "<u4", "simulation": "<u4", "subvolume": "u1",
                     "seed": "<u8"}
            for name, kind in types.items():
                self.assertEqual(shard[name].dtype, np.dtype(kind), name)
            self.assertEqual((x.shape[1:], x.chunks, y.shape), ((SIDE,) * 3, (1,) + (SIDE,) * 3, (len(x), 3)))
            compressed = shard.filename.startswith(str(self.root / "gzip"))
            self.assertEqual((x.compression, x.shuffle), ("gzip", True) if compressed else (None, False))

    def test_samples_are_the_cuts_of_their_universes(self):
        for shard in self.shards():
            for x, crc32, planes, simulation, n in zip(shard["x"], shard["crc32"], shard["plane_crc32"],
                                                       shard["simulation"], shard["subvolume"]):
                i, j, k = n // 4 * SIDE, n // 2 % 2 * SIDE, n % 2 * SIDE
                np.testing.assert_array_equal(x, self.cubes[simulation][i:i + SIDE, j:j + SIDE, k:k + SIDE])
                self.assertEqual(zlib.crc32(x.tobytes()), crc32)
                self.assertEqual([zlib.crc32(plane.tobytes()) for plane in x], list(planes))

    def test_labels_are_those_of_their_universes(self):
        parameters = self.suite["parameters"]
        records = {record["index"]: record for record in self.suite["simulations"]}
        low, high = np.array(parameters["low"]), np.array(parameters["high"])
        for shard in self.shards():
            np.testing.assert_allclose(shard["y_unit"][:], 2 * (shard["y"][:] - low) / (high - low) - 1, atol=1e-6)
            for y, seed, simulation in zip(shard["y"], shard["seed"], shard["simulation"]):
                self.assertEqual(seed, records[simulation]["seed"])
                self.assertEqual(list(y), [records[simulation]["parameters"][name] for name in parameters["names"]])

    def test_attributes(self):
        parameters = self.suite["parameters"]
        for shard in self.shards():
            x, found = shard["x"][:], shard.attrs
            expected = {"schema": "cosmo.shard", "schema_version": 2, "box": 32, "voxel": 32 / SIDE,
                        "particles": x.sum(dtype=np.int64), "max_count": x.max(), "mean_count": 8}
            for name, value in expected.items():
                self.assertEqual(found[name], value, name)
            self.assertEqual(list(found["redshifts"]), [0])
            for key, values in parameters.items():
                self.assertEqual(list(found[f"parameter_{key}"]), values)
            self.assertTrue(found["input_id"].startswith("sha256:"))

    def test_every_sample_is_once_in_the_split_of_its_universe(self):
        for name, manifest in self.manifests.items():
            seen = []
            for split in manifest["splits"].values():
                before = len(seen)
                for path in split["shards"]:
                    with h5py.File(self.root / name / path) as shard:
                        seen += zip(shard["simulation"][:], shard["subvolume"][:])
                self.assertEqual(len(seen) - before, split["samples"])
                self.assertEqual({simulation for simulation, _ in seen[before:]}, set(split["simulations"]))
            self.assertEqual((len(seen), len(set(seen))), (10 * CUTS**3, 10 * CUTS**3))

    def test_the_manifest_lists_the_files(self):
        for name, manifest in self.manifests.items():
            for record in manifest["files"]:
                path = self.root / name / record["path"]
                self.assertEqual((path.stat().st_size, sha256(path)), (record["bytes"], record["sha256"]))
            self.assertEqual(len(list((self.root / name).glob("*/*.h5"))), len(manifest["files"]))

    def test_the_manifest_names_the_universes(self):
        particles = int(sum(cube.sum(dtype=np.int64) for cube in self.cubes.values()))
        for manifest in self.manifests.values():
            self.assertEqual(manifest["parameters"], self.suite["parameters"])
            self.assertEqual(manifest["statistics"],
                             {"mean_count": 8.0, "max_count": max(int(cube.max()) for cube in self.cubes.values()),
                              "particles_in": particles, "particles_binned": particles})
            self.assertEqual(manifest["inputs"][0]["path"], "../sim/manifest.json")


if __name__ == "__main__":
    unittest.main()
