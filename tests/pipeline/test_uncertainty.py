"""Predicted deviations: likelihood training to the bit, columns and figures, ensembles."""

import csv
import json
import math
import unittest

from toolkit import PipelineTest, contents, error_line, run, succeed

NAMES = ("omega_m", "sigma8", "n_s")
RANGES = {"omega_m": (0.25, 0.35), "sigma8": (0.78, 0.95), "n_s": (0.9, 1.0)}


def rows_of(path):
    with open(path) as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def below(value, low, high, centre, deviation):
    """The probability below a value of a normal variable between low and high."""
    at = lambda x: math.erf((x - centre) / deviation / math.sqrt(2))
    return (at(value) - at(low)) / (at(high) - at(low))


class Uncertainty(PipelineTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, loss, seed in (("gaussian", "gaussian", 1), ("other", "gaussian", 2), ("labels", "mae", 1)):
            cls.train(cls.root / name, "--loss", loss, "--seed", seed)

    @classmethod
    def train(cls, output, *words, ranks=1, epochs=3):
        return succeed("cosmo-train", *cls.train_words(), "--epochs", epochs, "--decay-epochs", 3, "--threads", 1,
                       "--output", output, *words, ranks=ranks)

    def infer(self, model, name, ranks=1):
        output = self.root / name
        metrics = succeed("cosmo-infer", "--model", model, "--data", self.data, "--split", "test", "--output", output,
                          ranks=ranks)["metrics"]
        return output, metrics

    def test_the_same_bits_twice_after_a_stop_and_on_any_ranks_their_own(self):
        for ranks in (1, 2):
            whole, parts = self.root / f"whole{ranks}", self.root / f"parts{ranks}"
            self.train(whole, "--loss", "gaussian", ranks=ranks)
            for epochs in (1, 2):
                self.train(parts, "--loss", "gaussian", "--resume" if epochs > 1 else "--quiet", epochs=epochs, ranks=ranks)
            self.train(parts, "--loss", "gaussian", "--resume", ranks=ranks)
            self.assertEqual(contents(parts), contents(whole), f"{ranks} ranks")
        self.assertEqual(contents(self.root / "whole1"), contents(self.root / "gaussian"))
        manifests = [json.loads((self.root / name / "manifest.json").read_text()) for name in ("whole1", "whole2")]
        self.assertEqual(manifests[0]["id"], manifests[1]["id"])

    def test_the_model_tells_its_calibration(self):
        model = self.root / "gaussian"
        manifest = json.loads((model / "manifest.json").read_text())
        best = next(state for state in manifest["checkpoints"] if state["best"])
        row = rows_of(model / "history.csv")[best["epoch"] - 1]
        for kind in ("subvolume", "universe"):
            scales = manifest["validation"][f"scale_per_{kind}"]
            self.assertEqual(scales, [row[f"scale_per_{kind}_{name}"] for name in NAMES])
            self.assertTrue(all(0 < scale < 100 for scale in scales))
        self.assertEqual(manifest["network"]["layers"][-1]["outputs"], 9)
        self.assertNotIn("scale_per_universe", json.loads((self.root / "labels" / "manifest.json").read_text())["validation"])

    def test_a_split_is_the_same_on_any_ranks_and_tells_deviations_and_coverage(self):
        first, metrics = self.infer(self.root / "gaussian", "one-rank")
        second, _ = self.infer(self.root / "gaussian", "two-ranks", ranks=2)
        self.assertEqual(contents(first), contents(second))
        for kind, figures in (("universes", metrics), ("predictions", metrics["per_subvolume"])):
            rows, uncertainty = rows_of(first / f"{kind}.csv"), figures["uncertainty"]
            self.assertEqual(len(rows), 2 if kind == "universes" else 16)
            self.assertEqual(uncertainty["kind"], "gaussian")
            self.assertEqual(uncertainty["calibration"]["universes"], 2)
            self.assertLess(uncertainty["negative_log_likelihood"], 3 * math.log(2) + 10)
            for name in NAMES:
                low, high = RANGES[name]
                coverage = uncertainty["coverage"][name]
                self.assertLessEqual(0, coverage["within_1_sigma"])
                self.assertLessEqual(coverage["within_1_sigma"], coverage["within_2_sigma"])
                for row in rows:
                    self.assertTrue(low < row[f"predicted_{name}"] < high)  # the mean of what is inside
                    self.assertTrue(0 < row[f"deviation_{name}"] < (high - low) / 2)
                absolute = sum(abs(row[f"predicted_{name}"] - row[f"true_{name}"]) for row in rows) / len(rows)
                self.assertAlmostEqual(figures["network"][name]["mae"], 2 * absolute / (high - low), places=9)

    def test_a_universe_alone_is_predicted_as_in_its_split(self):
        models = (self.root / "gaussian", f"{self.root / 'gaussian'},{self.root / 'labels'}")
        for model, predictions in zip(models, ("for-one", "for-several")):
            output, _ = self.infer(model, predictions)
            row = rows_of(output / "universes.csv")[0]
            counts = self.sim / f"sim-{int(row['simulation']):05d}" / "counts_z0.h5"
            found = succeed("cosmo-infer", "--model", model, "--input", counts)["parameters"]
            for name in NAMES:
                self.assertEqual(found[name]["value"], row[f"predicted_{name}"])
                self.assertEqual(found[name]["error"], row[f"deviation_{name}"])

    def test_without_the_likelihood_the_deviation_is_the_validation_error(self):
        output, metrics = self.infer(self.root / "labels", "labels-predicted")
        validation = json.loads((self.root / "labels" / "manifest.json").read_text())["validation"]
        for kind, errors, figures in (("universes", validation["rmse_per_universe"], metrics),
                                      ("predictions", validation["rmse_per_subvolume"], metrics["per_subvolume"])):
            rows, loss = rows_of(output / f"{kind}.csv"), 0
            self.assertEqual(figures["uncertainty"]["kind"], "validation_rms")
            for name, error in zip(NAMES, errors):
                within = {1: 0, 2: 0}
                low, high = RANGES[name]
                for row in rows:
                    self.assertEqual(row[f"deviation_{name}"], error)
                    truth, centre = row[f"true_{name}"], row[f"predicted_{name}"]
                    share = below(truth, low, high, centre, error)
                    for sigma in within:
                        within[sigma] += abs(2 * share - 1) < math.erf(sigma / math.sqrt(2))
                    inside = (math.erf((high - centre) / error / math.sqrt(2)) -
                              math.erf((low - centre) / error / math.sqrt(2))) / 2
                    loss += ((truth - centre) / error) ** 2 / 2 + math.log(
                        error * 2 / (high - low) * math.sqrt(2 * math.pi) * inside)
                for sigma, count in within.items():
                    self.assertAlmostEqual(figures["uncertainty"]["coverage"][name][f"within_{sigma}_sigma"],
                                           count / len(rows), places=9)
            self.assertAlmostEqual(figures["uncertainty"]["negative_log_likelihood"], loss / len(rows), places=4)

    def test_an_ensemble_averages_and_adds_what_its_models_differ_by(self):
        outputs = [self.infer(self.root / name, f"alone-{name}")[0] for name in ("gaussian", "other")]
        together, metrics = self.infer(f"{self.root / 'gaussian'},{self.root / 'other'}", "together")
        self.assertEqual(metrics["uncertainty"]["kind"], "ensemble")
        self.assertEqual(metrics["uncertainty"]["models"], 2)
        ids = {json.loads((path / "manifest.json").read_text())["id"] for path in (*outputs, together)}
        self.assertEqual(len(ids), 3)
        for file in ("predictions.csv", "universes.csv"):
            for first, second, both in zip(*(rows_of(path / file) for path in (*outputs, together))):
                for name in NAMES:
                    values = [row[f"predicted_{name}"] for row in (first, second)]
                    variance = sum(row[f"deviation_{name}"] ** 2 for row in (first, second)) / 2
                    self.assertAlmostEqual(both[f"predicted_{name}"], sum(values) / 2, places=12)
                    self.assertAlmostEqual(both[f"deviation_{name}"],
                                           math.sqrt(variance + (values[0] - values[1]) ** 2 / 4), places=12)
        mixed, _ = self.infer(f"{self.root / 'gaussian'},{self.root / 'labels'}", "mixed")
        self.assertEqual(len(rows_of(mixed / "universes.csv")), 2)

    def test_what_cannot_work_is_refused(self):
        first = self.root / "gaussian"
        other = self.root / "other-voxels"
        self.train(other, "--voxels", "mean", epochs=1)
        split = ["--data", self.data, "--output", self.root / "refused"]
        for code, words, part in ((3, ["--model", f"{first},{other}", *split], "normalisation"),
                                  (2, ["--model", f"{first},{first}", *split], "twice"),
                                  (2, ["--model", f"{first},", *split], "empty"),
                                  (3, ["--model", f"{first},{other}", "--input", self.sim], "normalisation")):
            done = run("cosmo-infer", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, error_line(done, "cosmo-infer"))
        done = run("cosmo-train", "--data", self.data, "--network", "mlperf", "--loss", "gaussian", "--output",
                   self.root / "refused")
        self.assertEqual(done.returncode, 3)
        self.assertIn("tanh", error_line(done, "cosmo-train"))
        self.assertFalse((self.root / "refused").exists())


if __name__ == "__main__":
    unittest.main()
