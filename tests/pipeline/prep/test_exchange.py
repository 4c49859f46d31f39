"""cosmo-prep export and import from outside: lossless, readable by others, safe to interrupt; 1 and 2 ranks."""

import csv
import gzip
import json
import os
import shutil
import signal
import unittest

import h5py
import numpy as np

import tfrecord
from toolkit import PrepTest, flip, make_suite, run_with_faults, times

USAGE, CONFIG, IO, FORMAT, NUMERIC = 2, 3, 4, 5, 6
FORMATS = {"npy": ["--format", "npy"], "mlperf": ["--format", "tfrecord"],
           "cosmoflow": ["--format", "tfrecord", "--dialect", "cosmoflow"]}
SPLITS = ("train", "validation", "test")


class ExchangeTest(PrepTest):
    """The dataset "data", and its exports under the names of their formats."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in FORMATS:
            cls.prep(*cls.export(name), "--output", name)

    def tearDown(self):
        self.assertFalse((self.root / "never").exists())

    @classmethod
    def export(cls, name, data="data"):
        return ["export", "--input", data, *FORMATS[name]]

    def comes_back(self, data, *names):
        """Checks that exports of a dataset are imported as it was."""
        for name in names:
            out, again = f"{data}-{name}", f"{data}-{name}-again"
            self.prep(*self.export(name, data), "--output", out)
            self.prep("import", "--input", out, *FORMATS[name], "--output", again)
            self.assertEqual(self.contents(again), self.contents(data))

    def size(self, name, paths=None):
        """The bytes of these files of a directory, or of all but its manifest."""
        paths = set(self.contents(name)) - {"manifest.json"} if paths is None else paths
        return sum((self.root / name / path).stat().st_size for path in paths)

    def samples(self, name):
        """(split, shard, what it holds) of each sample, in the dataset's order."""
        for split in SPLITS:
            for path in self.manifest(name)["splits"][split]["shards"]:
                with h5py.File(self.root / name / path) as shard:
                    for row in range(len(shard["x"])):
                        yield split, path, {column: shard[column][row] for column in shard}


class Exports(ExchangeTest):
    def foreign_sample(self, name, path):
        """Voxels and labels as read by a program that has nothing but the format."""
        if name == "npy":
            return np.load(path), None
        data = path.read_bytes()
        (record,) = tfrecord.records(gzip.decompress(data) if name == "mlperf" else data)
        features = tfrecord.example(record)
        kinds = {key: kind for key, (kind, _) in features.items()}
        if name == "mlperf":
            self.assertEqual(kinds, {"x": 1, "y": 2})
            x, y = np.frombuffer(features["x"][1], "<i2"), np.frombuffer(features["y"][1], "<f4")
        else:
            self.assertEqual(kinds, {"data_raw": 1, "label_raw": 1})
            x, y = (np.frombuffer(features[key][1], "<f8") for key in ("data_raw", "label_raw"))
        side = round(len(x) ** (1 / 3))
        return x.reshape(side, side, side, 1)[..., 0], y

    def test_others_can_read_them(self):
        for name in FORMATS:
            table = list(csv.DictReader((self.root / name / "samples.csv").read_text().splitlines()))
            for row, (split, path, sample) in zip(table, self.samples("data"), strict=True):
                self.assertEqual((row["split"], row["shard"]), (split, path))
                self.assertTrue(row["file"].startswith(split + "/"))
                for key in ("simulation", "subvolume", "seed", "crc32"):
                    self.assertEqual(int(row[key]), sample[key])
                self.assertEqual([float(row[key]) for key in ("omega_m", "sigma8", "n_s")], list(sample["y"]))
                x, y = self.foreign_sample(name, self.root / name / row["file"])
                np.testing.assert_array_equal(x, sample["x"])
                if name == "npy":
                    self.assertEqual(x.dtype, np.uint16)
                else:
                    np.testing.assert_array_equal(y, sample["y_unit"] if name == "mlperf" else sample["y"])

    def test_the_plan_is_what_is_done(self):
        for name, voxel in {"npy": 2, "mlperf": 2, "cosmoflow": 8}.items():
            words = [*self.export(name), "--output", f"planned-{name}"]
            plan = self.summary(*words, "--dry-run")
            self.assertFalse((self.root / f"planned-{name}").exists())
            self.assertEqual((plan["samples"], plan["disk_bytes"]), (80, 80 * 6**3 * voxel))
            summary = self.summary(*words)
            self.assertEqual((summary["samples_written"], summary["up_to_date"]), (80, False))
            self.assertEqual(summary["id"], plan["id"])
            self.assertEqual(summary["bytes"], self.size(f"planned-{name}"))

    def test_two_ranks_write_the_same_bytes(self):
        for name in FORMATS:
            self.prep(*self.export(name), "--output", f"{name}2", "--threads", 1, ranks=2)
            self.assertEqual(self.contents(f"{name}2"), self.contents(name))

    def test_a_rerun_writes_nothing(self):
        for name in FORMATS:
            before = times(self.root / name)
            self.assertIn("up to date", self.prep(*self.export(name), "--output", name, ranks=2))
            self.assertEqual(times(self.root / name), before)

    def test_an_altered_export_is_written_again(self):
        path = self.root / "npy/manifest.json"
        whole = path.read_bytes()
        files = json.loads(whole)["files"]
        for key, value in (("format", 7), ("samples", 1), ("dataset", {}), ("files", []), ("files", files + files[:1]),
                           ("files", [file for file in files if file["path"] != "samples.csv"])):
            path.write_text(json.dumps({**json.loads(whole), key: value}))
            self.prep(*self.export("npy"), "--output", "npy")
            self.assertEqual(path.read_bytes(), whole)

    def test_a_count_above_32767_has_room_in_some_formats(self):
        make_suite(self.root / "heap", 4, 4, 3, "", 40000)
        self.prep("shard", "--input", "heap", "--output", "heap-data", "--validation", 1, "--test", 1)
        self.refused_alike(NUMERIC, ["counts 40", "room for 32767"], *self.export("mlperf", "heap-data"), "--output",
                           "never")
        self.comes_back("heap-data", "npy", "cosmoflow")


class Imports(ExchangeTest):
    def test_they_give_the_dataset_back(self):
        for name, ranks in ((name, ranks) for name in FORMATS for ranks in (1, 2)):
            with self.subTest(name, ranks=ranks):
                again = f"{name}-again{ranks}"
                words = ["import", "--input", name, *FORMATS[name], "--output", again]
                plan = self.summary(*words, "--dry-run")
                self.assertEqual((plan["disk_bytes"], plan["disk_bytes_to_write"]), (self.size("data"),) * 2)
                summary = self.summary(*words, ranks=ranks)
                self.assertEqual((summary["identical"], summary["samples"]), (True, 80))
                self.assertEqual(self.contents(again), self.contents("data"))
                self.assertIn("up to date", self.prep(*words))
                self.prep("verify", again, ranks=ranks)
                lost = ["train/shard-00001.h5", "test/shard-00000.h5"]
                for path in lost:
                    (self.root / again / path).unlink()
                self.assertEqual(self.summary(*words, "--dry-run")["disk_bytes_to_write"], self.size("data", lost))
                self.prep(*words, ranks=ranks)
                self.assertEqual(self.contents(again), self.contents("data"))

    def test_rolls_come_back(self):
        self.prep("shard", "--input", "sim", "--output", "rolled", "--validation", 1, "--test", 1, "--rolls", 2)
        self.comes_back("rolled", "npy")

    def test_compression_comes_back(self):
        self.prep("shard", "--input", "sim", "--output", "packed", "--validation", 1, "--test", 1, "--compress", "gzip")
        self.comes_back("packed", "npy")


class Interruptions(ExchangeTest):
    def survives_kills(self, kills, whole, *words):
        """After kills at file operations throughout, reruns on one rank and on two write the bytes of an unbroken run."""
        cut, count = self.root / f"cut-{words[0]}", self.root / "operations"
        words = [*words, "--output", cut.name]

        def run(**faults):
            return run_with_faults({"KILL_UNDER": cut, **faults}, "cosmo-prep", *words, "--threads", 1, cwd=self.root)

        done = run(KILL_COUNT=count)
        self.assertEqual(done.returncode, 0, done.stderr)
        operations = int(count.read_text())
        self.assertEqual(self.contents(cut.name), self.contents(whole))
        self.assertGreater(operations, 50)
        for kill in range(kills):
            with self.subTest(kill=kill):
                shutil.rmtree(cut)
                self.assertEqual(run(KILL_AT=1 + operations * kill // kills).returncode, -signal.SIGKILL)
                self.assertNotIn("manifest.json", self.contents(cut.name))
                self.prep(*words, ranks=1 + kill % 2)
                self.assertEqual(self.contents(cut.name), self.contents(whole))

    def test_exports_survive_kills(self):
        self.survives_kills(12, "npy", *self.export("npy"))

    def test_imports_survive_kills(self):
        self.survives_kills(8, "data", "import", "--input", "npy", "--format", "npy")

    def test_a_full_disk_is_an_error_and_a_rerun_goes_on(self):
        words = [*self.export("npy"), "--output", "full"]
        done = run_with_faults({"DISK_BYTES": 20000, "DISK_SUFFIX": ".npy.part"}, "cosmo-prep", *words, cwd=self.root)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("cannot be written", done.stderr)
        self.prep(*words)
        self.assertEqual(self.contents("full"), self.contents("npy"))


class DamageTest(ExchangeTest):
    def damaged(self, damage, path=None):
        """Damages a file of a copy of each export, by default a sample; gives its path and how to import the copy."""
        for name in FORMATS:
            shutil.rmtree(self.root / "bad", ignore_errors=True)
            shutil.copytree(self.root / name, self.root / "bad")
            file = path or [file for file in self.contents(name) if file.startswith("train/")][3]
            damage(self.root / "bad" / file)
            yield f"bad/{file}", ["import", "--input", "bad", *FORMATS[name], "--output", "refused", "--force"]


class Damages(DamageTest):
    """Every alteration of an export is named."""

    def test_a_flipped_bit_in_a_sample(self):
        for file, words in self.damaged(lambda path: flip(path, path.stat().st_size // 2)):
            self.refused_alike(FORMAT, [file], *words)

    def test_a_flipped_bit_in_the_table(self):
        for file, words in self.damaged(lambda path: flip(path, 400), "samples.csv"):
            self.refused_alike(FORMAT, [file], *words)


class Losses(DamageTest):
    """Everything that an export lacks is named."""

    def test_a_truncated_sample(self):
        for file, words in self.damaged(lambda path: os.truncate(path, 30)):
            self.refused_alike(FORMAT, [file, "30 bytes"], *words)

    def test_a_missing_sample(self):
        for file, words in self.damaged(os.remove):
            self.refused_alike(IO, [file, "missing"], *words)


class Refusals(ExchangeTest):
    def test_another_format_than_that_of_the_export(self):
        words = ["import", "--output", "never", "--input"]
        self.refused_alike(CONFIG, ["--format npy"], *words, "npy", *FORMATS["mlperf"])
        self.refused_alike(CONFIG, ["--dialect mlperf"], *words, "mlperf", *FORMATS["cosmoflow"])

    def test_an_output_that_holds_something_else(self):
        self.refused_alike(CONFIG, ["npy"], *self.export("mlperf"), "--output", "npy")
        self.refused_alike(CONFIG, ["data"], *self.export("npy"), "--output", "data")

    def test_options_that_cannot_be(self):
        words = ["export", "--input", "data", "--output", "never", "--format"]
        self.refused(USAGE, [], *words, "zip")
        self.refused(CONFIG, [], *words, "npy", "--dialect", "mlperf")

    def test_an_input_that_is_not_a_dataset(self):
        self.refused_alike(FORMAT, ["sim"], *self.export("npy", "sim"), "--output", "never")

    def test_a_damaged_dataset(self):
        bad = shutil.copytree(self.root / "data", self.root / "bad-data")
        flip(bad / "train/shard-00002.h5", 9000)
        self.refused_alike(FORMAT, ["bad-data/train/shard-00002.h5"], *self.export("npy", "bad-data"), "--output",
                           "refused")


class ForeignTest(ExchangeTest):
    """Samples as others might have them: counts of 6 universes, two samples each, of two redshifts, in three formats."""

    COMMON = ["--box", 64, "--redshifts", "0,1", "--samples-per-shard", 5, "--quiet"]
    RANGES = ["--parameters", "omega_m=0.2:0.4,sigma8=0.7:0.9"]
    OLD_SPLITS = ["train"] * 8 + ["test"] * 2 + ["validation"] * 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(5)
        cls.x = random.poisson(6, (12, 2, 4, 4, 4))
        cls.y = np.repeat(random.uniform((0.2, 0.7), (0.4, 0.9), (6, 2)), 2, 0)
        cls.write_npy(cls.root / "npy-of-others", [x.astype(("u1", "<i4", "<f8")[i % 3]) for i, x in enumerate(cls.x)])
        cls.write_table("npy", "file,simulation,omega_m,sigma8",
                        [f"{i}.npy,{40 + i // 2},{float(y[0])!r},{float(y[1])!r}" for i, y in enumerate(cls.y)], end="")
        last = np.moveaxis(cls.x, 1, -1)
        unit = (2 * (cls.y - (0.2, 0.7)) / 0.2 - 1).astype("<f4")
        (cls.root / "tf-of-others").mkdir()
        for i in range(12):
            features = {"y": (2, unit[i].tobytes()), "x": (1, last[i].astype("<i2").tobytes())}
            tfrecord.write(cls.root / f"tf-of-others/{i}.tfrecord", [features], i % 2 == 0)
        cls.write_table("tf", "index,file,simulation,subvolume", [f"{i},{i}.tfrecord,{40 + i // 2},{i % 2}" for i in range(12)])
        (cls.root / "old-of-others").mkdir()
        tfrecord.write(cls.root / "old-of-others/all.tfrecord",
                       [{"data_raw": (1, last[i].astype("<f8").tobytes()), "label_raw": (1, cls.y[i].tobytes())}
                        for i in range(12)], False)
        cls.write_table("old", "file,record,simulation,split",
                        [f"all.tfrecord,{i},{40 + i // 2},{split}" for i, split in enumerate(cls.OLD_SPLITS)])

    @classmethod
    def write_npy(cls, folder, arrays):
        folder.mkdir()
        for i, array in enumerate(arrays):
            np.save(folder / f"{i}.npy", array)

    @classmethod
    def write_table(cls, name, head, lines, end="\n"):
        (cls.root / f"{name}.csv").write_text("\n".join([head, *lines]) + end)

    @classmethod
    def words(cls, name, form, *more):
        """How a table of others' samples is imported."""
        return ["import", "--input", f"{name}-of-others", "--samples", f"{name}.csv", *FORMATS[form], *cls.COMMON,
                *more]

    def imported(self, name):
        """{(simulation, sub-volume): (x, y, split)} of a dataset."""
        return {(s["simulation"], s["subvolume"]): (s["x"], s["y"], split) for split, _, s in self.samples(name)}


class Foreign(ForeignTest):
    def becomes_a_dataset(self, name, words, tolerance=0):
        """Checks what is imported; returns the split of each sample."""
        self.prep(*words, "--output", name)
        self.prep(*words, "--output", name + "2", ranks=2)
        self.assertEqual(self.contents(name + "2"), self.contents(name))
        self.assertIn("up to date", self.prep(*words, "--output", name))
        self.prep("verify", name)
        rows = self.imported(name)
        self.assertEqual(len(rows), 12)
        found = [rows[40 + i // 2, i % 2] for i in range(12)]
        for (voxels, labels, _), x, y in zip(found, self.x, self.y):
            self.assertEqual(voxels.dtype, np.uint16)
            np.testing.assert_array_equal(voxels, x)
            np.testing.assert_allclose(labels, y, atol=tolerance)
        splits = [split for _, _, split in found]
        self.assertEqual(splits[::2], splits[1::2])  # a universe belongs to one split
        manifest = self.manifest(name)
        self.assertEqual((manifest["statistics"]["particles_in"], manifest["redshifts"]), (self.x.sum(), [0, 1]))
        self.comes_back(name, "npy")  # and is exported and imported again
        return splits

    def test_npy_files(self):
        self.becomes_a_dataset("from-npy", self.words("npy", "npy"))

    def test_tfrecords(self):
        self.becomes_a_dataset("from-tf", self.words("tf", "mlperf", *self.RANGES), tolerance=1e-7)

    def test_tfrecords_of_the_older_dialect_in_one_file(self):
        splits = self.becomes_a_dataset("from-old", self.words("old", "cosmoflow", *self.RANGES))
        self.assertEqual(splits, self.OLD_SPLITS)

    def test_densities_are_fields_bit_for_bit(self):
        field = (self.x / self.x.mean() - 1).astype("<f4")
        self.write_npy(self.root / "fields", field)
        words = ["import", "--input", "fields", "--samples", "npy.csv", *FORMATS["npy"], *self.COMMON]
        self.refused_alike(FORMAT, ["not a count", "--voxels field"], *words, "--output", "refused")
        self.prep(*words, "--voxels", "field", "--output", "from-fields")
        self.prep("verify", "from-fields", ranks=2)
        for (simulation, n), (voxels, _, _) in self.imported("from-fields").items():
            self.assertEqual(voxels.dtype, np.float32)
            np.testing.assert_array_equal(voxels, field[2 * (simulation - 40) + n])
        self.comes_back("from-fields", "npy", "cosmoflow")
        self.refused_alike(CONFIG, ["float32 field"], *self.export("mlperf", "from-fields"), "--output", "refused")


    def test_samples_in_redshift_space_stay_in_it(self):
        self.prep(*self.words("npy", "npy"), "--redshift-space", "y", "--output", "along-y")
        self.assertEqual(self.manifest("along-y")["redshift_space"], "y")
        for _, path, _ in self.samples("along-y"):
            with h5py.File(self.root / "along-y" / path) as file:
                self.assertEqual(file.attrs["redshift_space"], "y")
        self.comes_back("along-y", "npy")
        self.refused(USAGE, ["--redshift-space"], *self.words("npy", "npy"), "--redshift-space", "r", "--output", "never")


class ForeignRefusals(ForeignTest):
    def test_what_cannot_be_known_is_asked_for(self):
        npy = ["import", "--input", "npy-of-others", "--format", "npy", "--output", "never"]
        tf = ["import", "--input", "tf-of-others", "--format", "tfrecord", "--output", "never", "--samples", "tf.csv"]
        table = ["--samples", "npy.csv"]
        self.refused(CONFIG, ["--samples FILE.csv"], *npy)
        self.refused(USAGE, ["--box"], *npy, *table)
        self.refused(CONFIG, ["ranges are needed"], *tf, *self.COMMON, "--parameters", "omega_m,sigma8")
        self.refused(CONFIG, ["names no parameter"], *tf, *self.COMMON)
        self.refused(CONFIG, ["has 2 labels"], *tf, *self.COMMON, "--parameters", "omega_m=0:1")
        self.refused(FORMAT, ["--dialect"], *tf, "--dialect", "cosmoflow", *self.COMMON, *self.RANGES)
        self.refused(FORMAT, ["not a cube"], *tf, "--box", 64, *self.RANGES)
        self.refused(CONFIG, ["beyond"], *npy, *self.COMMON, *table, "--parameters", "omega_m=0.3:0.31,sigma8")
        self.refused(USAGE, ["empty range"], *npy, *self.COMMON, *table, "--parameters", "omega_m=1:0")

    def test_what_an_export_records_is_not_an_option(self):
        self.refused(CONFIG, ["leave it out"], "import", "--input", "npy", "--format", "npy", "--box", 3, "--output",
                     "never")

    def test_tables_that_cannot_be(self):
        shutil.copy(self.root / "npy-of-others/0.npy", self.root / "npy-of-others/0-again.npy")
        head, *lines = (self.root / "npy.csv").read_text().splitlines()
        *first, last = lines
        values = last.removeprefix("11.npy")
        for name, code, part, head, lines in (
                ("no-simulation", FORMAT, "'simulation'", head.replace("simulation", "universe"), lines),
                ("uneven", FORMAT, "the same number", head, first),
                ("torn", FORMAT, "line 13", head, first + ["11.npy,45"]),
                ("mixed", FORMAT, "same seed, split and parameters", head, first + ["11.npy,45,0.3,0.8"]),
                ("absent", IO, "none.npy", head, first + ["none.npy" + values]),
                ("twins", CONFIG, "share the seed 7", "seed," + head, ["7," + line for line in lines]),
                ("copies", FORMAT, "0.npy and 0-again.npy hold the same", head, first + ["0-again.npy" + values]),
                ("outside", FORMAT, "line 13 names the file '../npy/0.npy', which is not below", head, first + ["../npy/0.npy" + values]),
                ("root", FORMAT, "names the file '/etc/passwd', which is not below", head, first + ["/etc/passwd" + values]),
                ("unsplit", FORMAT, "no validation samples", "split," + head, ["train," + line for line in lines])):
            with self.subTest(name):
                self.write_table(name, head, lines, end="")
                self.refused(code, [part], "import", "--input", "npy-of-others", "--format", "npy", "--output", "never",
                             *self.COMMON, "--samples", f"{name}.csv")


if __name__ == "__main__":
    unittest.main()
