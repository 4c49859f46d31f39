"""cosmo-prep shard: redshifts, cuts and rolls against NumPy, constant memory, refusals; and training on what it writes.

COSMO_SHARDS=all measures memory at 16 and 512 simulations of 128³ (4.3 GB on disk) instead of 16 and 64 of 32³:
    COSMO_BIN=build/release/bin PYTHONPATH=tests/pipeline/support COSMO_SHARDS=all /usr/bin/python3 tests/pipeline/prep/test_shards.py
"""

import csv
import json
import os
import shutil
import subprocess
import unittest
import zlib

import h5py
import numpy as np

import synthetic
from toolkit import (ENVIRONMENT, DirectoryTest, command, command_with_faults, contents, error_line, run, sha256,
                     succeed)

ALL = os.environ.get("COSMO_SHARDS") == "all"
USAGE, CONFIG, IO, FORMAT, NUMERIC = 2, 3, 4, 5, 6
UNIVERSES, GRID = 8, 12


def samples_of(data, split):
    """All samples of a split: dictionaries of the shards' datasets."""
    for name in json.loads((data / "manifest.json").read_text())["splits"][split]["shards"]:
        with h5py.File(data / name) as shard:
            columns = {key: shard[key][:] for key in shard}
            for row in range(len(columns["x"])):
                yield {key: column[row] for key, column in columns.items()}


class Shards(DirectoryTest):
    SPLIT = ["--samples-per-shard", 9, "--validation", 2, "--test", 1]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sim = cls.root / "sim"
        cls.counts = synthetic.write_suite(cls.sim, UNIVERSES, GRID, (0, 0.5, 3))
        cls.words = ["shard", "--input", cls.sim, *cls.SPLIT]

    def shard(self, name, *words, ranks=1):
        summary = succeed("cosmo-prep", *self.words, *words, "--output", self.root / name, ranks=ranks)
        succeed("cosmo-prep", "verify", self.root / name, ranks=ranks)
        return self.root / name, summary

    def expected(self, sample, cuts, redshifts, grid=GRID):
        """What NumPy sums, rolls and cuts for a sample."""
        side, n, each = grid // cuts, int(sample["subvolume"]), GRID // grid
        first = [n // cuts**2 * side, n // cuts % cuts * side, n % cuts * side]
        shift = sample.get("shift", np.zeros(3)).astype(int)
        channels = []
        for z in redshifts:
            box = self.counts[int(sample["simulation"]), z].reshape(grid, each, grid, each, grid, each).sum(axis=(1, 3, 5))
            box = np.roll(box, -shift, axis=(0, 1, 2))
            channels.append(box[tuple(slice(f, f + side) for f in first)])
        return channels[0] if len(redshifts) == 1 else np.stack(channels)

    def check(self, data, cuts, redshifts, rolls=0, grid=GRID):
        seen = set()
        for split in ("train", "validation", "test"):
            for sample in samples_of(data, split):
                np.testing.assert_array_equal(sample["x"], self.expected(sample, cuts, redshifts, grid))
                self.assertEqual(zlib.crc32(sample["x"].tobytes()), sample["crc32"])
                planes = sample["x"].reshape(-1, grid // cuts, grid // cuts)
                self.assertEqual([zlib.crc32(plane.tobytes()) for plane in planes], list(sample["plane_crc32"].flat))
                roll = int(sample.get("roll", 0))
                self.assertLessEqual(roll, rolls if split == "train" else 0)
                seen.add((int(sample["simulation"]), roll, int(sample["subvolume"])))
        self.assertEqual(len(seen), (UNIVERSES + (UNIVERSES - 3) * rolls) * cuts**3)

    def test_ids_are_those_from_before_there_were_redshifts_and_rolls(self):
        data, summary = self.shard("plain")
        manifest = json.loads((data / "manifest.json").read_text())
        config = {"grid": GRID, "subvolumes": 2, "samples_per_shard": 9, "validation": 2, "test": 1, "compress": "none",
                  "seed": 1}
        self.assertEqual(manifest["config"], config)
        canonical = {"schema": "cosmo.manifest/1", "stage": "shard", "config": config,
                     "inputs": [json.loads((self.sim / "manifest.json").read_text())["id"]]}
        digest = synthetic.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode())
        self.assertEqual(manifest["id"], "sha256:" + digest)
        self.assertEqual(set(manifest), {"schema", "stage", "id", "code", "config", "inputs", "files", "parameters", "shape",
                                         "redshifts", "subvolumes_per_simulation", "splits", "statistics", "origin",
                                         "box_mpc_h", "voxel_mpc_h"})
        with h5py.File(data / "train/shard-00000.h5") as shard:
            self.assertEqual(set(shard), {"x", "y", "y_unit", "crc32", "plane_crc32", "simulation", "subvolume", "seed"})
        self.assertEqual(contents(self.shard("plain-again", "--redshifts", 0, "--rolls", 0, ranks=2)[0]), contents(data))

    def test_cuts(self):
        for cuts in (1, 2, 3, 4, 6):
            data, _ = self.shard(f"cuts{cuts}", "--subvolumes", cuts, "--grid", GRID)
            self.check(data, cuts, [0])

    def test_coarser_grids_are_sums(self):
        particles = int(self.counts[0, 0].sum())
        for grid, cuts in ((6, 1), (6, 2), (4, 2), (3, 1), (1, 1)):
            data, summary = self.shard(f"grid{grid}-{cuts}", "--grid", grid, "--subvolumes", cuts)
            self.check(data, cuts, [0], grid=grid)
            self.assertEqual((summary["voxel_mpc_h"], summary["statistics"]["mean_count"]), (64 / grid, particles / grid**3))
        data, _ = self.shard("grid-rolled", "--grid", 6, "--rolls", 2, "--redshifts", "0.5,0")
        self.check(data, 2, [0.5, 0], rolls=2, grid=6)
        self.assertTrue(any(max(sample["shift"]) > 0 for sample in samples_of(data, "train")))
        self.assertEqual(contents(self.shard("grid-again", "--grid", 6, "--rolls", 2, "--redshifts", "0.5,0", ranks=2)[0]),
                         contents(data))

    def test_a_sum_above_65535_is_refused(self):
        def crowded(file):
            counts = file["counts"][:]
            for z in (6, 7):  # 65536 particles in one voxel of a grid half as fine
                counts[2, 4, z] += 32768
            file.attrs.modify("particles", counts.sum(dtype="u8"))
            file["counts"][:] = counts

        suite = self.root / "crowded"
        synthetic.write_suite(suite, UNIVERSES, GRID)
        for folder in suite.glob("sim-*"):
            with h5py.File(folder / "counts_z0.h5", "r+") as file:
                crowded(file)
        manifest = json.loads((suite / "manifest.json").read_text())
        for record in manifest["files"]:
            record.update(sha256=sha256(suite / record["path"]))
        (suite / "manifest.json").write_text(json.dumps(manifest))
        succeed("cosmo-prep", "shard", "--input", suite, *self.SPLIT, "--output", self.root / "crowded-fine")
        for ranks in (1, 2):
            done = run("cosmo-prep", "shard", "--input", suite, *self.SPLIT, "--grid", 6, "--output",
                       self.root / f"crowded-{ranks}", ranks=ranks)
            self.assertEqual(done.returncode, NUMERIC, done.stderr)
            for part in ("counts_z0.h5", "more than 65535", "finer --grid"):
                self.assertIn(part, error_line(done, "cosmo-prep"))
            self.assertFalse((self.root / f"crowded-{ranks}/manifest.json").exists())

    def test_redshifts_are_channels(self):
        for compress in ("none", "gzip"):
            data, summary = self.shard(f"channels-{compress}", "--redshifts", "0.5,0,3", "--compress", compress)
            self.assertEqual((summary["shape"], summary["redshifts"]), ([3, 6, 6, 6], [0.5, 0, 3]))
            self.check(data, 2, [0.5, 0, 3])
        data, summary = self.shard("early", "--redshifts", 3)
        self.assertEqual((summary["shape"], summary["redshifts"]), ([6, 6, 6], [3]))
        self.check(data, 2, [3])

    def test_rolls_are_new_cuts_of_training_universes(self):
        data, summary = self.shard("rolled", "--rolls", 3)
        self.check(data, 2, [0], rolls=3)
        self.assertEqual(summary["rolls"], 3)
        self.assertEqual({split: (len(record["simulations"]), record["samples"])
                          for split, record in summary["splits"].items()},
                         {"train": (5, 5 * 8 * 4), "validation": (2, 16), "test": (1, 8)})
        statistics = summary["statistics"]
        particles = sum(int(self.counts[i, 0].sum()) for i in range(UNIVERSES))
        self.assertEqual(statistics["particles_in"], particles // UNIVERSES * (UNIVERSES + 5 * 3))
        shifts = {}
        for sample in samples_of(data, "train"):
            shifts.setdefault((int(sample["simulation"]), int(sample["roll"])), set()).add(tuple(sample["shift"]))
        self.assertTrue(all(len(values) == 1 for values in shifts.values()))  # one a roll, whatever the cut
        self.assertTrue(all(values == {(0, 0, 0)} for (_, roll), values in shifts.items() if roll == 0))
        self.assertGreater(len({min(values) for values in shifts.values()}), 12)
        self.assertIn("no new universes", run("cosmo-prep", "describe", data).stdout)
        more, _ = self.shard("rolled-more", "--rolls", 4, "--redshifts", "0,0.5")
        self.check(more, 2, [0, 0.5], rolls=4)
        for sample in samples_of(more, "train"):  # a pure function of seed, simulation and number
            if sample["roll"] <= 3:
                self.assertEqual(shifts[int(sample["simulation"]), int(sample["roll"])], {tuple(sample["shift"])})
        self.assertEqual(contents(self.shard("rolled-together", "--rolls", 3, ranks=3)[0]), contents(data))

    def test_a_roll_that_the_dataset_does_not_have_is_found(self):
        data, _ = self.shard("rolled-wrongly", "--rolls", 1)
        shard = data / "train/shard-00000.h5"
        with h5py.File(shard, "r+") as file:
            file["roll"][0] = 2
        manifest = json.loads((data / "manifest.json").read_text())
        for record in manifest["files"]:
            if record["path"] == "train/shard-00000.h5":
                record.update(bytes=shard.stat().st_size, sha256=sha256(shard))
        (data / "manifest.json").write_text(json.dumps(manifest))
        done = run("cosmo-prep", "verify", data)
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("train/shard-00000.h5 sample 0 is of roll 2", error_line(done, "cosmo-prep"))

    def test_memory_does_not_grow_with_the_suite(self):
        few, many, grid = (16, 512, 128) if ALL else (16, 64, 32)
        peaks = {}
        for universes in (few, many):
            sim, data = self.root / f"sim{universes}", self.root / f"data{universes}"
            synthetic.write_suite(sim, universes, grid)
            peaks[universes] = succeed("cosmo-prep", "shard", "--input", sim, "--output", data)["peak_rss_bytes"]
            shutil.rmtree(sim)
            shutil.rmtree(data)
        print("peak resident memory: " + ", ".join(f"{p / 1e6:.1f} MB of {u} simulations" for u, p in peaks.items()))
        # A few kB per simulation: its entries in the manifest.
        self.assertLess(peaks[many], peaks[few] + 10e3 * (many - few) + 3e6)

    def refused(self, code, parts, *words):
        words = [*([] if "--input" in words else ["--input", self.sim]), *words]
        lines = []
        for ranks in (1, 2):
            done = run("cosmo-prep", "shard", *words, "--output", self.root / "never", ranks=ranks)
            self.assertEqual(done.returncode, code, done.stderr)
            lines.append(error_line(done, "cosmo-prep"))
            for part in parts:
                self.assertIn(str(part), lines[-1])
        self.assertEqual(lines[0], lines[1])
        self.assertFalse((self.root / "never").exists())

    def test_options_that_make_no_sense(self):
        self.refused(CONFIG, ["no counts at z = 1", "--redshifts"], "--redshifts", "0,1")
        self.refused(CONFIG, ["--redshifts 0,0.5,0 names one twice"], "--redshifts", "0,0.5,0")
        self.refused(USAGE, ["--redshifts"], "--redshifts", "0,")
        self.refused(USAGE, ["--redshifts"], "--redshifts", "nan")
        self.refused(CONFIG, ["--rolls is -1", "between 0 and 1000"], "--rolls", -1)
        self.refused(CONFIG, ["--rolls is 1001"], "--rolls", 1001)
        self.refused(CONFIG, ["--subvolumes is 7", "between 1 and 6"], "--subvolumes", 7)
        self.refused(CONFIG, ["--subvolumes is 0"], "--subvolumes", 0)
        for grid in (24, 5, 8):
            self.refused(CONFIG, [f"--grid {grid} does not divide the 12 voxels"], "--grid", grid)
        self.refused(CONFIG, ["12 voxels per side cannot be cut in 5"], "--subvolumes", 5)
        self.refused(CONFIG, ["--samples-per-shard is 0"], "--samples-per-shard", 0)

    def altered(self, name, change, simulation="sim-00003", redshift="0.5"):
        """A copy of the suite with a counts file changed through h5py, its manifest made to agree."""
        sim = shutil.copytree(self.sim, self.root / name)
        path = sim / simulation / f"counts_z{redshift}.h5"
        with h5py.File(path, "r+") as file:
            change(file)
        manifest = json.loads((sim / "manifest.json").read_text())
        for record in manifest["files"]:
            if record["path"] == path.relative_to(sim).as_posix():
                record.update(bytes=path.stat().st_size, sha256=sha256(path))
        (sim / "manifest.json").write_text(json.dumps(manifest))
        return ["--input", sim, "--redshifts", "0,0.5"]

    def test_counts_that_are_not_what_the_suite_records(self):
        def set_attribute(name, value):
            return lambda file: file.attrs.modify(name, value)

        def one_more(file):
            file["counts"][0, 0, 0] += 1

        def retyped(file):
            del file["counts"]
            file["counts"] = np.full((GRID, GRID, GRID), np.nan, "<f4")

        def smaller(file):
            del file["counts"]
            file["counts"] = np.zeros((6, 6, 6), "<u2")
            file.attrs.modify("voxel", 64.0 / 6)

        file = "sim-00003/counts_z0.5.h5"
        for name, change, part in (("another-redshift", set_attribute("redshift", 0.25), "another redshift"),
                                   ("another-seed", set_attribute("seed", np.uint64(5)), "another seed"),
                                   ("another-box", lambda f: (f.attrs.modify("box", 32.0), f.attrs.modify("voxel", 32 / GRID)),
                                    "another box"),
                                   ("fewer-particles", set_attribute("particles", np.uint64(7)), "another number of particles"),
                                   ("one-more", one_more, "particles and records"), ("retyped", retyped, "another type of number"),
                                   ("smaller", smaller, "another grid"),
                                   ("no-number", set_attribute("box", np.nan), "box of nan"),
                                   ("no-cosmology", set_attribute("parameter_values", [np.nan] * 7), "omega_m")):
            with self.subTest(name):
                words = self.altered(name, change)
                done = run("cosmo-prep", "shard", *self.SPLIT, *words, "--output", self.root / f"of-{name}")
                self.assertEqual(done.returncode, FORMAT, done.stderr)
                self.assertIn(file, error_line(done, "cosmo-prep"))
                self.assertIn(part, error_line(done, "cosmo-prep"))

    def test_a_file_that_is_missing_or_another(self):
        sim = shutil.copytree(self.sim, self.root / "missing")
        (sim / "sim-00003/counts_z0.h5").unlink()
        self.refused(IO, ["sim-00003/counts_z0.h5"], "--input", sim)
        shutil.copy(self.sim / "sim-00004/counts_z0.h5", sim / "sim-00003/counts_z0.h5")
        done = run("cosmo-prep", "shard", *self.SPLIT, "--input", sim, "--output", self.root / "of-missing")
        self.assertEqual(done.returncode, FORMAT)
        self.assertIn("sim-00003/counts_z0.h5", error_line(done, "cosmo-prep"))

    def test_a_directory_of_another_request_is_left_alone(self):
        data, _ = self.shard("taken")
        before = contents(data)
        for words, part in ((["--rolls", 1], "rolls"), (["--redshifts", "0,0.5"], "redshifts"), (["--seed", 2], "seed is 1"),
                            (["--compress", "gzip"], "compress")):
            done = run("cosmo-prep", *self.words, *words, "--output", data)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(part, error_line(done, "cosmo-prep"))
        self.assertEqual(contents(data), before)
        self.shard("taken", "--rolls", 1, "--force")
        self.assertEqual(json.loads((data / "manifest.json").read_text())["rolls"], 1)

    def test_two_writers(self):
        output = self.root / "contested"
        words = [*self.words, "--rolls", 20, "--output", output]
        first = subprocess.Popen(command_with_faults({"KILL_UNDER": output, "KILL_AT": 60, "KILL_SIGNAL": 19}, 1,
                                                     "cosmo-prep", *words),
                                 env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)
        done = run("cosmo-prep", *words)
        self.assertEqual(done.returncode, IO)
        self.assertIn(f"process {first.pid}", error_line(done, "cosmo-prep"))
        first.send_signal(18)
        self.assertEqual(first.wait(60), 0)
        self.assertTrue(succeed("cosmo-prep", *words)["up_to_date"])

    def small_disk(self, *words):
        """Runs cosmo-prep on a file system of 16 KiB, in a mount namespace of its own, and then a dry run."""
        script, disk = self.root / "small-disk.sh", self.root / "disk"
        disk.mkdir(exist_ok=True)
        tool = " ".join(f"'{word}'" for word in command(1, "cosmo-prep", *words, "--output", disk / "data"))
        script.write_text(f"mount -t tmpfs -o size=16k none {disk} || exit 99\n{tool}\ncode=$?\n"
                          f"{tool} --dry-run >&2\nls {disk} | grep -v '^$'\nexit $code\n")
        done = subprocess.run(["unshare", "-m", "sh", str(script)], env=ENVIRONMENT, capture_output=True, text=True,
                              timeout=60)
        if done.returncode in (1, 99):
            self.skipTest("needs to mount a file system")
        return done

    def test_a_disk_that_is_too_small_is_seen_before_writing(self):
        data, _ = self.shard("roomy")
        export = self.root / "roomy-npy"
        succeed("cosmo-prep", "export", "--input", data, "--format", "npy", "--output", export)
        foreign = shutil.copy(export / "samples.csv", self.root)
        for words, what in ((self.words, "shards"), (["export", "--input", data, "--format", "npy"], "samples"),
                            (["import", "--input", export, "--format", "npy"], "samples"),
                            (["import", "--input", export, "--format", "npy", "--samples", foreign, "--box", 32], "samples")):
            done = self.small_disk(*words)
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertRegex(done.stderr, f"error: The {what} to write need .* and the disk of --output .* has 16.* free")
            self.assertIn(f"warning: The {what} to write need", done.stderr)
            self.assertNotIn("data", done.stdout.split())
        for words in ([*self.words, "--compress", "gzip"], ["export", "--input", data, "--format", "tfrecord"]):
            self.assertIn("warning: The s", self.small_disk(*words).stderr)  # what is compressed may fit

    def test_training_on_two_redshifts(self):
        sim, data, model = self.root / "sim2", self.root / "data2", self.root / "model2"
        synthetic.write_suite(sim, 6, 64, (0, 0.5))
        words = ["--validation", 1, "--test", 1]
        succeed("cosmo-prep", "shard", "--input", sim, *words, "--redshifts", "0,0.5", "--rolls", 1, "--output", data)
        summary = succeed("cosmo-train", "--data", data, "--network", "cosmoflow32", "--global-batch", 16, "--epochs", 1,
                          "--output", model)
        self.assertTrue(summary["complete"])
        self.assertEqual(json.loads((model / "manifest.json").read_text())["input"],
                         {"channels": 2, "size": 32, "redshifts": [0, 0.5]})
        other = self.root / "data-other"
        succeed("cosmo-prep", "shard", "--input", sim, *words, "--redshifts", "0.5,0", "--output", other)
        for source, part in ((["--data", other, "--output", self.root / "never"], "z = 0.5, 0 and the model reads z = 0, 0.5"),
                             (["--input", sim / "sim-00000/counts_z0.h5"], "is of one redshift and the model reads z = 0, 0.5")):
            done = run("cosmo-infer", "--model", model, *source)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(part, error_line(done, "cosmo-infer"))
        for split, samples, universes in (("test", 8, 1), ("train", 4 * 8 * 2, 4)):
            predictions = self.root / f"predictions-{split}"
            metrics = succeed("cosmo-infer", "--model", model, "--data", data, "--split", split, "--output",
                              predictions)["metrics"]
            self.assertEqual((metrics["samples"], metrics["universes"]), (samples, universes))
            rows = list(csv.DictReader((predictions / "predictions.csv").read_text().splitlines()))
            self.assertEqual("roll" in rows[0], split == "train")
            self.assertEqual(len({(row["simulation"], row.get("roll"), row["subvolume"]) for row in rows}), samples)

    def test_training_on_fields(self):
        data, model = self.root / "fields", self.root / "model-of-fields"
        statistics = synthetic.write_fields(data, 36, 32)
        report = succeed("cosmo-prep", "verify", data)
        self.assertEqual(report["samples"], 36)
        self.assertIn("float32 field", run("cosmo-prep", "describe", data).stdout)
        words = ["--data", data, "--network", "cosmoflow32", "--global-batch", 8, "--output", model]
        for voxels, part in (("mean", "--voxels mean is for counts and the dataset holds a float32 field: give log1p, standard or log"),
                             ("log1p", "repeat cosmo-prep import with --force, or give standard")):
            done = run("cosmo-train", *words, "--voxels", voxels)
            self.assertEqual(done.returncode, CONFIG)
            self.assertIn(part, error_line(done, "cosmo-train"))
        summary = succeed("cosmo-train", *words, "--epochs", 12)
        normalisation = json.loads((model / "manifest.json").read_text())["normalisation"]
        self.assertEqual(normalisation["voxels"], "standard")
        self.assertAlmostEqual(normalisation["offset"], statistics["mean"])
        self.assertAlmostEqual(normalisation["scale"], 1 / statistics["deviation"])
        self.assertLess(summary["validation_loss"], 0.5)  # guessing the centre gives 0.94
        metrics = succeed("cosmo-infer", "--model", model, "--data", data, "--output", self.root / "fields-test")["metrics"]
        self.assertEqual(metrics["universes"], 2)
        done = run("cosmo-infer", "--model", model, "--input", self.sim / "sim-00000/counts_z0.h5")
        self.assertEqual(done.returncode, CONFIG)
        self.assertIn("trained on fields", error_line(done, "cosmo-infer"))


if __name__ == "__main__":
    unittest.main()
