"""cosmo_data.frames on the output of all four tools."""

import importlib.util
import json
import unittest

import numpy as np

from cosmo_data import DataError, Split, read_manifest
from toolkit import PipelineTest, flip, succeed


@unittest.skipUnless(importlib.util.find_spec("pandas"), "needs python3-pandas")
class Frames(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        from cosmo_data import frames
        cls.frames = frames
        cls.model, cls.predictions = cls.root / "model", cls.root / "predictions"
        succeed("cosmo-train", *cls.train_words(), "--epochs", 2, "--output", cls.model)
        succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--split", "test", "--output", cls.predictions)

    def test_predictions(self):
        """Their errors are those in metrics.json, and their truths those of the shards."""
        metrics = json.loads((self.predictions / "metrics.json").read_text())
        split = Split(self.data, "test")
        for per, figures in (("subvolume", metrics["per_subvolume"]["network"]), ("universe", metrics["network"])):
            table = self.frames.predictions(self.predictions, per)
            for name in split.names:
                error = table[f"predicted_{name}"] - table[f"true_{name}"]
                self.assertAlmostEqual(np.sqrt((error**2).mean()), figures[name]["rmse"], places=12)
        table = self.frames.predictions(self.predictions)
        self.assertEqual(len(table), len(split))
        for i, row in table.iterrows():
            self.assertEqual((row.simulation, row.subvolume, row.seed), split.identity(i)[2:5])
            np.testing.assert_array_equal([row[f"true_{name}"] for name in split.names], split.parameters(i))
        baselines = self.frames.baselines(self.predictions)
        self.assertIn("centre", set(baselines.method))

    def test_a_training(self):
        history = self.frames.history(self.model)
        self.assertEqual(list(history.epoch), [1, 2])
        checkpoints = self.frames.checkpoints(self.model)
        self.assertTrue(checkpoints.best.any())
        for row in checkpoints.itertuples():
            self.assertEqual(row.validation_loss, history.validation_loss[row.epoch - 1])

    def test_universes_and_samples(self):
        simulations = self.frames.simulations(self.sim)
        self.assertEqual(list(simulations["index"]), list(range(self.UNIVERSES)))
        samples = self.frames.samples(self.data)
        self.assertEqual(samples.split.value_counts().to_dict(),
                         {name: len(Split(self.data, name)) for name in ("train", "validation", "test")})
        joined = samples.merge(simulations, left_on="simulation", right_on="index", suffixes=("", "_of_suite"))
        self.assertEqual(len(joined), len(samples))
        for name in ("seed", "omega_m", "sigma8", "n_s"):
            np.testing.assert_array_equal(joined[name], joined[f"{name}_of_suite"])

    def test_files(self):
        for directory in (self.sim, self.data, self.model, self.predictions):
            files = self.frames.files(directory)
            self.assertEqual(files.to_dict("records"), read_manifest(directory)["files"])
            self.assertTrue(all((directory / row.path).stat().st_size == row.bytes for row in files.itertuples()))

    def test_a_damaged_table(self):
        path = self.predictions / "universes.csv"
        flip(path, -2)
        with self.assertRaisesRegex(DataError, "universes.csv differs from its manifest's sha256"):
            self.frames.predictions(self.predictions, "universe")
        flip(path, -2)

    def test_a_manifest_without_its_list(self):
        for directory, key in ((self.model, "checkpoints"), (self.sim, "simulations")):
            path = directory / "manifest.json"
            original = path.read_text()
            path.write_text(json.dumps({name: value for name, value in json.loads(original).items() if name != key}))
            with self.assertRaisesRegex(DataError, f"{path} is not a readable manifest .*{key}"):
                getattr(self.frames, key)(directory)
            path.write_text(original)

    def test_predictions_of_files_and_of_fields(self):
        counts, out = self.sim / "sim-00000/counts_z0.h5", self.root / "of-file"
        found = succeed("cosmo-infer", "--model", self.model, "--input", counts, "--output", out)
        row, = self.frames.predictions(out).to_dict("records")
        self.assertEqual({name: row[f"predicted_{name}"] for name in Split(self.data, "test").names},
                         {name: value["value"] for name, value in found["universes"][0]["parameters"].items()})
        field = self.root / "field"
        field.mkdir()
        manifest = json.loads((self.predictions / "manifest.json").read_text())
        manifest["files"] = [file for file in manifest["files"] if not file["path"].endswith(".csv")]
        (field / "manifest.json").write_text(json.dumps(manifest))
        for read in self.frames.predictions, self.frames.baselines:
            with self.assertRaisesRegex(DataError, "open the files in its fields/ with h5py"):
                read(field)

    def test_another_stage(self):
        with self.assertRaisesRegex(DataError, "is of stage 'shard': give a directory of stage 'infer'"):
            self.frames.predictions(self.data)


if __name__ == "__main__":
    unittest.main()
