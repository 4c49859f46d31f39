"""Files that earlier versions wrote stay readable: every tests/data/COMMIT has one of each kind, made at that commit
by tests/data/make_old_files.sh (docs/decisions/0013-old-files.md).

What a network computes is compared to 1e-4 of a parameter's range, since processors round differently; what was
counted, copied or hashed is compared to the bit."""

import contextlib
import csv
import functools
import gzip
import json
import pathlib
import shutil
import tempfile
import unittest

import h5py
import numpy as np
import onnx
from onnx import numpy_helper

from toolkit import ROOT, run, sha256, succeed, times

SETS = sorted(sums.parent for sums in (ROOT / "tests/data").glob("*/SHA256SUMS"))
RANGES = {"omega_m": 0.1, "sigma8": 0.17, "n_s": 0.1}
TOLERANCE = 1e-4

# What every set has, beside what the manifests in it list.
KINDS = """
sim.ini prep.ini histogram.ini train.ini infer.ini network.json fields.csv
sim/manifest.json sim/sim-*/counts_z0.h5 sim/sim-*/counts_z0.5.h5 sim/sim-*/power_spectrum.csv
single/manifest.json single/sim-00000/snapshot_z0.hdf5 single/sim-00000/snapshot_z0.5.hdf5 slice/journal.jsonl
histogram/manifest.json histogram/counts_z0.h5
data/manifest.json data/train/*.h5 data/validation/*.h5 data/test/*.h5 channels/manifest.json fields/manifest.json
npy/manifest.json npy/samples.csv npy/train/*.npy
tfrecord/manifest.json tfrecord/samples.csv tfrecord/train/*.tfrecord
model/manifest.json model/checkpoints/*.h5 model/history.csv model/loss.svg
sgd/manifest.json gaussian/manifest.json two-channels/manifest.json
stopped/manifest.json stopped/checkpoints/epoch-*_step-*.h5
predictions/manifest.json predictions/predictions.csv predictions/universes.csv predictions/baselines.csv
predictions/metrics.json predictions/report.html predictions/figures/*.svg predictions/figures/*.png
posteriors/manifest.json onnx/manifest.json onnx/model.onnx
said/counts.json said/snapshot.json said/data.json said/universe.json said/two-channels.json
""".split()
# Directories that a finished command made.
FINISHED = ["sim", "single", "histogram", "data", "channels", "fields", "npy", "tfrecord", "model", "sgd", "gaussian",
            "two-channels", "predictions", "posteriors", "onnx"]


def of_each_set(test):
    """Runs a test once for every set, in a copy of it as the working directory."""
    @functools.wraps(test)
    def in_copies(self):
        for old in SETS:
            with self.subTest(old.name), tempfile.TemporaryDirectory(prefix="cosmo-old-") as holder:
                with contextlib.chdir(shutil.copytree(old, pathlib.Path(holder) / old.name)):
                    test(self)
    return in_copies


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def command_of(directory):
    """Tool and words that made a directory."""
    tool, *words = read(f"{directory}/run.json")["command"]
    return tool, words


def again(directory, output):
    """Gives the command that made a directory again, for another output; returns its summary."""
    tool, words = command_of(directory)
    words[words.index("--output") + 1] = output
    return succeed(tool, *words)


def shards_of(directory):
    return [path for split in read(f"{directory}/manifest.json")["splits"].values() for path in split["shards"]]


class OldFilesTest(unittest.TestCase):
    def assert_alike(self, found, said):
        """A summary still has all that it had, and its numbers are the same but for rounding; texts may differ."""
        if isinstance(said, dict):
            for key, value in said.items():
                self.assertIn(key, found)
                self.assert_alike(found[key], value)
        elif isinstance(said, list) and not any(isinstance(value, str) for value in said):
            self.assertEqual(len(found), len(said))
            for pair in zip(found, said):
                self.assert_alike(*pair)
        elif isinstance(said, float):
            self.assertAlmostEqual(found, said, delta=TOLERANCE * max(1, abs(said)))
        elif not isinstance(said, (str, list)):
            self.assertEqual(found, said)

    def assert_same_samples(self, found, old):
        """Two datasets hold the same in the same places; labels in [-1, 1] may be rounded otherwise."""
        self.assertEqual(shards_of(found), shards_of(old))
        for path in shards_of(old):
            with h5py.File(f"{found}/{path}") as new_shard, h5py.File(f"{old}/{path}") as old_shard:
                self.assertEqual(set(new_shard), set(old_shard) | {"plane_crc32"})
                for name in old_shard:
                    self.assertEqual(new_shard[name].dtype, old_shard[name].dtype)
                    np.testing.assert_allclose(new_shard[name], old_shard[name], atol=1e-6 if name == "y_unit" else 0,
                                               rtol=0, err_msg=f"{path} {name}")

    def assert_same_predictions(self, found, old):
        self.assertEqual(len(found), len(old))
        for new_row, old_row in zip(found, old):
            for column, value in old_row.items():
                scale = next((RANGES[name] for name in RANGES if column.endswith(name)), 0)
                self.assertAlmostEqual(float(new_row[column]), float(value), delta=TOLERANCE * scale, msg=column)


class OldSets(OldFilesTest):
    def test_there_is_a_file_of_every_kind_as_it_was_made(self):
        self.assertIn("c06b980", [old.name for old in SETS])
        for old in SETS:
            with self.subTest(old.name):
                sums = dict(reversed(line.split("  ")) for line in (old / "SHA256SUMS").read_text().splitlines())
                there = {path.relative_to(old).as_posix() for path in old.rglob("*") if path.is_file()}
                self.assertEqual(there, {*sums, "SHA256SUMS"})
                self.assertEqual({path: sha256(old / path) for path in sums}, sums)
                for kind in KINDS + [f"{directory}/run.json" for directory in FINISHED]:
                    self.assertTrue(list(old.glob(kind)), kind)
                for path in [*old.glob("*/manifest.json"), *old.glob("*/run.json")]:
                    self.assertNotIn('"/', path.read_text(), "an absolute path")
                for path in old.glob("*/manifest.json"):
                    manifest = read(path)
                    self.assertEqual(manifest["code"]["git"], old.name)
                    for record in manifest["files"]:
                        self.assertEqual(sums[f"{path.parent.name}/{record['path']}"], record["sha256"])

    @of_each_set
    def test_the_same_commands_are_up_to_date(self):
        """The version is not part of what identifies a request."""
        for directory in FINISHED:
            tool, words = command_of(directory)
            before = times(directory)
            done = run(tool, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("up to date", done.stdout, directory)
            self.assertEqual(times(directory), before)


class OldSuites(OldFilesTest):
    @of_each_set
    def test_inspect_reads_counts(self):
        path = "sim/sim-00000/counts_z0.h5"
        found = succeed("cosmo-sim", "inspect", path)
        self.assert_alike(found, read("said/counts.json"))
        with h5py.File(path) as file:
            counts = file["counts"][...]
            parameters = dict(zip(file.attrs["parameter_names"], file.attrs["parameter_values"]))
            self.assertEqual(found["parameters"], parameters)
            for key, name in (("box_mpc_h", "box"), ("redshift", "redshift"), ("seed", "seed")):
                self.assertEqual(found[key], file.attrs[name])
        self.assertEqual((found["particles"], found["counts"]["max"]), (counts.sum(), counts.max()))
        self.assertAlmostEqual(found["counts"]["empty_fraction"], np.mean(counts == 0))

    @of_each_set
    def test_inspect_reads_snapshots(self):
        path = "single/sim-00000/snapshot_z0.5.hdf5"
        found = succeed("cosmo-sim", "inspect", path)
        self.assert_alike(found, read("said/snapshot.json"))
        with h5py.File(path) as file:
            velocities = file["PartType1/Velocities"][...] * file["Header"].attrs["Time"] ** 0.5
            self.assertEqual(found["particles"], file["Header"].attrs["NumPart_Total"][1])
            self.assertEqual(found["box_mpc_h"], file["Header"].attrs["BoxSize"])
        self.assertAlmostEqual(found["rms_velocity_km_s"], np.sqrt((velocities**2).sum(axis=1).mean()), places=3)

    @of_each_set
    def test_a_snapshot_is_counted_as_it_was(self):
        again("histogram", "again")
        with h5py.File("again/counts_z0.h5") as found, h5py.File("histogram/counts_z0.h5") as old:
            np.testing.assert_array_equal(found["counts"], old["counts"])
            self.assertEqual(found["counts"][...].sum(), 512)

    @of_each_set
    def test_a_suite_of_which_a_slice_is_there_is_completed(self):
        journal = [json.loads(line) for line in pathlib.Path("slice/journal.jsonl").read_text().splitlines()]
        old = {record["path"]: record["sha256"] for record in journal[1:]}
        summary = succeed("cosmo-sim", "generate", "--config", "sim.ini", "--simulations", 2, "--particles", 8,
                          "--box", 64, "--grid", 4, "--output", "slice")
        self.assertEqual((summary["id"], summary["simulations_made"]), (journal[0]["id"], 1))
        found = {record["path"]: record["sha256"] for record in read("slice/manifest.json")["files"]}
        self.assertEqual(len(found), 6)
        self.assertEqual(found, {**found, **old})


class OldDatasets(OldFilesTest):
    @of_each_set
    def test_verify_and_describe_read_them(self):
        for directory in ("data", "channels", "fields"):
            samples = 0
            for path in shards_of(directory):
                with h5py.File(f"{directory}/{path}") as shard:
                    samples += len(shard["x"])
            self.assertEqual(succeed("cosmo-prep", "verify", directory)["samples"], samples)
            found, manifest = succeed("cosmo-prep", "describe", directory), read(f"{directory}/manifest.json")
            for key in ("id", "shape", "redshifts", "splits", "statistics"):
                self.assertEqual(found[key], manifest[key])
            self.assertEqual(sum(split["samples"] for split in found["splits"].values()), samples)
        self.assert_alike(succeed("cosmo-prep", "describe", "data"), read("said/data.json"))

    @of_each_set
    def test_the_old_suite_gives_the_same_shards(self):
        for directory in ("data", "channels"):
            summary = again(directory, f"{directory}-again")
            self.assertEqual(summary["id"], read(f"{directory}/manifest.json")["id"])
            self.assert_same_samples(f"{directory}-again", directory)

    @of_each_set
    def test_old_exports_give_their_dataset_back(self):
        for name in ("npy", "tfrecord"):
            summary = succeed("cosmo-prep", "import", "--input", name, "--format", name, "--output", "again-" + name)
            self.assertEqual(summary["id"], read("channels/manifest.json")["id"])
            self.assert_same_samples("again-" + name, "channels")
            succeed("cosmo-prep", "verify", "again-" + name)
        again("fields", "fields-again")
        self.assert_same_samples("fields-again", "fields")

    @of_each_set
    def test_the_old_dataset_is_exported_as_it_was(self):
        """Data compressed by gzip may be compressed in another way."""
        for name, uncompressed in (("npy", bytes), ("tfrecord", gzip.decompress)):
            again(name, name + "-again")
            samples = table(f"{name}/samples.csv")
            self.assertEqual(len(samples), 9)
            self.assertEqual(table(f"{name}-again/samples.csv"), samples)
            for row in samples:
                found, old = (pathlib.Path(at, row["file"]).read_bytes() for at in (name + "-again", name))
                self.assertEqual(uncompressed(found), uncompressed(old))


class OldModels(OldFilesTest):
    @of_each_set
    def test_predictions_are_what_they_were(self):
        for directory in ("predictions", "posteriors"):
            found = f"{directory}-again"
            again(directory, found)
            for name in ("predictions.csv", "universes.csv"):
                self.assert_same_predictions(table(f"{found}/{name}"), table(f"{directory}/{name}"))
            metrics, old = (read(f"{path}/metrics.json") for path in (found, directory))
            self.assert_alike(metrics["baselines"]["centre"], old["baselines"]["centre"])
            for name, figures in old["network"].items():
                for figure in ("relative_error", "mae", "rmse", "bias", "slope"):
                    self.assertAlmostEqual(metrics["network"][name][figure], figures[figure], delta=1e-3)
            self.assertEqual((metrics["samples"], metrics["universes"]), (16, 2))

    @of_each_set
    def test_single_universes_of_every_form(self):
        old = [row for row in table("predictions/predictions.csv") if row["simulation"] == "2"]
        found = succeed("cosmo-infer", "--model", "model", "--input", "sim/sim-00002/counts_z0.h5")
        for name, parameter in found["parameters"].items():
            expected = [float(row[f"predicted_{name}"]) for row in old]
            np.testing.assert_allclose(parameter["subvolumes"], expected, rtol=0, atol=TOLERANCE * RANGES[name])
        directory = "single/sim-00000"
        inputs = (directory, f"{directory}/counts_z0.h5", f"{directory}/snapshot_z0.hdf5", "histogram")
        for model, said, paths in (("model", "universe", inputs), ("two-channels", "two-channels", ["sim/sim-00002"])):
            old = read(f"said/{said}.json")["parameters"]
            for path in paths:
                found = succeed("cosmo-infer", "--model", model, "--input", path)["parameters"]
                self.assertEqual(set(found), set(old))
                for name, parameter in old.items():
                    for figure in ("value", "error"):
                        self.assertAlmostEqual(found[name][figure], parameter[figure], delta=TOLERANCE * RANGES[name])

    @of_each_set
    def test_a_stopped_training_goes_on_to_what_it_would_have_been(self):
        """To rounding: another processor need not continue to the bit. `model` is the same training, not stopped."""
        begun = pathlib.Path("stopped/history.csv").read_text()
        done = run("cosmo-train", "--config", "train.ini", "--output", "stopped")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("continuing after 1 epochs and 1 steps", done.stderr)
        self.assertTrue(read("stopped/manifest.json")["complete"])
        self.assertTrue(pathlib.Path("stopped/history.csv").read_text().startswith(begun))
        found, old = table("stopped/history.csv"), table("model/history.csv")
        self.assertEqual(len(found), 3)
        for new_row, old_row in zip(found, old, strict=True):
            for column, value in old_row.items():
                self.assertAlmostEqual(float(new_row[column]), float(value), delta=1e-5, msg=column)

    @of_each_set
    def test_finished_trainings_are_extended(self):
        for name, optimizer in (("gaussian", "larc-adam"), ("sgd", "sgd")):
            tool, words = command_of(name)
            self.assertEqual(read(f"{name}/manifest.json")["config"]["optimizer"], optimizer)
            history = table(f"{name}/history.csv")
            summary = succeed(tool, *words, "--epochs", 4, "--resume")
            self.assertEqual((summary["epochs_done"], summary["complete"]), (4, True))
            for new_row, old_row in zip(table(f"{name}/history.csv"), history):
                for column, value in old_row.items():  # factors of calibration became diagonals of matrices
                    self.assertEqual(new_row[column.replace("scale_per", "calibration_per")], value)

    @of_each_set
    def test_onnx_has_the_same_weights(self):
        again("onnx", "onnx-again")
        found, old = (onnx.load(f"{directory}/model.onnx") for directory in ("onnx-again", "onnx"))
        weights = [{tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
                   for model in (found, old)]
        self.assertGreaterEqual(len(weights[1]), 6)
        self.assertEqual(set(weights[0]), set(weights[1]))
        for name, values in weights[1].items():
            np.testing.assert_array_equal(weights[0][name], values, name)
        metadata = [{entry.key: entry.value for entry in model.metadata_props} for model in (found, old)]
        self.assertEqual(metadata[0], {**metadata[0], **metadata[1]})

    @of_each_set
    def test_an_ensemble_of_old_models(self):
        rows = {}
        for models in ("model", "sgd", "model,sgd"):
            succeed("cosmo-infer", "--config", "infer.ini", "--model", models, "--output", models + "-out")
            rows[models] = table(f"{models}-out/predictions.csv")
        for both, *alone in zip(rows["model,sgd"], rows["model"], rows["sgd"], strict=True):
            for name in RANGES:
                mean = np.mean([float(row[f"predicted_{name}"]) for row in alone])
                self.assertAlmostEqual(float(both[f"predicted_{name}"]), mean, places=9)


if __name__ == "__main__":
    unittest.main()
