"""cosmo_data.Split on shards that cosmo-prep wrote: what it reads, and how it refuses what is damaged."""

import contextlib
import json
import multiprocessing
import pathlib
import pickle
import shutil
import tempfile
import unittest

import h5py
import numpy as np

from cosmo_data import DataError, Inputs, Split, read_manifest
from cosmo_data.manifest import id_of
from toolkit import ROOT, PrepTest, flip, record_again, sha256

OLD = ROOT / "tests/data/c06b980"


def write_manifest(directory, change):
    """Alters a manifest on purpose; its id stays true."""
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest["id"] = id_of(manifest)
    path.write_text(json.dumps(manifest))


def mean_of_first(split):
    return float(split[0].voxels.mean())


class Sequence(PrepTest):
    def stored(self, name):
        """All rows of a split, by h5py alone: {dataset: array}."""
        tables = {}
        for path in self.manifest("data")["splits"][name]["shards"]:
            with h5py.File(self.root / "data" / path) as shard:
                for key in ("x", "y", "y_unit", "simulation", "subvolume", "seed"):
                    tables.setdefault(key, []).extend(shard[key][:])
        return tables

    def test_samples_are_those_of_the_shards(self):
        for name in ("train", "validation", "test"):
            split, stored = Split(self.root / "data", name), self.stored(name)
            self.assertEqual(len(split), len(stored["x"]))
            self.assertGreater(len(split), 9)  # more than a shard
            for i, (voxels, parameters, identity) in enumerate(split):
                np.testing.assert_array_equal(voxels, stored["x"][i])
                self.assertEqual((voxels.dtype, voxels.shape), (np.uint16, split.shape))
                np.testing.assert_array_equal(parameters, stored["y"][i])
                np.testing.assert_array_equal(split.labels(i), stored["y_unit"][i])
                np.testing.assert_allclose(split.physical(split.labels(i)), parameters, rtol=1e-6)
                self.assertEqual(identity[2:5], tuple(stored[key][i] for key in ("simulation", "subvolume", "seed")))
                self.assertEqual((identity.shard, identity.row), (f"{name}/shard-{i // 9:05}.h5", i % 9))

    def test_slices_are_splits(self):
        split = Split(self.root / "data")
        part = split[20:3:-4]
        self.assertEqual([part.number(i) for i in range(len(part))], [20, 16, 12, 8, 4])
        np.testing.assert_array_equal(part[-1].voxels, split[4].voxels)
        self.assertEqual(part[1:3].identity(1), split.identity(12))
        self.assertEqual(split[-1].identity, split.identity(len(split) - 1))
        for index in (len(split), -len(split) - 1):
            with self.assertRaises(IndexError):
                split[index]

    def test_a_split_has_a_name(self):
        with self.assertRaisesRegex(TypeError, "'train'"):
            Split(self.root / "data", ["train"])

    def test_samples_can_be_looked_for(self):
        split = Split(self.root / "data")
        self.assertEqual(split[1], split[1])
        self.assertTrue(split[1] != split[2])
        self.assertIn(split[1], split[:3])
        self.assertNotIn(split[3], split[:3])
        self.assertEqual((split.index(split[2]), split.count(split[2])), (2, 1))
        self.assertEqual(len({split[0], split[0], split[1]}), 2)

    def test_what_it_gives_is_a_copy(self):
        split = Split(self.root / "data")
        for read in (split.parameters, split.labels, lambda i: split[i].parameters):
            expected = read(0).copy()
            read(0)[:] = 7
            np.testing.assert_array_equal(read(0), expected)

    def test_a_relative_directory(self):
        with contextlib.chdir(self.root):
            split = Split("data")
        self.assertEqual(split[0].voxels.shape, split.shape)
        split.verify()

    def test_it_is_read_in_other_processes(self):
        split = Split(self.root / "data")[5:]
        expected = mean_of_first(split)  # whose shard is open now
        self.assertEqual(mean_of_first(pickle.loads(pickle.dumps(split))), expected)
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map(mean_of_first, [split] * 4), [expected] * 4)

    def test_verify(self):
        for name in ("train", "validation", "test"):
            Split(self.root / "data", name).verify()


class Kinds(unittest.TestCase):
    """Files of an earlier version: the first schema, gzip, several redshifts, rolls, fields."""

    def check(self, directory, shape, kind):
        for name in ("train", "validation", "test"):
            split = Split(OLD / directory, name)
            split.verify()
            with h5py.File(OLD / directory / split.identity(0).shard) as shard:
                np.testing.assert_array_equal(split[0].voxels, shard["x"][0])
                self.assertEqual((split[0].voxels.shape, split[0].voxels.dtype), (shape, kind))
        return Split(OLD / directory)

    def test_counts(self):
        split = self.check("data", (8, 8, 8), np.uint16)
        self.assertEqual({split.identity(i).shard for i in range(len(split))}, {"train/shard-00000.h5", "train/shard-00001.h5"})

    def test_channels_and_rolls(self):
        split = self.check("channels", (2, 8, 8, 8), np.uint16)
        self.assertEqual({split.identity(i).roll for i in range(len(split))}, {0, 1})

    def test_fields(self):
        self.check("fields", (2, 8, 8, 8), np.float32)


class Refusals(PrepTest):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="cosmo-python-")
        self.addCleanup(holder.cleanup)
        self.data = pathlib.Path(holder.name) / "data"
        shutil.copytree(self.root / "data", self.data)
        self.shard = self.data / "train/shard-00001.h5"

    def refused_with(self, parts, act):
        with self.assertRaises(DataError) as caught:
            act()
        for part in parts:
            self.assertIn(str(part), str(caught.exception))

    def refused_at_opening(self, *parts, split="train"):
        self.refused_with(parts, lambda: Split(self.data, split))

    def refused_at_sample(self, *parts):
        """Only samples of the second shard are refused, when they are asked for."""
        split = Split(self.data)
        self.assertEqual(split[8].voxels.shape, split.shape)
        self.refused_with([self.shard, *parts], lambda: split[9])

    def test_no_manifest(self):
        (self.data / "manifest.json").unlink()
        self.refused_at_opening(self.data / "manifest.json", "is not a finished output; rerun")

    def test_a_manifest_that_is_not_json(self):
        (self.data / "manifest.json").write_text('{"schema": "cosmo.manifest/1"')
        self.refused_at_opening(self.data / "manifest.json", "not a readable manifest", "restore it")

    def test_a_manifest_of_another_kind(self):
        self.refused_with([self.root / "sim/manifest.json", "'generate'", "give a directory of stage 'shard'"],
                          lambda: Split(self.root / "sim"))
        write_manifest(self.data, lambda manifest: manifest.update(schema="cosmo.manifest/9"))
        self.refused_at_opening("manifest.json has schema 'cosmo.manifest/9': this version reads cosmo.manifest/1")

    def test_an_altered_manifest(self):
        path = self.data / "manifest.json"
        path.write_text(path.read_text().replace('"samples_per_shard": 9', '"samples_per_shard": 8', 1))
        self.refused_at_opening(path, "does not match its id", "--force")

    def test_a_path_outside(self):
        write_manifest(self.data, lambda manifest: manifest["files"][0].update(path="../secret"))
        self.refused_at_opening("'../secret' outside its directory")

    def test_values_that_no_dataset_has(self):
        original = (self.data / "manifest.json").read_bytes()
        def train(**values):
            return lambda manifest: manifest["splits"]["train"].update(values)
        def first_file_lacks(key):
            return lambda manifest: manifest["files"][0].pop(key)
        for change in (train(samples=31.5), train(samples=0), train(samples=-1), train(samples=1 << 70), train(shards=[]),
                       train(shards=["train/shard-00000.h5"]), train(shards=[{}] * 4),
                       first_file_lacks("bytes"), first_file_lacks("sha256"),
                       lambda manifest: manifest["origin"].update(samples_per_shard=0), lambda manifest: manifest.update(origin=[]),
                       lambda manifest: manifest["parameters"].update(low="none"), lambda manifest: manifest["parameters"].update(low=[0]),
                       lambda manifest: manifest["parameters"].update(high=manifest["parameters"]["low"]),
                       lambda manifest: manifest.update(shape=["8"] * 3), lambda manifest: manifest.update(shape=[8, 8, 9]),
                       lambda manifest: manifest.update(shape=[0, 0, 0])):
            write_manifest(self.data, change)
            self.refused_at_opening(self.data / "manifest.json", "not a readable manifest", "restore it")
            (self.data / "manifest.json").write_bytes(original)
        Split(self.data)
        (self.data / "manifest.json").write_text("[" * 100000)
        self.refused_at_opening(self.data / "manifest.json", "RecursionError", "restore it")

    def test_a_manifest_without_statistics(self):
        write_manifest(self.data, lambda manifest: manifest.pop("statistics"))
        self.refused_with([self.data / "manifest.json", "'statistics'", "restore it"], lambda: Inputs(Split(self.data)))

    def test_an_unknown_split(self):
        self.refused_at_opening("manifest.json lacks 'training'", split="training")

    def test_a_missing_shard(self):
        self.shard.unlink()
        self.refused_at_opening(self.shard, "is missing: restore it")

    def test_a_shard_that_is_not_listed(self):
        write_manifest(self.data, lambda manifest: manifest["files"].clear())
        self.refused_at_opening("train/shard-00000.h5 is not listed")

    def test_a_truncated_shard(self):
        content = self.shard.read_bytes()
        self.shard.write_bytes(content[:-1])
        self.refused_at_opening(self.shard, "bytes and its manifest records", "truncated", "--force")
        self.shard.write_bytes(content[:len(content) // 2])
        record_again(self.data, self.shard)
        self.refused_at_sample("not a readable shard", "restore it")

    def test_damaged_voxels(self):
        voxels = Split(self.data)[10].voxels
        flip(self.shard, self.shard.read_bytes().index(voxels.tobytes()))
        split = Split(self.data)
        self.assertEqual(split[9].voxels.shape, split.shape)
        self.refused_with([self.shard, "sample 1 differs from its crc32", "--force"], lambda: split[10])
        self.refused_with([self.shard, "differs from its manifest's sha256"], split.verify)
        self.assertEqual((Split(self.data, check=False)[10].voxels != voxels).sum(), 1)

    def test_another_version(self):
        with h5py.File(self.shard, "r+") as shard:
            shard.attrs["schema_version"] = np.uint64(5)
        record_again(self.data, self.shard)
        self.refused_at_sample("has schema cosmo.shard 5: this version reads cosmo.shard 1 to 4")

    def test_a_shard_without_a_table(self):
        with h5py.File(self.shard, "r+") as shard:
            del shard["y"]
        record_again(self.data, self.shard)
        self.refused_at_sample("not a readable shard")

    def test_tables_of_another_kind(self):
        original = self.shard.read_bytes()
        rows = len(h5py.File(self.shard)["y"])
        for name, table in (("roll", np.zeros(3, "uint16")), ("y", np.zeros(rows)), ("y", np.full((rows, 3), b"0.3")),
                            ("y_unit", np.zeros((rows, 7), "float32")), ("seed", np.zeros(rows)), ("crc32", np.uint32(1))):
            with h5py.File(self.shard, "r+") as shard:
                if name in shard:
                    del shard[name]
                shard[name] = table
            record_again(self.data, self.shard)
            self.refused_at_sample(f"another shape or type of {name} than its manifest", "restore it")
            self.shard.write_bytes(original)

    def test_groups_for_datasets(self):
        original = self.shard.read_bytes()
        for name in ("x", "y"):
            with h5py.File(self.shard, "r+") as shard:
                del shard[name]
                shard.create_group(name)
            record_again(self.data, self.shard)
            self.refused_at_sample("not a readable shard", "restore it")
            self.shard.unlink()  # h5py may still have it open
            self.shard.write_bytes(original)

    def test_a_shard_without_the_rolls_of_its_dataset(self):
        write_manifest(self.data, lambda manifest: manifest.update(rolls=1))
        self.refused_with([self.data / "train/shard-00000.h5", "roll", "restore it"], lambda: Split(self.data)[0])

    def test_a_shard_of_another_dataset(self):
        shutil.copy(OLD / "data/train/shard-00000.h5", self.shard)
        record_again(self.data, self.shard)
        self.refused_at_sample("another shape", "belongs to another dataset")


class Ids(PrepTest):
    def test_every_stage(self):
        """The id of each manifest is computed as the tools do."""
        manifests = [self.root / "sim", self.root / "data", *(path.parent for path in OLD.glob("*/manifest.json"))]
        for directory in manifests:
            self.assertTrue(read_manifest(directory)["id"].startswith("sha256:"))
        self.assertEqual(sha256(self.root / "sim/manifest.json"), self.manifest("data")["inputs"][0]["sha256"])


if __name__ == "__main__":
    unittest.main()
