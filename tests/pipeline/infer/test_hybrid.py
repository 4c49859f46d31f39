"""Networks with a baseline: predictions mixed with those of a regression on summary statistics."""

import csv
import json
import shutil
import unittest

import h5py
import numpy as np
import onnx

from onnx_torch import evaluate
from toolkit import DirectoryTest, PipelineTest, contents, cosmo_train, error_line, run, succeed

def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


NAMES = ["omega_m", "sigma8", "n_s"]
LOW, HIGH = np.array([0.25, 0.78, 0.9]), np.array([0.35, 0.95, 1.0])


class Hybrid(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.root / "model"
        succeed("cosmo-train", *cls.words(), "--output", cls.model)
        cls.predictions = cls.root / "predictions"
        cls.metrics = succeed("cosmo-infer", "--model", cls.model, "--data", cls.data, "--output", cls.predictions)["metrics"]

    @classmethod
    def words(cls, **others):
        settings = {"data": cls.data, "network": "cosmonet32", "baseline": "summary-statistics", "epochs": 3, "global-batch": 8,
                    "threads": 1, **others}
        return [word for name, value in settings.items() for word in (f"--{name}", value)]

    def manifest(self, model=None):
        return json.loads(((model or self.model) / "manifest.json").read_text())

    def test_shares_are_chosen_by_validation(self):
        manifest = self.manifest()
        self.assertEqual(manifest["network"]["baseline"], "summary_statistics")
        best, = (state["epoch"] for state in manifest["checkpoints"] if state["best"])
        row = table(self.model / "history.csv")[best - 1]
        shares = manifest["validation"]["baseline_share"]
        self.assertEqual([float(row[f"baseline_share_{name}"]) for name in NAMES], shares)
        self.assertTrue(all(0 <= share <= 1 for share in shares))
        self.assertGreater(max(shares), 0)
        plain = self.root / "plain"
        succeed("cosmo-train", *self.words(baseline="none"), "--output", plain)
        history = table(plain / "history.csv")
        self.assertNotIn("baseline_share_n_s", history[0])
        self.assertNotIn("validation_loss_alone", history[0])
        self.assertIn("alone, without its baseline", (self.model / "loss.svg").read_text())
        self.assertNotIn("alone", (plain / "loss.svg").read_text())
        for mixed, alone in zip(table(self.model / "history.csv"), history, strict=True):
            self.assertEqual(mixed["train_loss"], alone["train_loss"])  # the network learns the same
            self.assertEqual(mixed["validation_loss_alone"], alone["validation_loss"])
            self.assertLess(float(mixed["validation_loss"]), float(alone["validation_loss"]))

    def test_a_stop_and_ranks_change_nothing(self):
        parts = self.root / "parts"
        cosmo_train(*self.words(), "--time-limit", 0, "--output", parts)
        self.assertFalse(self.manifest(parts)["complete"])
        succeed("cosmo-train", *self.words(), "--output", parts)
        self.assertEqual(contents(parts), contents(self.model))
        two = self.root / "two"
        succeed("cosmo-train", *self.words(), "--output", two, ranks=2)
        with h5py.File(two / "baseline.h5") as other, h5py.File(self.model / "baseline.h5") as one:
            self.assertEqual(set(other["regression"]), set(one["regression"]))
            for name in ("regression/coefficients", "regression/features", "validation"):
                np.testing.assert_array_equal(other[name], one[name])

    def test_a_universe_alone_is_predicted_as_in_the_split(self):
        rows = table(self.predictions / "predictions.csv")
        universe = int(rows[0]["simulation"])
        expected = {name: [float(row[f"predicted_{name}"]) for row in rows if int(row["simulation"]) == universe]
                    for name in NAMES}
        found = succeed("cosmo-infer", "--model", self.model, "--input", self.sim / f"sim-{universe:05}/counts_z0.h5")
        for name in NAMES:
            np.testing.assert_allclose(sorted(found["parameters"][name]["subvolumes"]), sorted(expected[name]), rtol=1e-6)

    def test_an_ensemble_may_have_some(self):
        plain = self.root / "member"
        succeed("cosmo-train", *self.words(baseline="none", epochs=1), "--output", plain)
        found = succeed("cosmo-infer", "--model", f"{self.model},{plain}", "--data", self.data, "--output",
                        self.root / "ensemble")
        self.assertEqual(set(found["metrics"]["network"]), set(NAMES))

    def test_the_report_names_it(self):
        text = (self.predictions / "report.html").read_text()
        for title in ("network and statistics", "network alone", "<dt>baseline</dt><dd>summary statistics</dd>",
                      "Both are those of the network alone", "validation loss of the mixture"):
            self.assertIn(title, text)
        for share in self.manifest()["validation"]["baseline_share"]:
            self.assertRegex(text, f"whose share the validation split chose: [^.]*.*{share:.2f}")
        alone = [row for row in table(self.predictions / "baselines.csv")
                 if row["method"] == "network_alone" and int(row["subvolume"]) >= 0]
        mixed = table(self.predictions / "predictions.csv")
        self.assertEqual(len(alone), len(mixed))
        apart = [abs(float(one["predicted_sigma8"]) - float(other["predicted_sigma8"])) for one, other in zip(alone, mixed)]
        self.assertGreater(max(apart), 1e-6)
        self.assertIn("sigma8", self.metrics["paired"]["network_alone"])

    def test_onnx_has_the_regression(self):
        path = self.root / "model.onnx"
        succeed("cosmo-infer", "export", "--model", self.model, "--output", path)
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual([tensor.name for tensor in model.graph.input], ["counts"])
        rows = {(int(row["simulation"]), int(row["subvolume"])): row for row in table(self.predictions / "predictions.csv")}
        for shard in sorted((self.data / "test").glob("*.h5")):
            with h5py.File(shard) as file:
                found = evaluate(model, counts=file["x"][...].astype(np.float32)[:, None])
                keys = zip(file["simulation"][...].tolist(), file["subvolume"][...].tolist())
                expected = np.array([[float(rows[key][f"predicted_{name}"]) for name in NAMES] for key in keys])
            np.testing.assert_allclose(found["parameters"] / (HIGH - LOW), expected / (HIGH - LOW), rtol=0, atol=1e-4)
            np.testing.assert_allclose(found["parameters"], LOW + (found["labels"] + 1) / 2 * (HIGH - LOW), atol=1e-5)

    def test_what_cannot_be_mixed_is_refused(self):
        done = run("cosmo-train", *self.words(), "--loss", "gaussian", "--output", self.root / "never")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--loss gaussian predicts distributions", error_line(done, "cosmo-train"))
        lost = shutil.copytree(self.model, self.root / "lost")
        (lost / "baseline.h5").unlink()
        done = run("cosmo-infer", "--model", lost, "--data", self.data, "--output", self.root / "never")
        self.assertIn(done.returncode, (4, 5))
        self.assertIn("baseline.h5", error_line(done, "cosmo-infer"))
        few = self.root / "few"
        succeed("cosmo-prep", "shard", "--input", self.sim, "--grid", 32, "--subvolumes", 1, "--validation", 2, "--test", 7,
                "--output", few)
        done = run("cosmo-train", *self.words(data=few, network="cosmoflow32", **{"global-batch": 1}), "--output", self.root / "never")
        self.assertEqual(done.returncode, 3)
        self.assertIn("two training universes", error_line(done, "cosmo-train"))


class Fields(DirectoryTest):
    """Two datasets with the same test fields, whose training fields have other means and deviations."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.samples = cls.root / "samples"
        cls.samples.mkdir()
        numbers = np.random.default_rng(3)
        held_out = [cls.row(numbers, index, split, 1) for split in ("validation", "test") for index in range(2)]
        for name, width, first in (("own", 1, 10), ("other", 3, 30)):
            rows = [cls.row(numbers, first + index, "train", width) for index in range(8)]
            with open(cls.samples / f"{name}.csv", "w", newline="") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows + held_out)
            succeed("cosmo-prep", "import", "--input", cls.samples, "--samples", cls.samples / f"{name}.csv", "--format", "npy",
                    "--box", 64, "--voxels", "field", "--parameters", "omega_m=0.2:0.4", "--output", cls.root / name)

    @classmethod
    def row(cls, numbers, index, split, width):
        omega_m = numbers.uniform(0.2, 0.4)
        file = f"{split}-{index}.npy"
        np.save(cls.samples / file, (width * (1 + omega_m * numbers.standard_normal((32, 32, 32)))).astype(np.float32))
        return {"file": file, "split": split, "simulation": index + (100 if split == "test" else 0), "omega_m": omega_m}

    def test_the_regression_keeps_the_scale_of_its_training(self):
        model = self.root / "model"
        succeed("cosmo-train", "--data", self.root / "own", "--network", "cosmonet32", "--baseline", "summary-statistics",
                "--epochs", 1, "--global-batch", 4, "--output", model)
        predicted = {}
        for name in ("own", "other"):
            output = self.root / f"of-{name}"
            succeed("cosmo-infer", "--model", model, "--data", self.root / name, "--output", output)
            predicted[name] = [float(row["predicted_omega_m"]) for row in table(output / "universes.csv")]
        np.testing.assert_allclose(predicted["own"], predicted["other"], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
